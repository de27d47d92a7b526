"""Gaussian stationary law of a McKean-Vlasov equation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation, cycle, normal_marks, symmetric_power
from ddeq.measures.clouds import PointClouds

__all__ = ["McKeanVlasov"]


@dataclass(frozen=True)
class McKeanVlasov(Equation):
    """Particles pulled to a place and to each other: ``Z`` has the law that time leaves alone.

    ``dX = -A (X - c) dt - K (X - E X) dt + sqrt(2) dW`` with symmetric ``A``, ``K``. With
    ``M = A + K`` and ``m = E X``, a time ``h`` later::

        X_h = c + exp(-A h) (m - c) + exp(-M h) (X - m) + S xi,    S S^T = M^-1 (I - exp(-2 M h))

    The stationary law is ``N(c, M^-1)``. ``F`` is that step, with particle ``i``'s own ``xi_i`` and
    a parent in place of ``X``. The mean moves by ``exp(-A h)`` only, however strong ``K`` is.
    """

    name = "mckean-vlasov"
    title = "McKean-Vlasov equation"
    tolerance = 0.05

    h: float = 0.25

    @property
    def _pull(self) -> Tensor:
        return torch.tensor([[0.5, 0.3], [0.3, 0.8]], dtype=torch.float64)

    @property
    def _stiffness(self) -> Tensor:
        return self._pull + torch.tensor([[2.0, -1.5], [-1.5, 2.0]], dtype=torch.float64)

    @property
    def _centre(self) -> Tensor:
        return torch.tensor([2.0, 1.0], dtype=torch.float64)

    @cached_property
    def _marks(self) -> tuple[Tensor, Tensor]:
        """Noise ``S xi``, ``(N, 2)``, and parents, ``(N,)``."""
        generator = torch.Generator().manual_seed(self.seed)
        stiffness = self._stiffness
        decay = torch.linalg.matrix_exp(-2 * self.h * stiffness)
        variance = torch.linalg.solve(stiffness, torch.eye(2, dtype=torch.float64) - decay)
        noise = normal_marks(self.particles, 2, generator)
        root = symmetric_power((variance + variance.T) / 2, 0.5)
        return noise @ root, cycle(self.particles, generator)

    @property
    def z0(self) -> PointClouds:
        """A small cloud far from the centre, ``(1, N, 2)``."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        noise = torch.randn(1, self.particles, 2, generator=generator, dtype=torch.float64)
        return PointClouds.from_tensor(0.3 * noise - 2.0)

    def f(self, z: PointClouds) -> PointClouds:
        """The law a time ``h`` later."""
        noise, parent = self._marks
        mean = z.points.mean(1, keepdim=True)
        drift = self._centre + (mean - self._centre) @ torch.linalg.matrix_exp(-self.h * self._pull)
        decay = torch.linalg.matrix_exp(-self.h * self._stiffness)
        return z.with_points(drift + (z.points[:, parent] - mean) @ decay + noise)

    def moments(self) -> tuple[Tensor, Tensor]:
        """``c`` and ``M^-1``."""
        return self._centre[None], torch.linalg.inv(self._stiffness)[None]

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Draws from ``N(c, M^-1)``."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(1, size, 2, generator=generator, dtype=torch.float64)
        mean, covariance = self.moments()
        return PointClouds.from_tensor(mean + noise @ symmetric_power(covariance, 0.5))
