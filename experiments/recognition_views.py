"""Classifiers looked at in many poses: what the experiments on recognition share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ddeq.data import CloudDataset, collate
from ddeq.measures.clouds import PointClouds
from ddeq.models import Classifier
from ddeq.nn.pose import turn

__all__ = [
    "BATCH",
    "Change",
    "Looked",
    "Views",
    "energy",
    "entropy",
    "four_poses",
    "labels_of",
    "look",
    "percent",
    "to_y_up",
    "turned",
    "upright",
]

BATCH = 64

Change = Callable[[PointClouds], PointClouds]


def to_y_up(x: PointClouds) -> PointClouds:
    """Clouds with z up as a file with y up has them, ``(x, y, z) -> (x, z, -y)``."""
    a, b, c = x.points.unbind(-1)
    return x.with_points(torch.stack([a, c, -b], -1))


def turned(degrees: float) -> Change:
    """Turns all clouds alike about z."""
    return lambda x: turn(x, torch.full((len(x),), math.radians(degrees)))


class Looked(NamedTuple):
    """What a classifier makes of ``n`` clouds in one pose each.

    Attributes:
        logits: ``(n, C)``.
        uprightness: See :meth:`ddeq.Classifier.uprightness`, ``(n,)``.
        peaks: The features that it reads, ``(n, p)``.
        evaluations: Of the network, the mean over the clouds.
    """

    logits: Tensor
    uprightness: Tensor
    peaks: Tensor
    evaluations: float


@torch.no_grad()
def look(model: Classifier, data: CloudDataset, change: Change | None = None) -> Looked:
    """Classifies clouds as the data set has them, or changed."""
    rows, evaluations = [], 0.0
    for start in range(0, len(data), BATCH):
        x, _ = collate([data[i] for i in range(start, min(start + BATCH, len(data)))])
        f = model.encode(x if change is None else change(x))
        z, solution = model.latent(x, f=f)
        found, peak = model.logits(z), f.context.peak
        score = -energy(found) if model.upright is None else model.upright(peak)[:, 0]
        rows.append((found, score, peak))
        evaluations += float(solution.steps.sum())
    found, score, peak = (torch.cat(part) for part in zip(*rows, strict=True))
    return Looked(found, score, peak, evaluations / len(data))


def percent(right: Tensor, labels: Tensor) -> float:
    """Accuracy of logits or probabilities, ``(n, C)``."""
    return 100 * float((right.argmax(1) == labels).double().mean())


def labels_of(data: CloudDataset) -> Tensor:
    """``(n,)`` int64."""
    return torch.as_tensor(np.asarray(data.labels))


def four_poses(views: list[Tensor], first: int = 0) -> Tensor:
    """Mean probabilities over the quarter turns of one of the azimuths, ``(n, C)``."""
    step = len(views) // 4
    chosen = [views[(first + k * step) % len(views)] for k in range(4)]
    return torch.stack(chosen).softmax(-1).mean(0)


def energy(found: Tensor) -> Tensor:
    """``(n,)``; see :meth:`ddeq.Classifier.energy`."""
    return -found.logsumexp(1)


def entropy(found: Tensor) -> Tensor:
    """Of the probabilities, ``(n,)``."""
    return -(found.softmax(1) * found.log_softmax(1)).sum(1)


def upright(one: Looked, other: Looked) -> Tensor:
    """The logits of the reading that looks more upright, ``(n, C)``."""
    better = one.uprightness >= other.uprightness
    return torch.where(better[:, None], one.logits, other.logits)


class Views:
    """What a classifier makes of a data set by pose, each computed once.

    Args:
        model: The classifier.
        data: Clouds with z up.
    """

    def __init__(self, model: Classifier, data: CloudDataset) -> None:
        self.model, self.data, self.labels = model, data, labels_of(data)
        self.known: dict[Change | float, Looked] = {}

    def __call__(self, pose: Change | float = 0.0) -> Looked:
        """Of clouds turned by so many degrees about z, or changed."""
        if pose not in self.known:
            change = pose if callable(pose) else turned(pose) if pose else None
            self.known[pose] = look(self.model, self.data, change)
        return self.known[pose]
