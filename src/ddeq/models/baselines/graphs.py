"""Nearest neighbours between clouds, by rows of all real points of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds

__all__ = ["gather", "nearest"]


@torch.no_grad()
def nearest(queries: PointClouds, keys: PointClouds, k: int) -> tuple[Tensor, Tensor]:
    """The ``k`` points of each cloud of ``keys`` nearest to each point of ``queries``.

    Args:
        queries: ``B`` clouds with ``T`` points altogether.
        keys: ``B`` clouds of the same dimension.
        k: Neighbours; a cloud with fewer points has neighbours that are not valid.

    Returns:
        Rows of ``keys.points[keys.mask]``, ``(T, k)``, and which are valid, ``(T, k)`` bool.
    """
    mode = "donot_use_mm_for_euclid_dist" if keys.dim <= 3 else "use_mm_for_euclid_dist"
    gaps = torch.cdist(queries.points, keys.points, compute_mode=mode)
    gaps = gaps.masked_fill(~keys.mask[:, None], torch.inf)
    length, index = gaps.topk(min(k, keys.points.shape[1]), largest=False)
    numbers = torch.zeros_like(keys.mask, dtype=torch.long)
    numbers[keys.mask] = torch.arange(int(keys.mask.sum()), device=numbers.device)
    rows = numbers[:, None].expand(-1, index.shape[1], -1).gather(2, index)
    return rows[queries.mask], length.isfinite()[queries.mask]


def gather(features: Tensor, rows: Tensor) -> Tensor:
    """Features of neighbours, ``(T', c), (T, k) -> (T, k, c)``."""
    return features.index_select(0, rows.flatten()).view(*rows.shape, -1)
