"""The class of a cloud, whatever model tells it: cross entropy, measured by accuracy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ddeq.data import CloudDataset, collate, stretch
from ddeq.data.augmentations import Augmentation
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.measures.metrics import accuracy
from ddeq.nn.checks import flag, number
from ddeq.solvers.solution import Solution
from ddeq.tasks.base import Task
from ddeq.tasks.report import Measured, Report, batches, equilibrium_values, means

__all__ = ["ClassTask", "classes_of", "per_class"]


@dataclass(frozen=True)
class ClassTask(Task):
    """The class of a cloud; a subclass has the model and its :meth:`answer`.

    Attributes:
        proportions: Clouds keep their proportions, one scale for all coordinates; otherwise each
            coordinate has unit variance, as in the paper.
        smoothing: Probability that the target of the loss spreads over all classes.
    """

    proportions: bool = True
    smoothing: float = 0.0

    metric = "accuracy"
    best_is = "max"
    evaluation_options = ("even",)
    has_classes = True

    def __post_init__(self) -> None:
        flag("task.proportions", self.proportions)
        number("task.smoothing", self.smoothing, 0.0, 1.0)

    @staticmethod
    @abstractmethod
    def answer(model: Any, x: PointClouds, seed: int = 0) -> tuple[Tensor, Solution | None]:
        """Logits of clouds, ``(B, C)``, and how their equilibria were found, if there are any.

        Args:
            model: From :meth:`make_model`.
            x: ``B`` clouds.
            seed: Of the particles.
        """

    def prepare(self, data: CloudDataset) -> CloudDataset:
        return data.in_proportion() if self.proportions else data

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        """Those of any cloud; an object of a class may also have other proportions."""
        changes = super().augmentations(data)
        if data.dim != 3:
            return changes
        return (*changes[:2], stretch, *changes[2:])

    def validate(self, model: Any, batch: Any) -> Measured:
        """Accuracy and cross entropy; the outputs are label and prediction, ``(B, 2)``."""
        x, labels = batch
        logits, solution = self.answer(model, x)
        values = {
            "accuracy": accuracy(logits, labels),
            "loss": F.cross_entropy(logits, labels, reduction="none"),
        }
        return Measured(values, solution, torch.stack([labels, logits.argmax(1)], 1))

    @classmethod
    @torch.no_grad()
    def evaluate(  # type: ignore[override]  # a task names its options
        cls,
        model: Any,
        data: CloudDataset,
        batch_size: int = 64,
        seed: int = 0,
        progress: Any = iter,
        *,
        even: bool = False,
    ) -> Report:
        """Accuracy and cross entropy of a data set.

        Args:
            model: See :meth:`Task.evaluate`.
            data: See :meth:`Task.evaluate`.
            batch_size: See :meth:`Task.evaluate`.
            seed: See :meth:`Task.evaluate`.
            progress: See :meth:`Task.evaluate`.
            even: Show clouds with unit variance per coordinate, as in the paper.
        """
        if len(model.classes) != len(data.classes):
            known, present = len(model.classes), len(data.classes)
            raise DdeqError(f"it knows {known} classes, {data.name} has {present} (--data)")
        data = data if even else data.in_proportion()
        counts = np.zeros((len(data.classes),) * 2, dtype=np.int64)
        rows = []
        for indices in progress(batches(data, batch_size)):
            x, labels = collate([data[i] for i in indices])
            logits, solution = cls.answer(model, x, seed)
            rows.append(
                {
                    "accuracy": accuracy(logits, labels),
                    "cross entropy": F.cross_entropy(logits, labels, reduction="none"),
                    **equilibrium_values(solution),
                }
            )
            np.add.at(counts, (labels.numpy(), logits.argmax(1).numpy()), 1)
        frame = "unit variance per coordinate" if even else "their own proportions"
        return Report(frame, means(rows), per_class(counts, data.classes), counts)

    def picture(
        self, model: Any, validation: CloudDataset, items: Any, outputs: Iterable[Tensor]
    ) -> Any:
        """Which held-out classes are taken for which."""
        from ddeq.viz import diagrams

        counts = np.zeros((len(validation.classes),) * 2, dtype=np.int64)
        for pairs in outputs:
            np.add.at(counts, tuple(pairs.cpu().numpy().T), 1)
        return diagrams.confusion(counts, validation.classes) if counts.sum() else None


def classes_of(data: CloudDataset) -> list[str]:
    """Names of the classes; numbers are refused."""
    if not data.classes:
        raise DdeqError(f"{data.name} has numbers, not classes: train with --task regression")
    return list(data.classes)


def per_class(counts: np.ndarray, classes: Sequence[str]) -> dict[str, float]:
    """Accuracy of each class, NaN for one without clouds."""
    totals = counts.sum(1)
    shares = np.where(totals > 0, counts.diagonal() / np.maximum(totals, 1), np.nan)
    return dict(zip(classes, shares.tolist(), strict=True))
