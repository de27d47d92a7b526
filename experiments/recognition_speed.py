"""What a cloud costs beside PointNet: ``python experiments/recognition_speed.py``.

Both classify the same clouds in the same process, in turn, with one thread; medians of CPU time,
which says the same on a machine that does other things. PointNet is untrained, which changes
nothing of its cost; ours has its shipped weights and stops when it is at equilibrium.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from growing_report import Report

from ddeq.bench.machine import machine
from ddeq.data import collate, load
from ddeq.models import Classifier
from ddeq.models.baselines import PointNet

ROOT = Path(__file__).resolve().parent.parent


@torch.no_grad()
def measure(name: str, repeats: int) -> dict[str, Any]:
    """CPU milliseconds per cloud of a batch of 64 and of a single cloud, ours and PointNet's."""
    data = load(name, "train").in_proportion()
    ours = Classifier.from_pretrained(name)
    other = PointNet(data.dim, len(data.classes), proportions=True).eval()
    found: dict[str, Any] = {}
    for size in (64, 1):
        batches = [collate([data[i * size + j] for j in range(size)])[0] for i in range(repeats)]
        seconds: dict[str, list[float]] = {"ddeq": [], "PointNet": []}
        for x in [batches[0], *batches]:
            for model, spent in ((ours, seconds["ddeq"]), (other, seconds["PointNet"])):
                spent.append(_seconds(lambda model=model, x=x: model(x)))  # type: ignore[misc]
        medians = {key: 1000 * float(np.median(spent[1:])) / size for key, spent in seconds.items()}
        ratio = medians["ddeq"] / medians["PointNet"]
        found[f"batch of {size}"] = {**medians, "ratio": ratio}
    return found


def _seconds(run: Callable[[], Any]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    """Measures both shipped classifiers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, default=ROOT / "results/recognition-speed.json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    report = Report(args.out, {"repeats": args.repeats, "machine": machine(1)})
    for name in ("modelnet40", "mnist-pc"):
        report.add(name, lambda name=name: measure(name, args.repeats))  # type: ignore[misc]


if __name__ == "__main__":
    main()
