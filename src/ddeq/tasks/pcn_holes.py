"""PCN on the tasks of :class:`ddeq.tasks.Holes`: any hole, the frame of the visible part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ddeq.data import CloudDataset
from ddeq.data.augmentations import Augmentation
from ddeq.data.holes import HoleBatch, HoleDataset, HoleItem, collate_holes
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import wasserstein2
from ddeq.models.baselines import PCN
from ddeq.models.sampling import some_points
from ddeq.nn.checks import whole
from ddeq.solvers.solution import Solution
from ddeq.tasks.baselines import PCNTask
from ddeq.tasks.holes import Holes
from ddeq.tasks.report import Measured

__all__ = ["PCNHolesTask"]

_HOLES = Holes(whole=0.0)


@dataclass(frozen=True)
class PCNHolesTask(PCNTask):
    """A whole cloud for one with any hole, by :class:`ddeq.models.baselines.PCN`.

    Tasks and augmentations are those of :class:`ddeq.tasks.Holes`, without whole clouds.

    Attributes:
        reads: Visible points that are encoded in training, and points of the whole that the result
            is compared with.
    """

    coarse: int = 384
    reads: int = 288

    name = "pcn-holes"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("task.reads", self.reads, 1, 100_000)

    def make_model(self, data: CloudDataset, **parts: Any) -> PCN:
        return PCN(data.dim, coarse=self.coarse, proportions=True)

    def prepare(self, data: CloudDataset) -> CloudDataset:
        return _HOLES.prepare(data)

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        return _HOLES.augmentations(data)

    def items(self, data: Any, training: bool, seed: int) -> HoleDataset:  # type: ignore[override]
        """Those of :class:`ddeq.tasks.Holes`."""
        return _HOLES.items(data, training, seed)

    def collate(self, items: Sequence[HoleItem]) -> HoleBatch:  # type: ignore[override]
        return collate_holes(items)

    def loss(  # type: ignore[override]
        self,
        model: PCN,
        batch: HoleBatch,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution | None]:
        """See :meth:`ddeq.models.baselines.PCN.loss`."""
        assert batch.whole is not None  # all were cut
        seen, wanted = (some_points(part, self.reads) for part in (batch.partial, batch.whole))
        return model.loss(seen, wanted).mean(), None

    @torch.no_grad()
    def validate(self, model: PCN, batch: HoleBatch) -> Measured:  # type: ignore[override]
        """Squared MMD and W2 of the whole."""
        assert batch.whole is not None
        found = model(batch.partial)
        values = {"mmd2": mmd2(found, batch.whole), "w2_whole": wasserstein2(found, batch.whole)}
        return Measured(values, None)
