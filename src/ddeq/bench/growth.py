"""How the cost of a training step grows: with points, particles, solver steps and clouds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ddeq.bench.settings import Settings, Track, untracked
from ddeq.bench.tables import duration, megabytes, render
from ddeq.bench.worker import fresh, seconds
from ddeq.measures.clouds import PointClouds
from ddeq.models import Classifier
from ddeq.solvers import Weiszfeld

__all__ = ["exponent", "run", "table"]

_HEAD = 32
_CLASSES = 10


def run(settings: Settings, track: Track = untracked) -> dict[str, Any]:
    """Measures the section."""
    jobs = [(axis, size) for axis, sizes in settings.growth.items() for size in sizes]
    timing = (settings.repeat, settings.budget)
    rows = []
    for axis, size in track(jobs, len(jobs), "growth"):
        sizes = {**settings.base, axis: size}
        found = fresh(training, sizes, settings.seed, timing, threads=settings.threads)
        elapsed, evaluations = found.value or (None, None)
        rows.append(
            {
                "axis": axis,
                "size": size,
                "seconds": elapsed,
                "memory": found.memory,
                "evaluations": evaluations,
                "problem": found.problem,
            }
        )
    return {
        "base": settings.base,
        "rows": rows,
        "exponents": {axis: _exponents(rows, axis) for axis in settings.growth},
    }


def training(
    sizes: dict[str, int], seed: int, timing: tuple[int, float]
) -> Callable[[], tuple[float, int]]:
    """A training step of a classifier of 2-D clouds: its seconds, and evaluations of its solve."""
    torch.manual_seed(seed)
    model = Classifier(2, _CLASSES, head_size=_HEAD, dropout=0.0)
    x = PointClouds.from_tensor(torch.randn(sizes["batch"], sizes["points"], 2))
    evaluations = [0]

    def step(clouds: PointClouds) -> None:
        model.zero_grad(set_to_none=True)
        z, solution = model.latent(clouds, seed)
        labels = torch.arange(len(clouds)) % _CLASSES
        torch.nn.functional.cross_entropy(model.logits(z), labels).backward()
        evaluations[0] = int(solution.steps.max())

    model.particles, model.solver = 1, Weiszfeld(1)
    step(PointClouds.from_tensor(x.points[:1, :1]))  # what does not grow is not counted
    model.particles, model.solver = sizes["particles"], Weiszfeld(sizes["steps"], tol=0)
    return lambda: (seconds(lambda: step(x), *timing), evaluations[0])


def exponent(sizes: Sequence[float], values: Sequence[float | None]) -> float | None:
    """``a`` of ``value = c size^a``: least squares in logarithms over the upper half of the sizes.

    None where fewer than two of these values are known and positive.

    Example:
        >>> sizes = [1, 2, 4, 8]
        >>> round(exponent(sizes, [3 * s**1.5 for s in sizes]), 6)
        1.5
    """
    half = len(sizes) // 2
    known = [
        (size, value)
        for size, value in zip(sizes[half:], values[half:], strict=True)
        if value is not None and value > 0
    ]
    if len(known) < 2:
        return None
    x, y = np.log(np.array(known, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def _exponents(rows: list[dict[str, Any]], axis: str) -> dict[str, float | None]:
    part = [row for row in rows if row["axis"] == axis]
    sizes = [row["size"] for row in part]
    return {key: exponent(sizes, [row[key] for row in part]) for key in ("seconds", "memory")}


def table(result: dict[str, Any]) -> str:
    """The section as text."""
    parts = []
    for axis, found in result["exponents"].items():
        rows = [
            (str(row["size"]), duration(row["seconds"]), megabytes(row["memory"]))
            for row in result["rows"]
            if row["axis"] == axis
        ]
        shown = ("-" if a is None else f"{a:.2f}" for a in (found["seconds"], found["memory"]))
        parts.append(render((axis, "training step", "memory"), [*rows, ("exponent", *shown)]))
    base = ", ".join(f"{value} {name}" for name, value in result["base"].items())
    parts.append(
        f"what does not grow: {base}; Weiszfeld steps, heads of {_HEAD}; "
        "exponents over the upper half"
    )
    problems = [f"problem: {row['problem']}" for row in result["rows"] if row["problem"]]
    return "\n\n".join([*parts, *problems])
