"""What a point of a cloud is told beside its coordinates: Fourier features and local moments."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds

__all__ = ["fourier_features", "local_moments", "moment_count", "rim_features"]

_ROWS = 512  # points whose neighbours are weighed at a time, so that memory stays bounded


def fourier_features(x: Tensor, count: int) -> Tensor:
    """``sin(2^k <t, x>)``, ``cos(2^k <t, x>)``, ``k < count``, ``(..., d) -> (..., 2 d^2 count)``.

    The ``d^2`` directions ``t`` are the axes and the two diagonals of each pair of axes. A small
    network of coordinates varies slowly with them; given sines, it tells near points apart.
    """
    first, second = torch.triu_indices(x.shape[-1], x.shape[-1], 1, device=x.device)
    a, b = x[..., first], x[..., second]
    along = torch.cat([x, (a + b) / 2**0.5, (a - b) / 2**0.5], dim=-1)
    phases = along[..., None] * 2.0 ** torch.arange(count, device=x.device, dtype=x.dtype)
    return torch.cat([phases.sin(), phases.cos()], dim=-1).flatten(-2)


def moment_count(dim: int) -> int:
    """Numbers that :func:`local_moments` gives a point for each radius."""
    return 1 + dim + dim * (dim + 1) // 2


def local_moments(
    x: PointClouds, radii: Sequence[float], dense: PointClouds | None = None
) -> Tensor:
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
        dense: The measures whose moments are taken, if these are not ``x`` themselves: denser
            samples of the same clouds.

    Returns:
        ``(B, M, len(radii) * moment_count(d))``.
    """
    whole = x if dense is None else dense
    points, weights = whole.points, whole.weights[..., None]
    first, second = torch.triu_indices(x.dim, x.dim, device=points.device)
    squares = points[..., first] * points[..., second]
    powers = weights * torch.cat(
        [torch.ones_like(weights), points, squares], -1
    )  # (B, M, moment_count)

    def around(rows: Tensor) -> Tensor:
        gaps = torch.cdist(rows, points, compute_mode="donot_use_mm_for_euclid_dist").square()
        parts, kernels = [], _gaussians(gaps, radii)
        for r in radii:
            sums = kernels[r] @ powers
            total = sums[..., :1].clamp(min=torch.finfo(sums.dtype).tiny)  # 0 only at padding
            mean, square = (sums[..., 1:] / total).split([x.dim, len(first)], dim=-1)
            shape = square - mean[..., first] * mean[..., second]
            parts += [total.log(), (mean - rows) / r, shape / (r * r)]
        return torch.cat(parts, -1)

    return torch.cat([around(rows) for rows in x.points.split(_ROWS, dim=1)], 1)


def _gaussians(squares: Tensor, radii: Sequence[float]) -> dict[float, Tensor]:
    """``exp(-s / 2 r^2)`` of squared distances ``s`` for each radius.

    From ``2 r`` to ``r`` are two squarings, ten times as fast as an exponential.
    """
    kernels: dict[float, Tensor] = {}
    for r in sorted(radii, reverse=True):
        wider = kernels.get(2 * r)
        kernels[r] = torch.exp(squares / (-2 * r * r)) if wider is None else wider.pow(2).pow(2)
    return kernels


def rim_features(moments: Tensor, dim: int) -> Tensor:
    """What tells the rim of a hole, ``(B, M, k moment_count(d)) -> (B, M, k (d + 2))``.

    With the mean ``m`` and the covariance ``C`` of a neighbourhood: ``t = 2 C m / tr C``, which is
    about the part of ``m`` along the surface, since ``C`` takes its normal to 0; it points away
    from a hole. Then ``|t|``, large at a rim, and ``|m|``, large at a corner too.

    Args:
        moments: From :func:`local_moments`, of ``k`` radii.
        dim: ``d``.
    """
    first, second = torch.triu_indices(dim, dim, device=moments.device)
    parts = moments.unflatten(-1, (-1, moment_count(dim)))
    _, mean, shape = parts.split([1, dim, len(first)], -1)
    full = shape.new_zeros(*shape.shape[:-1], dim, dim)
    full[..., first, second] = shape
    full[..., second, first] = shape
    trace = full.diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True).clamp(min=1e-6)
    along = 2.0 * (full @ mean[..., None])[..., 0] / trace
    sizes = [part.norm(dim=-1, keepdim=True) for part in (along, mean)]
    return torch.cat([along, *sizes], -1).flatten(-2)
