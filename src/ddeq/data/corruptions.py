"""What is done to a cloud before it is completed: parts removed, points made noisy.

Every function takes its randomness from a :class:`numpy.random.Generator`. :func:`item_rng` makes
one for each item of a data set, so that an item is corrupted in the same way wherever it stands in
a batch and whichever worker reads it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ddeq.errors import DdeqError

__all__ = ["PARTIAL_RADIUS", "add_noise", "item_rng", "make_partial"]

PARTIAL_RADIUS = {2: 0.6, 3: 0.8}
"""Radius of the removed balls by dimension, for normalised clouds: MNIST-pc and ModelNet40-s."""

_DRAWS = 20
_FALLBACK_SHARE = 4


def item_rng(seed: int, index: int, epoch: int = 0, stream: int = 0) -> np.random.Generator:
    """The generator of item ``index``; the same arguments give the same numbers.

    Two uses that must not share random numbers take different streams. ``epoch=0`` and
    ``stream=0`` give those of ``numpy.random.default_rng([seed, index])``.
    """
    key = [seed, index, epoch, stream]
    while key[-1] == 0 and len(key) > 2:
        key.pop()
    return np.random.default_rng(key)


def make_partial(cloud: Tensor, radius: float, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Removes all points within ``radius`` of either of two points drawn at random.

    At least one point is removed (the drawn ones are) and at least one is kept: where a draw would
    take every point it is repeated, up to 20 times; after that the quarter of the points (at least
    one) that lies farthest from the last two centres is kept. The frame is that of the cloud: the
    two parts are not normalised again.

    Args:
        cloud: ``(N, d)`` with ``N >= 2``.
        radius: Radius of the two removed balls, not negative.
        rng: Source of the two centres.

    Returns:
        The kept points and the removed points, each in the order of ``cloud``.

    Example:
        >>> kept, removed = make_partial(torch.randn(50, 2), 0.6, item_rng(0, 0))
        >>> len(kept) + len(removed)
        50
    """
    if cloud.dim() != 2 or len(cloud) < 2:
        raise DdeqError(f"a partial cloud needs at least two points, got {tuple(cloud.shape)}")
    if not radius >= 0:
        raise DdeqError(f"radius must not be negative, got {radius}")
    keep = torch.zeros(len(cloud), dtype=torch.bool, device=cloud.device)
    for _ in range(_DRAWS):
        centres = cloud[torch.from_numpy(rng.choice(len(cloud), 2, replace=False))]
        distance = (cloud[:, None] - centres).norm(dim=2).amin(1)
        keep = distance > radius
        if keep.any():
            return cloud[keep], cloud[~keep]
    count = max(1, len(cloud) // _FALLBACK_SHARE)
    keep[distance.argsort(descending=True, stable=True)[:count]] = True
    return cloud[keep], cloud[~keep]


def add_noise(cloud: Tensor, fraction: float, rng: np.random.Generator) -> Tensor:
    """Adds ``N(0, 1)`` noise to a fraction of the points.

    Args:
        cloud: ``(N, d)``.
        fraction: Share of the points in ``[0, 1]``; ``round(fraction * N)`` of them are moved.
        rng: Source of the choice and the noise.

    Returns:
        A new cloud ``(N, d)``, the points in the same order.
    """
    if not 0 <= fraction <= 1:
        raise DdeqError(f"fraction must lie in [0, 1], got {fraction}")
    count = round(fraction * len(cloud))
    rows = torch.from_numpy(rng.choice(len(cloud), count, replace=False)).to(cloud.device)
    noise = torch.from_numpy(rng.standard_normal((count, cloud.shape[1])))
    return cloud.index_add(0, rows, noise.to(cloud))
