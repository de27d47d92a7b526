"""The page of the models in the package shows every one of them, with its card."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import zoo  # noqa: E402

FOLDERS = sorted(zoo.SHIPPED.glob("*-*"))


def shown(name: str = "zoo.md") -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=name))
    return zoo.on_page_markdown((ROOT / "docs" / name).read_text(), page)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_model_has_a_row_and_its_card(folder: Path) -> None:
    text = shown()
    (row,) = [line for line in text.splitlines() if f"](#card-{folder.name})" in line]
    dim = json.loads((folder / "config.json").read_text())["dim"]
    size = (folder / "model.safetensors").stat().st_size / 2**20
    assert f"{dim}-D" in row
    assert f"{size:.1f} MB" in row
    assert row.count("|") == 7 + row.count("\\|")
    assert f"{{ #card-{folder.name} }}" in text
    last = (folder / "README.md").read_text().strip().splitlines()[-1]
    assert last in text


def test_nothing_of_the_page_is_left_to_fill_and_others_are_not_touched() -> None:
    assert not re.findall(r"<!-- (?:models|cards) -->", shown())
    assert shown("start.md") == (ROOT / "docs" / "start.md").read_text()


def test_cards_have_one_heading_of_the_page_each() -> None:
    heads = re.findall(r"^(#+) .*card-", zoo.cards(), flags=re.MULTILINE)
    assert heads == ["##"] * len(FOLDERS)
