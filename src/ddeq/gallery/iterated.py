"""Iterated function systems: Sierpinski's triangle and Barnsley's fern."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation, cycle
from ddeq.measures.clouds import PointClouds

__all__ = ["Fern", "IteratedFunctionSystem", "Sierpinski"]

_STEPS = 60  # of the chaos game: what is left of the start is 0.85^60 = 6e-5


@dataclass(frozen=True)
class IteratedFunctionSystem(Equation):
    """``Z = A_K Z' + b_K`` in law, with ``P(K = k) = p_k``: Hutchinson's invariant measure.

    Particle ``i`` has a constant map ``k_i``, each map on its share of particles, and a parent:
    ``F(z)_i = A_{k_i} z_parent(i) + b_{k_i}``. Mean and second moment ``S = E Z Z^T`` solve linear
    equations, ``m = sum_k p_k (A_k m + b_k)`` and
    ``S = sum_k p_k (A_k S A_k^T + A_k m b_k^T + b_k m^T A_k^T + b_k b_k^T)``.
    """

    rows: ClassVar[tuple[tuple[float, ...], ...]]
    """A row per map: ``a11, a12, a21, a22, b1, b2, p``."""

    @property
    def _maps(self) -> tuple[Tensor, Tensor, Tensor]:
        """``A`` ``(K, 2, 2)``, ``b`` ``(K, 2)``, ``p`` ``(K,)``."""
        rows = torch.tensor(self.rows, dtype=torch.float64)
        return rows[:, :4].view(-1, 2, 2), rows[:, 4:6], rows[:, 6] / rows[:, 6].sum()

    @cached_property
    def _marks(self) -> tuple[Tensor, Tensor]:
        """The map of each particle, in balanced shares, and its parent; both ``(N,)``."""
        generator = torch.Generator().manual_seed(self.seed)
        levels = (torch.arange(self.particles, dtype=torch.float64) + 0.5) / self.particles
        choice = torch.searchsorted(self._maps[2].cumsum(0), levels)
        return choice.clamp(max=len(self.rows) - 1), cycle(self.particles, generator)

    @property
    def z0(self) -> PointClouds:
        """A round cloud at the origin, ``(1, N, 2)``."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        noise = torch.randn(1, self.particles, 2, generator=generator, dtype=torch.float64)
        return PointClouds.from_tensor(noise)

    def f(self, z: PointClouds) -> PointClouds:
        """Each particle's map at its parent."""
        choice, parent = self._marks
        return z.with_points(self._apply(choice, z.points[:, parent]))

    def moments(self) -> tuple[Tensor, Tensor]:
        """The solutions of the two linear equations."""
        a, b, p = self._maps
        eye = torch.eye(4, dtype=a.dtype)
        mean = torch.linalg.solve(eye[:2, :2] - torch.einsum("k,kij->ij", p, a), p @ b)
        cross = torch.einsum("k,ki,kj->ij", p, a @ mean, b)
        constant = cross + cross.T + torch.einsum("k,ki,kj->ij", p, b, b)
        linear = torch.einsum("k,kij,klm->iljm", p, a, a).reshape(4, 4)
        second = torch.linalg.solve(eye - linear, constant.reshape(4)).view(2, 2)
        return mean[None], (second - torch.outer(mean, mean))[None]

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """The chaos game: every point goes through its own random maps."""
        generator = torch.Generator().manual_seed(seed)
        probability = self._maps[2]
        points = torch.zeros(1, size, 2, dtype=torch.float64)
        for _ in range(_STEPS):
            choice = torch.multinomial(probability, size, replacement=True, generator=generator)
            points = self._apply(choice, points)
        return PointClouds.from_tensor(points)

    def _apply(self, choice: Tensor, points: Tensor) -> Tensor:
        a, b, _ = self._maps
        return torch.einsum("nij,bnj->bni", a[choice], points) + b[choice]


@dataclass(frozen=True)
class Sierpinski(IteratedFunctionSystem):
    """``Z = (Z' + V) / 2`` with ``V`` a corner of a triangle, each as likely."""

    name = "sierpinski"
    title = "Sierpinski's triangle"
    tolerance = 0.05
    rows = (
        (0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0),
        (0.5, 0.0, 0.0, 0.5, 0.5, 0.0, 1.0),
        (0.5, 0.0, 0.0, 0.5, 0.25, 0.4330127018922193, 1.0),
    )


@dataclass(frozen=True)
class Fern(IteratedFunctionSystem):
    """Barnsley's fern: stem, the fern again a little smaller, and its two lowest leaves."""

    name = "fern"
    title = "Barnsley's fern"
    tolerance = 0.10
    rows = (
        (0.0, 0.0, 0.0, 0.16, 0.0, 0.0, 0.01),
        (0.85, 0.04, -0.04, 0.85, 0.0, 1.6, 0.85),
        (0.2, -0.26, 0.23, 0.22, 0.0, 1.6, 0.07),
        (-0.15, 0.28, 0.26, 0.24, 0.0, 0.44, 0.07),
    )
