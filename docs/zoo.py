"""Fills docs/zoo.md from the shipped weights when the site is built: a table, and their cards.

``python docs/zoo.py`` prints the table.
"""

from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent.parent / "src" / "ddeq" / "pretrained"
MARK, CARDS = "<!-- models -->", "<!-- cards -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for every page."""
    if page.file.src_uri != "zoo.md":
        return markdown
    return markdown.replace(MARK, table()).replace(CARDS, cards())


def table() -> str:
    """A row per model: what it is, what it was trained on, what it reaches, how large it is."""
    lines = [
        "| model | trained on | reaches | measured by | parameters | size |",
        "|---|---|---|---|---|---|",
    ]
    for folder in sorted(SHIPPED.glob("*-*")):
        kind, _, name = folder.name.partition("-")
        dim = json.loads((folder / "config.json").read_text())["dim"]
        card = _card(folder)
        size = (folder / "model.safetensors").stat().st_size / 2**20
        said = (
            f"[{kind} `{name}`](#{_anchor(folder)}), {dim}-D",
            card["data"],
            card["metric"],
            card["command"],
        )
        lines.append(f"| {' | '.join(said)} | {_parameters(folder):,} | {size:.1f} MB |")
    return "\n".join(lines)


def cards() -> str:
    """The cards of all models, each under a heading of the page."""
    texts = []
    for folder in sorted(SHIPPED.glob("*-*")):
        body = (folder / "README.md").read_text().split("---\n", 2)[2].strip()
        head, _, rest = body.partition("\n")
        texts.append(f"## {head.removeprefix('# ')} {{ #{_anchor(folder)} }}\n{rest}")
    return "\n\n".join(texts)


def _anchor(folder: Path) -> str:
    return f"card-{folder.name}"


def _card(folder: Path) -> dict[str, str]:
    """The two columns of the card's first table."""
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", (folder / "README.md").read_text(), re.MULTILINE)
    return dict(rows)


def _parameters(folder: Path) -> int:
    """Numbers in the weights, read off the head of the file."""
    with (folder / "model.safetensors").open("rb") as file:
        head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    shapes = [part["shape"] for name, part in head.items() if name != "__metadata__"]
    return sum(math.prod(shape) for shape in shapes)


if __name__ == "__main__":
    print(table())
