"""The Python examples of the README and of every page run as they stand, one after another."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SAID = {
    "README.md": ("[70, 41] -> ", "tensor([True, True])"),
    "complete.md": ("text, 200 points, 2-D",),
    "metrics.md": ("tensor([5.])", "tensor([10.])", "tensor([50.])"),
    "start.md": ("torch.Size([2, 10])", "points added"),
}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for block in blocks(page):
        exec(block, scope)
    said = capsys.readouterr().out
    for words in SAID.get(page.name, ()):
        assert words in said


def test_pages_with_examples_are_found() -> None:
    assert {page.name for page in WITH_CODE} >= {*SAID, "train.md", "solvers.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pictures_and_links_are_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
