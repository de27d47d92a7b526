"""Whole test sets, measured. Definitions of the metrics are in :mod:`ddeq.measures.metrics`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ddeq.data import (
    PARTIAL_RADIUS,
    CloudDataset,
    LengthBuckets,
    PartialBatch,
    PartialDataset,
    collate,
    collate_partial,
)
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import chamfer, ot_distance, wasserstein2
from ddeq.models import Classifier, Completer
from ddeq.solvers.solution import Solution

__all__ = ["ClassifierReport", "Mean", "evaluate_classifier", "evaluate_completer"]


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


@dataclass(frozen=True, eq=False)
class ClassifierReport:
    """What a classifier does on a data set.

    Attributes:
        accuracy: Share of clouds whose largest logit is the label's.
        cross_entropy: Mean loss.
        confusion: Clouds of class ``i`` that were called ``j``, ``(C, C)``.
        equilibrium: Residual, spread and steps of the solves.
    """

    accuracy: Mean
    cross_entropy: Mean
    confusion: np.ndarray
    equilibrium: dict[str, Mean]

    def per_class(self) -> np.ndarray:
        """Accuracy of each class, NaN for one without clouds, ``(C,)``."""
        counts = self.confusion.sum(1)
        return np.where(counts > 0, self.confusion.diagonal() / np.maximum(counts, 1), np.nan)


def batches(data: CloudDataset | PartialDataset, batch_size: int) -> LengthBuckets:
    """Every index of ``data`` once, clouds of similar length together."""
    return LengthBuckets(data.lengths, batch_size, shuffle=False)


@torch.no_grad()
def evaluate_classifier(
    model: Classifier, data: CloudDataset, indices: Iterable[list[int]], seed: int = 0
) -> ClassifierReport:
    """Measures a classifier on the clouds that ``indices`` lists batch by batch."""
    logits, labels, states = [], [], []
    for batch in indices:
        x, y = collate([data[i] for i in batch])
        z, solution = model.latent(x, seed)
        logits.append(model.logits(z))
        labels.append(y)
        states.append(_state(solution))
    scores, truth = torch.cat(logits), torch.cat(labels)
    confusion = np.zeros((scores.shape[1],) * 2, dtype=np.int64)
    np.add.at(confusion, (truth.numpy(), scores.argmax(1).numpy()), 1)
    return ClassifierReport(
        Mean.of((scores.argmax(1) == truth).float()),
        Mean.of(F.cross_entropy(scores, truth, reduction="none")),
        confusion,
        _means(states),
    )


@torch.no_grad()
def evaluate_completer(
    model: Completer,
    data: PartialDataset,
    indices: Iterable[list[int]],
    seed: int = 0,
    own_frame: bool = False,
) -> dict[str, Mean]:
    """Measures a completer, always in the frame of the whole, normalised clouds.

    Args:
        model: The completer.
        data: Completion tasks.
        indices: Their indices, batch by batch.
        seed: Of the free particles.
        own_frame: Show the network each partial cloud normalised by itself, as
            :meth:`ddeq.Completer.complete` does for a user's cloud. Otherwise it sees the frame of
            the whole, as in the paper, which tells where the missing part lies.
    """
    values = []
    for batch in _partial_batches(data, indices):
        x, way = batch.partial.normalize()
        z, solution = model.latent(x if own_frame else batch.partial, seed)
        new = way.invert(model.points(z)) if own_frame else model.points(z)
        values.append({**completion_metrics(batch, new), **_state(solution)})
    return _means(values)


def completion_metrics(batch: PartialBatch, new: PointClouds) -> dict[str, Tensor]:
    """The metrics of completed clouds, ``(B,)`` each."""
    whole = batch.partial.cat(new)
    w2_free, w2_whole = wasserstein2(new, batch.removed), wasserstein2(whole, batch.target)
    return {
        "mmd2 whole": mmd2(whole, batch.target),
        "mmd2 free": mmd2(new, batch.removed),
        "W2 free": w2_free,
        "W2^2 free": w2_free.square(),
        "W2 whole": w2_whole,
        "W2^2 whole": w2_whole.square(),
        "OT free": ot_distance(new, batch.removed),
        "OT whole": ot_distance(whole, batch.target),
        "Chamfer whole": chamfer(whole, batch.target),
    }


def partial_tasks(data: CloudDataset, noise: float = 0.0, seed: int = 0) -> PartialDataset:
    """The completion tasks of a data set, with the paper's radius for its dimension."""
    return PartialDataset(data, PARTIAL_RADIUS[data.dim], noise, seed)


def _partial_batches(data: PartialDataset, indices: Iterable[list[int]]) -> Iterator[PartialBatch]:
    for batch in indices:
        yield collate_partial([data[i] for i in batch])


def _state(solution: Solution) -> dict[str, Tensor]:
    return {
        "relative residual": solution.relative_residual,
        "spread": solution.spread,
        "solver steps": solution.steps.double(),
    }


def _means(values: list[dict[str, Tensor]]) -> dict[str, Mean]:
    return {name: Mean.of(torch.cat([v[name] for v in values])) for name in values[0]}
