"""The baselines as tasks: trained, measured and saved by the same commands as our models.

None has an equilibrium: ``network``, ``solver``, ``adjoint`` and ``train_steps`` of a recipe say
nothing about them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ddeq.data import (
    CloudDataset,
    PartialBatch,
    PartialDataset,
    PartialItem,
    collate_partial,
    stretch,
)
from ddeq.data.augmentations import Augmentation, shift
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import wasserstein2
from ddeq.models.baselines import (
    DGCNN,
    PCN,
    DeepSets,
    PointNet,
    PointTransformer,
    SetTransformer,
)
from ddeq.nn.checks import whole
from ddeq.solvers.solution import Solution
from ddeq.tasks.base import Task, share
from ddeq.tasks.classes import ClassTask, classes_of
from ddeq.tasks.completion import partial_tasks, shown_clouds, whole_metrics
from ddeq.tasks.report import Measured, Report, batches, means

__all__ = [
    "DGCNNTask",
    "DeepSetsTask",
    "PCNTask",
    "PointNetTask",
    "PointTransformerTask",
    "SetTransformerTask",
]


_PUBLISHED: tuple[Augmentation, ...] = (partial(stretch, most=math.log(1.5)), shift)
"""Of 3-D shapes, that of DGCNN: a factor from 2/3 to 3/2 for each coordinate, and a shift.

Goyal et al., 2021, "Revisiting point cloud shape classification", train every network of their
controlled comparison with it.
"""


class _Logits:
    """Of a task of classes, what is the same for every network from clouds to logits."""

    model_type: ClassVar[type[Any]]
    proportions: bool
    smoothing: float

    def make_model(self, data: CloudDataset, **parts: Any) -> Any:
        classes = classes_of(data)
        options = {"proportions": self.proportions, "classes": classes}
        return self.model_type(data.dim, len(classes), **options)

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        """The published one of 3-D shapes; that of our models for digits."""
        if data.dim == 3:
            return _PUBLISHED
        return super().augmentations(data)  # type: ignore[misc,no-any-return]

    @staticmethod
    def answer(model: Any, x: PointClouds, seed: int = 0) -> tuple[Tensor, Solution | None]:
        return model(x), None

    def loss(
        self,
        model: Any,
        batch: Any,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution | None]:
        """Cross entropy of a batch ``(clouds, labels)``."""
        x, labels = batch
        return F.cross_entropy(model(x), labels, label_smoothing=self.smoothing), None


@dataclass(frozen=True)
class PointNetTask(_Logits, ClassTask):
    """The class of a cloud, by :class:`ddeq.models.baselines.PointNet`."""

    name = "pointnet"
    model_type = PointNet


@dataclass(frozen=True)
class PointTransformerTask(_Logits, ClassTask):
    """The class of a cloud, by :class:`ddeq.models.baselines.PointTransformer`."""

    name = "point-transformer"
    model_type = PointTransformer


@dataclass(frozen=True)
class DeepSetsTask(_Logits, ClassTask):
    """The class of a cloud, by :class:`ddeq.models.baselines.DeepSets`."""

    name = "deepsets"
    model_type = DeepSets


@dataclass(frozen=True)
class SetTransformerTask(_Logits, ClassTask):
    """The class of a cloud, by :class:`ddeq.models.baselines.SetTransformer`."""

    name = "set-transformer"
    model_type = SetTransformer


@dataclass(frozen=True)
class DGCNNTask(_Logits, ClassTask):
    """The class of a cloud, by :class:`ddeq.models.baselines.DGCNN`."""

    name = "dgcnn"
    model_type = DGCNN


@dataclass(frozen=True)
class PCNTask(Task):
    """A whole cloud for a partial one, by :class:`ddeq.models.baselines.PCN`.

    Its points are new ones throughout, so only wholes are compared.

    Attributes:
        coarse: Points of the result; the paper has 256 for digits and 768 for ModelNet40.
        noise: See :class:`ddeq.tasks.Completion`.
        own_frame: See :class:`ddeq.tasks.Completion`.
    """

    coarse: int = 256
    noise: float = 0.05
    own_frame: float = 0.0

    name = "pcn"
    metric = "mmd2"
    model_type = PCN
    evaluation_options = ("own_frame", "noise")

    def __post_init__(self) -> None:
        whole("task.coarse", self.coarse, 1, 100_000)
        share("task.noise", self.noise)
        share("task.own_frame", self.own_frame)

    def make_model(self, data: CloudDataset, **parts: Any) -> PCN:
        return PCN(data.dim, coarse=self.coarse)

    def items(self, data: Any, training: bool, seed: int) -> PartialDataset:
        """Clouds of which two balls are removed, as for :class:`ddeq.tasks.Completion`."""
        return partial_tasks(data, self.noise if training else 0.0, seed)

    def collate(self, items: Sequence[PartialItem]) -> PartialBatch:
        return collate_partial(items)

    def loss(
        self,
        model: PCN,
        batch: PartialBatch,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution | None]:
        """That of the coarse and of the fine cloud; see :meth:`ddeq.models.baselines.PCN.loss`."""
        partial, _, target = shown_clouds(batch, self.own_frame, [run_seed, seed, 1], part)
        return model.loss(partial, target).mean(), None

    def validate(self, model: PCN, batch: PartialBatch) -> Measured:
        """Squared MMD and W2 of the whole."""
        found = model(batch.partial)
        values = {"mmd2": mmd2(found, batch.target), "w2_whole": wasserstein2(found, batch.target)}
        return Measured(values, None)

    @classmethod
    @torch.no_grad()
    def evaluate(  # type: ignore[override]  # a task names its options
        cls,
        model: PCN,
        data: CloudDataset,
        batch_size: int = 64,
        seed: int = 0,
        progress: Any = iter,
        *,
        own_frame: bool = False,
        noise: float = 0.0,
    ) -> Report:
        """Distances of the wholes; the options are those of :class:`ddeq.tasks.Completion`."""
        tasks = partial_tasks(data, noise, seed)
        rows = []
        for indices in progress(batches(tasks, batch_size)):
            batch = collate_partial([tasks[i] for i in indices])
            found = model.complete(batch.partial, normalize=own_frame)
            rows.append(whole_metrics(found, batch.target))
        shown = "each cloud's own frame" if own_frame else "the frame of the whole"
        return Report(shown, means(rows))
