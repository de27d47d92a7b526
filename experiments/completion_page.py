"""The tables of completed scans in the docs, made from the figures that ``ddeq eval`` wrote.

``python experiments/completion_page.py`` reads ``results/completion-scans-*.json``, one file per
cut, and rewrites what stands between the marks in ``docs/complete.md`` and ``docs/protocol.md``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CUTS = ("balls", "view", "half", "brush", "whole")
BEGIN, END = "<!-- figures of scans -->", "<!-- end of figures -->"
LONG = (
    "OT new",
    "surface",
    "distance",
    "near",
    "Chamfer",
    "F-score",
    "better",
    "added",
    "unchanged",
)
SHORT = ("OT new", "surface", "better")


def read() -> dict[str, Any]:
    """The figures by cut and completer."""
    found: dict[str, Any] = {}
    for cut in CUTS:
        path = ROOT / "results" / f"completion-scans-{cut}.json"
        if path.is_file():
            found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def cell(mean: dict[str, float]) -> str:
    """Mean and standard error, or a dash."""
    value = mean["value"]
    digits = 4 if abs(value) < 0.1 else 3
    known = value is not None and math.isfinite(value)
    return f"{value:.{digits}f} ± {mean['error']:.{digits}f}" if known else "-"


def table(figures: dict[str, Any], metrics: tuple[str, ...]) -> str:
    """A row per cut and completer."""
    lines = ["| cut | completer | " + " | ".join(metrics) + " |"]
    lines.append("|---|---|" + "---|" * len(metrics))
    for cut, completers in figures.items():
        for name, result in completers.items():
            cells = " | ".join(cell(result["metrics"][metric]) for metric in metrics)
            lines.append(f"| `{cut}` | {name} | {cells} |")
    return "\n".join(lines)


def put(path: Path, text: str) -> None:
    """Replaces what stands between the marks of a page."""
    page = path.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    path.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


def main() -> None:
    """Writes both pages."""
    figures = read()
    settings = next(iter(next(iter(figures.values())).values()))["settings"]
    about = (
        f"{settings['clouds']} objects of {settings['data']}, seed {settings['seed']}, frame "
        f"{settings['frame']}, unit {settings['unit']} of the true cloud; mean ± standard error:\n"
    )
    put(ROOT / "docs" / "protocol.md", f"{about}\n{table(figures, LONG)}")
    some = {cut: figures[cut] for cut in ("balls", "view") if cut in figures}
    put(ROOT / "docs" / "complete.md", f"{about}\n{table(some, SHORT)}")


if __name__ == "__main__":
    main()
