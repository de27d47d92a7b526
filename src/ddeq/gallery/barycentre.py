"""Wasserstein barycentre of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation, normal_marks, symmetric_power
from ddeq.measures.clouds import PointClouds

__all__ = ["Barycentre"]

_MEANS = ((-3.0, -1.0), (3.0, -1.0), (0.0, 3.0))
_COVARIANCES = (
    ((1.0, 0.9), (0.9, 1.0)),
    ((1.0, -0.9), (-0.9, 1.0)),
    ((2.0, 0.0), (0.0, 0.1)),
)


@dataclass(frozen=True)
class Barycentre(Equation):
    """The measure with the least mean of ``W2^2`` to given Gaussians ``N(m_k, C_k)``.

    Agueh and Carlier (2011), Alvarez-Esteban et al. (2016): it is the fixed point of
    ``F(mu) = law of mean_k T_k(X)``, ``X ~ mu``, with the optimal maps ``T_k`` from ``mu`` to
    ``N(m_k, C_k)``. For ``mu`` of mean ``m`` and covariance ``C``::

        T_k(x) = m_k + C^-1/2 (C^1/2 C_k C^1/2)^1/2 C^-1/2 (x - m)

    The answer is ``N(mean_k m_k, C)`` with ``C = mean_k (C^1/2 C_k C^1/2)^1/2``; if the ``C_k``
    commute, ``C^1/2 = mean_k C_k^1/2``. ``F`` sees two moments of a cloud only, so the answer keeps
    the shape of the start, here Gaussian.

    Attributes:
        means: ``m_k``, K points of the plane.
        covariances: ``C_k``, K positive definite matrices.
    """

    name = "barycentre"
    title = "Barycentre of Gaussians"
    tolerance = 1e-3

    means: tuple[tuple[float, float], ...] = _MEANS
    covariances: tuple[tuple[tuple[float, float], tuple[float, float]], ...] = _COVARIANCES

    @property
    def z0(self) -> PointClouds:
        """A Gaussian cloud at the origin, ``(1, N, 2)``."""
        generator = torch.Generator().manual_seed(self.seed)
        noise = normal_marks(self.particles, 2, generator)
        return PointClouds.from_tensor((noise * noise.new_tensor([0.2, 1.5]))[None])

    def f(self, z: PointClouds) -> PointClouds:
        """The mean of the optimal maps."""
        centred = z.points - z.points.mean(1, keepdim=True)
        covariance = centred.transpose(1, 2) @ centred / centred.shape[1]
        return z.with_points(self._mean() + centred @ self._map(covariance))

    def moments(self) -> tuple[Tensor, Tensor]:
        """Of the answer, from the equation of matrices."""
        return self._mean()[None], self._answer[None]

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Draws from the Gaussian answer."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(1, size, 2, generator=generator, dtype=torch.float64)
        return PointClouds.from_tensor(self._mean() + noise @ symmetric_power(self._answer, 0.5))

    @cached_property
    def _answer(self) -> Tensor:
        """``C``, ``(2, 2)``, to rounding: the equation of matrices contracts."""
        covariance = torch.eye(2, dtype=torch.float64)
        for _ in range(200):
            linear = self._map(covariance)
            covariance = linear @ covariance @ linear
        return covariance

    def _mean(self) -> Tensor:
        return torch.tensor(self.means, dtype=torch.float64).mean(0)

    def _map(self, covariance: Tensor) -> Tensor:
        """Mean of the linear parts of the optimal maps, ``(..., 2, 2)``."""
        targets = torch.tensor(self.covariances, dtype=torch.float64)
        root = symmetric_power(covariance, 0.5)[..., None, :, :]
        inverse = symmetric_power(covariance, -0.5)[..., None, :, :]
        return (inverse @ symmetric_power(root @ targets @ root, 0.5) @ inverse).mean(-3)
