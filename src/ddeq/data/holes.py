"""Completion tasks as users have them: any hole, any density, the frame of the visible part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ddeq.data.batching import AugmentedDataset, DrawnDataset
from ddeq.data.corruptions import item_rng
from ddeq.data.cuts import CUTS, cloud_size
from ddeq.data.dataset import CloudDataset, normalize_points
from ddeq.measures.clouds import PointClouds

__all__ = ["HoleBatch", "HoleDataset", "HoleItem", "collate_holes"]

_LEAST, _FULL = 64, 0.4  # fewest visible points; share of the clouds that are not thinned
_NOISY, _NOISE = 0.3, 0.02  # share of the noisy clouds, and their most noise over their size
_REMOVED = 128  # removed points that are compared with


class HoleItem(NamedTuple):
    """``partial`` is seen, ``removed`` is wanted (maybe nothing), ``whole`` is the surface.

    All are in the network's frame; ``share`` is how many points were removed per point that is
    left.
    """

    partial: Tensor
    removed: Tensor
    whole: Tensor
    share: float


class HoleBatch(NamedTuple):
    """A batch, the clouds from which something was removed first.

    Attributes:
        partial: ``B`` visible clouds.
        removed: What was removed from the first ``S <= B``; None if all are whole.
        whole: Their whole surfaces, likewise.
        share: Removed points per visible one, ``(B,)``; 0 for whole clouds.
    """

    partial: PointClouds
    removed: PointClouds | None
    whole: PointClouds | None
    share: Tensor

    def to(self, device: torch.device | str) -> HoleBatch:
        """The same batch on another device."""
        removed, whole = (
            None if part is None else part.to(device) for part in (self.removed, self.whole)
        )
        return HoleBatch(self.partial.to(device), removed, whole, self.share.to(device))


class HoleDataset(DrawnDataset[HoleItem]):
    """Tasks made from whole clouds, the same ones for the same seed and epoch.

    Args:
        data: Items ``(cloud, label)``.
        cuts: Odds of each name in :data:`ddeq.data.cuts.CUTS`.
        told: Share of the tasks that are the paper's: two balls, and the frame of the whole, at
            unit variance per coordinate. Moments tell how much is missing there, so these clouds
            keep their points.
        changed: Visible points are thinned at random and noisy, as in training.
        seed: Of everything.
    """

    def __init__(
        self,
        data: CloudDataset | AugmentedDataset,
        cuts: Mapping[str, float],
        told: float = 0.0,
        changed: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(data, seed)
        self.told, self.changed = told, changed
        self.names, odds = list(cuts), np.array(list(cuts.values()), dtype=np.float64)
        self.odds = odds / odds.sum()

    def __getitem__(self, index: int) -> HoleItem:
        """The task made from cloud ``index``."""
        cloud, _ = self.data[index]
        rng = item_rng(self.seed, index % len(self), self.epoch, stream=2)
        told = rng.random() < self.told
        if told:
            cloud = torch.from_numpy(normalize_points(cloud.numpy()))
        name = "balls" if told else self.names[rng.choice(len(self.odds), p=self.odds)]
        kept, removed = CUTS[name](cloud, rng)
        share = len(removed) / len(kept)
        if self.changed and not told:
            kept = _changed(kept, rng)
        shift, scale = (0.0, 1.0) if told else (kept.mean(0), cloud_size(kept) or 1.0)
        parts = kept, _thinned(removed, _REMOVED, rng), cloud
        partial, removed, whole = ((part - shift) / scale for part in parts)
        return HoleItem(partial, removed, whole, share)


def collate_holes(items: Sequence[HoleItem]) -> HoleBatch:
    """Tasks as one batch."""
    items = sorted(items, key=lambda item: len(item.removed) == 0)  # stable: the others keep order
    some = [item for item in items if len(item.removed)]
    return HoleBatch(
        PointClouds.from_list([item.partial for item in items]),
        PointClouds.from_list([item.removed for item in some]) if some else None,
        PointClouds.from_list([item.whole for item in some]) if some else None,
        torch.tensor([item.share for item in items]),
    )


def _changed(points: Tensor, rng: np.random.Generator) -> Tensor:
    """Thinned to a number of points that is uniform in its logarithm, and maybe noisy."""
    if rng.random() >= _FULL and len(points) > _LEAST:
        points = _thinned(points, int(np.exp(rng.uniform(*np.log([_LEAST, len(points)])))), rng)
    if rng.random() >= _NOISY:
        return points
    noise = torch.from_numpy(rng.standard_normal(tuple(points.shape))).to(points)
    return points + noise * cloud_size(points) * rng.uniform(0.0, _NOISE)


def _thinned(points: Tensor, most: int, rng: np.random.Generator) -> Tensor:
    """At most so many points, chosen at random."""
    return points[torch.from_numpy(rng.permutation(len(points))[:most])]
