"""Kernels ``k(x, y)`` of the maximum mean discrepancy.

Each is a profile of the distance ``s = ||x - y||``. Distances come from :func:`distances`, which is
exact at coincident points (zero distance, zero gradient), so every kernel here has a finite
gradient everywhere, also where the function itself has a kink.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.registry import Registered

__all__ = [
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplace",
    "Riesz",
    "distances",
    "pair_distances",
]


def distances(x: Tensor, y: Tensor) -> Tensor:
    """``||x_i - y_j||``, ``(..., N, d), (..., M, d) -> (..., N, M)``.

    Differences are formed before squaring: the expansion ``x^2 - 2xy + y^2`` gives a float32
    cloud away from the origin a distance of 0.1 to itself. Coordinates so large that their squares
    overflow are scaled first.

    Raises:
        ValueError: for a dtype other than float32 and float64.
    """
    _check_dtype(x)
    scale = _overflow(x, y)
    if scale is not None:
        x, y = x / scale, y / scale
    full = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    return full if scale is None else full * scale


def _overflow(x: Tensor, y: Tensor) -> Tensor | None:
    """Powers of two that make squares of coordinates finite, ``(..., 1, 1)``; None if they are."""
    if x.numel() == 0 or y.numel() == 0:
        return None
    limit = (torch.finfo(x.dtype).max / x.shape[-1]) ** 0.5 / 4
    size = torch.maximum(*(c.detach().abs().amax((-2, -1), keepdim=True) for c in (x, y)))
    large = (size > limit) & size.isfinite()
    if not torch.compiler.is_compiling() and not bool(large.any()):  # a compiled graph cannot ask
        return None
    return torch.where(large, torch.exp2((size / limit).log2().ceil()), 1.0)


def _check_dtype(x: Tensor) -> None:
    if x.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"distances need float32 or float64, got {x.dtype}")


def pair_distances(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``||x_i - x_j||``, ``||x_i - y_j||`` and ``||y_i - y_j||`` at once, without gradients.

    On a CPU one float64 matrix product of the centred points does it, several times faster than
    :func:`distances` in high dimension and exact to about 1e-7; self-distances are exactly zero.
    """
    _check_dtype(x)
    if x.device.type != "cpu" or x.dtype == torch.float64:
        return distances(x, x), distances(x, y), distances(y, y)
    n = x.shape[1]
    both = torch.cat([x, y], dim=1).double()
    both = both - both[:, :1]  # a point, not the mean, which padding would move
    gram = both @ both.transpose(1, 2)
    norm = gram.diagonal(dim1=1, dim2=2)
    squared = norm[:, :, None] + norm[:, None, :] - 2.0 * gram
    squared.diagonal(dim1=1, dim2=2).zero_()
    full = squared.clamp_(min=0).sqrt_().to(x.dtype)
    return full[:, :n, :n], full[:, :n, n:], full[:, n:, n:]


@dataclass(frozen=True)
class Kernel(Registered, ABC):
    """A radial kernel: ``kernel(s)`` for distances ``s >= 0`` of any shape."""

    @abstractmethod
    def __call__(self, s: Tensor) -> Tensor:
        """``k(s)``, of the shape of ``s``."""


@dataclass(frozen=True)
class Riesz(Kernel):
    """``k(s) = -s^r``, ``0 < r < 2``: conditionally positive definite; ``r = 1`` is the paper's.

    The squared MMD with ``r = 1`` is the energy distance.
    """

    r: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.r < 2.0:
            raise ValueError(f"Riesz kernel needs 0 < r < 2, got r = {self.r}")

    def __call__(self, s: Tensor) -> Tensor:
        if self.r == 1.0:
            return -s
        # s^r has no finite slope at 0 for r < 1: coincident points do not push each other
        away = s > 0
        return torch.where(away, -(torch.where(away, s, 1.0) ** self.r), 0.0)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """``k(s) = exp(-s^2 / (2 bandwidth^2))``."""

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    def __call__(self, s: Tensor) -> Tensor:
        return torch.exp(-0.5 * (s / self.bandwidth).square())


@dataclass(frozen=True)
class Laplace(Kernel):
    """``k(s) = exp(-s / bandwidth)``."""

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    def __call__(self, s: Tensor) -> Tensor:
        return torch.exp(-s / self.bandwidth)


@dataclass(frozen=True)
class InverseMultiquadric(Kernel):
    """``k(s) = 1 / sqrt(1 + (s / bandwidth)^2)``."""

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    def __call__(self, s: Tensor) -> Tensor:
        return torch.rsqrt(1.0 + (s / self.bandwidth).square())


def _check_bandwidth(bandwidth: float) -> None:
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be positive, got {bandwidth}")
