"""Writes ``notebooks/`` from the examples: ``python examples/notebooks.py``.

An example is a script whose cells begin with ``# %%``. Its notebook has the same cells without
outputs, and one more that shows the picture.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def examples() -> list[Path]:
    """The scripts."""
    here = sorted(Path(__file__).parent.glob("*.py"))
    return [path for path in here if path.read_text().startswith("# %%")]


def notebook(script: Path) -> str:
    """A script as the text of a notebook."""
    cells = [_cell(part) for part in re.split(r"(?m)^# %%", script.read_text()) if part.strip()]
    show = f' \nfrom IPython.display import Image\n\nImage("{script.stem}.png")'
    cells.append(_cell(show))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


def _cell(part: str) -> dict[str, Any]:
    head, _, text = part.partition("\n")
    text = text.strip("\n")
    if head.strip() == "[markdown]":
        text = re.sub(r"(?m)^# ?", "", text)
        return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}
    lines = text.splitlines(keepends=True)
    code = {"cell_type": "code", "execution_count": None, "outputs": []}
    return {**code, "metadata": {}, "source": lines}


def main() -> None:
    """Writes them all."""
    for script in examples():
        (ROOT / "notebooks" / f"{script.stem}.ipynb").write_text(notebook(script))


if __name__ == "__main__":
    main()
