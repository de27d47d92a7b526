"""The Python examples of the README and of every page run as they stand, one after another."""

import re
from pathlib import Path

import pytest

from ddeq.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FIRST = ("samples", "info", "classify", "complete")
SAID = {
    "README.md": ("[70, 41] -> ", "tensor([True, True])"),
    "complete.md": ("text, 200 points, 2-D",),
    "metrics.md": ("tensor([5.])", "tensor([10.])", "tensor([50.])"),
    "start.md": ("torch.Size([2, 10])", "points added"),
}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


# contribute.md defines classes that would stay registered: tests/test_contribute.py runs it
WITH_CODE = [page for page in PAGES if blocks(page) and page.name != "contribute.md"]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for block in blocks(page):
        exec(block, scope)
    said = capsys.readouterr().out
    for words in SAID.get(page.name, ()):
        assert words in said


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_first_commands_succeed_in_an_empty_folder(page: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^    ddeq ([^#\n]+)", (ROOT / page).read_text(), flags=re.MULTILINE)
    said = [line.split() for line in lines]
    first = [words for words in said if words[0] in FIRST and "--help" not in words]
    assert [first[0][0], first[-1][0]] == ["samples", "complete"]
    assert {main(words) for words in first} == {0}
    assert (tmp_path / "full.ply").exists()


def test_pages_with_examples_are_found() -> None:
    assert {page.name for page in WITH_CODE} >= {*SAID, "train.md", "solvers.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pictures_and_links_are_there(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
