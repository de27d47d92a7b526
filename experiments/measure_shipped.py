"""Measures the shipped models again: runs the command of every file of ``results/eval``.

``python experiments/measure_shipped.py``, or with names of files for some of them, such as
``classifier-mnist-pc``; then ``ddeq reproduce report`` puts the figures into ``RESULTS.md``, the
README and the documentation. A new file is begun by ``ddeq eval RECIPE -o results/eval/NAME.json``.
"""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from ddeq.cli import main as ddeq

FOLDER = Path(__file__).resolve().parent.parent / "results" / "eval"


def main() -> None:
    """Runs them, one after the other."""
    known = sorted(path.stem for path in FOLDER.glob("*.json"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    names = parser.parse_args().names or known
    if unknown := sorted({*names} - {*known}):
        parser.error(f"unknown {', '.join(unknown)}")
    for name in names:
        path = FOLDER / f"{name}.json"
        words = shlex.split(json.loads(path.read_text(encoding="utf-8"))["command"])
        if ddeq([*words[1:], "-o", str(path), "--force"]):
            raise SystemExit(f"{path}: {shlex.join(words)} failed")


if __name__ == "__main__":
    main()
