"""Every picture of the README and of the pages is made by something, and nothing makes another."""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from ddeq.cli import COMMANDS

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "docs"))
from pictures import MEASURED, PICTURES  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = {name for page in PAGES for name in re.findall(r"images/([\w./-]+)\)", page.read_text())}
MADE = {pattern: name for name, (pattern, _) in PICTURES.items()}


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_picture_on_a_page_is_made_by_one_thing(name: str) -> None:
    makers = [maker for known in (MADE, MEASURED) for maker in known if fnmatch(name, maker)]
    assert len(makers) == 1


@pytest.mark.parametrize("pattern", [*MADE, *MEASURED])
def test_what_is_made_is_on_a_page(pattern: str) -> None:
    assert any(fnmatch(name, pattern) for name in SHOWN)


def test_no_picture_is_left_over() -> None:
    files = {path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("*") if path.is_file()}
    assert files <= SHOWN


def test_what_writes_measured_pictures_is_there() -> None:
    for maker in MEASURED.values():
        first, _, rest = maker.partition(" ")
        assert (ROOT / first).is_file() or (first, rest in COMMANDS) == ("ddeq", True)
