"""What several experiments need: their data, and figures with standard errors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ddeq.data import CloudDataset, load
from ddeq.data.shapes.generator import shapes as generated
from ddeq.evaluation import evaluate
from ddeq.tasks.report import Mean, Report

__all__ = ["digits", "measured", "shapes", "shown", "some", "vertices"]


def digits(data: str, split: str = "test") -> CloudDataset:
    """Digits: those in the package (``mini``) or all of MNIST-pc."""
    return load("mnist-mini" if data == "mini" else "mnist-pc", split)


def shapes(data: str, split: str = "test") -> CloudDataset:
    """Shapes of eight classes, generated (``mini``) or the paper's own: vertices of meshes."""
    return generated(split, 160, n_points=256) if data == "mini" else load("modelnet8-s", split)


def vertices(data: str, split: str = "test") -> CloudDataset:
    """Shapes that are generated (``mini``), or the paper's own: ModelNet40-s, mesh vertices."""
    return generated(split, 160, n_points=256) if data == "mini" else load("modelnet40-s", split)


def some(data: CloudDataset, count: float, seed: int) -> CloudDataset:
    """At most so many clouds, at least 8, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(data))
    return data.subset(np.sort(order[: max(8, int(count))]))


def measured(model: Any, data: CloudDataset, **options: Any) -> tuple[Report, float]:
    """What :func:`ddeq.evaluation.evaluate` finds, and the CPU milliseconds per cloud."""
    begin = time.process_time()
    report = evaluate(model, data, **options)
    return report, 1000 * (time.process_time() - begin) / len(data)


def shown(mean: Mean) -> str:
    """A mean with its standard error."""
    return f"{mean.value:.4f} ± {mean.error:.4f}"
