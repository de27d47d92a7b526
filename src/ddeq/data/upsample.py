"""New points at the density of a large scan: a coarse answer is filled in along its own surface."""

from __future__ import annotations

import numpy as np
import torch

__all__ = ["upsample", "upsample_with_sources"]

_NEIGHBOURS = 6
_REACH = 2.0  # neighbours farther than this many typical gaps belong to another part


def upsample(coarse: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """``count`` points on the surface that ``n`` coarse points sketch.

    A new point is a random point of a triangle (a segment in 2-D) between a coarse point and its
    near neighbours, so it lies where the coarse points do and adds no noise of its own. The coarse
    points themselves come first. Memory grows with ``n^2 + count``.

    Args:
        coarse: ``(n, d)``.
        count: How many points; with ``count <= n`` the first ``count`` coarse points are given.
        seed: Of the choice of triangles and of the places in them.

    Returns:
        ``(count, d)``, of the type of ``coarse``.

    Example:
        >>> flat = np.random.default_rng(0).uniform(size=(200, 3)) * [1, 1, 0]
        >>> fine = upsample(flat, 5000)
        >>> fine.shape, bool((fine[:200] == flat).all()), float(np.ptp(fine[:, 2]))
        ((5000, 3), True, 0.0)
    """
    return upsample_with_sources(coarse, count, seed)[0]


def upsample_with_sources(
    coarse: np.ndarray, count: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`upsample`, and the row of the coarse point that each is made from, ``(count,)``."""
    if count <= len(coarse) or len(coarse) < 2:
        return coarse[:count], np.arange(min(count, len(coarse)))
    rng = np.random.default_rng(seed)
    near, known = _near(coarse)
    first = rng.permutation(np.arange(count - len(coarse)) % len(coarse))  # all equally often
    corners = coarse.astype(np.float64)
    fine = corners[first]
    for weight in _weights(len(first), min(coarse.shape[1] - 1, 2) or 1, rng):
        column = (rng.random(len(first)) * known[first]).astype(np.intp)
        fine += weight[:, None] * (corners[near[first, column]] - corners[first])
    full = np.concatenate([coarse, fine.astype(coarse.dtype)])
    return full, np.concatenate([np.arange(len(coarse)), first])


def _near(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of near neighbours, ``(n, k)``, and how many of them are near enough, ``(n,)``.

    The nearest neighbour always counts, so a point that stands alone is joined to one other.
    """
    shown = torch.as_tensor((points - points.mean(0)).astype(np.float64))
    gaps = torch.cdist(shown, shown).fill_diagonal_(torch.inf)
    length, index = gaps.topk(min(_NEIGHBOURS, len(points) - 1), largest=False)
    typical = length[:, 0].median()
    known = (length <= _REACH * torch.maximum(typical, length[:, :1])).sum(1)
    return index.numpy(), known.clamp(min=1).numpy()


def _weights(count: int, corners: int, rng: np.random.Generator) -> np.ndarray:
    """Weights of the corners beside the first, uniform in the simplex, ``(c, count)``."""
    cuts = np.sort(rng.random((corners, count)), axis=0)
    return np.diff(cuts, axis=0, prepend=0.0)
