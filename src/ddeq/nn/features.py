"""What a point of a cloud is told beside its coordinates: waves, and how its neighbours lie."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds

__all__ = ["moments", "neighbourhoods", "octaves"]

_ROWS = 512  # points whose neighbours are weighed at a time, so that memory stays bounded


def octaves(x: Tensor, count: int) -> Tensor:
    """``sin(2^k <t, x>)``, ``cos(2^k <t, x>)``, ``k < count``, ``(..., d) -> (..., 2 d^2 count)``.

    The ``d^2`` directions ``t`` are the axes and the two diagonals of each pair of axes. A small
    network of coordinates varies slowly with them; of waves, it tells near points apart.
    """
    first, second = torch.triu_indices(x.shape[-1], x.shape[-1], 1, device=x.device)
    a, b = x[..., first], x[..., second]
    along = torch.cat([x, (a + b) / 2**0.5, (a - b) / 2**0.5], dim=-1)
    phases = along[..., None] * 2.0 ** torch.arange(count, device=x.device, dtype=x.dtype)
    return torch.cat([phases.sin(), phases.cos()], dim=-1).flatten(-2)


def moments(dim: int) -> int:
    """Numbers that :func:`neighbourhoods` gives a point for each radius."""
    return 1 + dim + dim * (dim + 1) // 2


def neighbourhoods(x: PointClouds, radii: Sequence[float]) -> Tensor:
    """Local moments of each cloud, as a measure, around each of its points.

    With the weights ``w_ij = exp(-|x_i - x_j|^2 / 2 r^2)``, for each radius ``r``::

        log mean_j w_ij             how dense the cloud is here
        m_i = <x_j - x_i>_w / r     to which side its mass lies
        <(x_j - x_i)(x_j - x_i)^T>_w / r^2 - m_i m_i^T
                                    whether it is a line, a sheet or a ball, and its tilt

    Means over the measure: they depend neither on padding nor, but for sampling noise, on how many
    points represent the cloud.

    Args:
        x: ``B`` clouds.
        radii: In the units of the clouds.

    Returns:
        ``(B, M, len(radii) * moments(d))``.
    """
    points, weights = x.points, x.weights[..., None]
    first, second = torch.triu_indices(x.dim, x.dim, device=points.device)
    squares = points[..., first] * points[..., second]
    powers = weights * torch.cat([torch.ones_like(weights), points, squares], -1)  # (B, M, moments)

    def around(rows: Tensor) -> Tensor:
        gaps = torch.cdist(rows, points, compute_mode="donot_use_mm_for_euclid_dist").square()
        parts = []
        for r in radii:
            sums = torch.exp(gaps / (-2 * r * r)) @ powers
            total = sums[..., :1].clamp(min=torch.finfo(sums.dtype).tiny)  # 0 only at padding
            mean, square = (sums[..., 1:] / total).split([x.dim, len(first)], dim=-1)
            shape = square - mean[..., first] * mean[..., second]
            parts += [total.log(), (mean - rows) / r, shape / (r * r)]
        return torch.cat(parts, -1)

    return torch.cat([around(rows) for rows in points.split(_ROWS, dim=1)], 1)
