"""What is measured of a model on a data set, and means over its clouds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ddeq.data import LengthBuckets
from ddeq.solvers.solution import Solution

__all__ = ["Mean", "Measured", "Report", "batches", "equilibrium_values", "means"]


@dataclass(frozen=True)
class Mean:
    """A mean over clouds and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Tensor) -> Mean:
        """Mean and standard error of ``(n,)`` values."""
        values = values.double()
        spread = values.std(unbiased=True) if len(values) > 1 else values.new_zeros(())
        return cls(float(values.mean()), float(spread / len(values) ** 0.5))


class Measured(NamedTuple):
    """A validated batch.

    Attributes:
        values: Metrics by name, ``(B,)`` each.
        solution: How the equilibria were found; None for a model that has none.
        outputs: What the picture of a validation needs to know of the batch, if anything.
    """

    values: dict[str, Tensor]
    solution: Solution | None
    outputs: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """What a model does on a data set.

    Attributes:
        frame: In which frame the clouds were shown, in words.
        metrics: Mean and standard error by name.
        per_class: A value per class of the data set, where the task has classes.
        confusion: Clouds of class ``i`` that were called ``j``, ``(C, C)``, likewise.
    """

    frame: str
    metrics: dict[str, Mean]
    per_class: dict[str, float] = field(default_factory=dict)
    confusion: np.ndarray | None = None


def batches(data: Any, batch_size: int) -> LengthBuckets:
    """Every index of ``data`` once, clouds of similar length together."""
    return LengthBuckets(data.lengths, batch_size, shuffle=False)


def equilibrium_values(solution: Solution | None) -> dict[str, Tensor]:
    """Relative residual, spread and solver steps, ``(B,)`` each; nothing without a solution."""
    if solution is None:
        return {}
    return {
        "relative residual": solution.relative_residual,
        "spread": solution.spread,
        "solver steps": solution.steps.double(),
    }


def means(rows: list[dict[str, Tensor]]) -> dict[str, Mean]:
    """Means over all clouds of values that were found batch by batch."""
    return {name: Mean.of(torch.cat([row[name] for row in rows])) for name in rows[0]}
