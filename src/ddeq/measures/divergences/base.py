"""What a divergence between measures is, and Wasserstein gradients by automatic differentiation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.registry import Registered

__all__ = ["Divergence", "check_pair", "extent", "wasserstein_gradient"]


@dataclass(frozen=True)
class Divergence(Registered, ABC):
    """``D(mu, nu) >= 0`` between clouds, zero if and only if they are the same measure.

    A subclass gives the value, differentiable by autograd in both arguments; with that a
    :class:`ddeq.solvers.WassersteinFlow` can descend it, and every solver can stop by it.

    Attributes:
        symmetric: Whether ``D(mu, nu) = D(nu, mu)``.
    """

    symmetric: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, x: PointClouds, y: PointClouds) -> Tensor:
        """``D`` between clouds of any sizes, one value per pair, ``(B,)``."""

    def evaluate(self, x: PointClouds, y: PointClouds) -> Tensor:
        """The same value without a graph, by the fastest way there is, ``(B,)``."""
        with torch.no_grad():
            return self(x, y)

    def gradient(self, x: PointClouds, y: PointClouds) -> Tensor:
        """Wasserstein gradient of ``D(., y)`` at the points of ``x``, ``(B, N, d)``."""
        return wasserstein_gradient(lambda z: self(z, y), x)

    def rounding(self, z: PointClouds) -> Tensor:
        """How large ``D(z, z')`` may come out by rounding when ``z' = z`` as a measure, ``(B,)``.

        By default that of a value that grows as a distance does.
        """
        return 4 * torch.finfo(z.points.dtype).eps * extent(z)


def wasserstein_gradient(functional: Callable[[PointClouds], Tensor], z: PointClouds) -> Tensor:
    """``grad_W G(z_j) = N dG/dz_j`` by automatic differentiation (a particle has mass ``1/N``).

    Args:
        functional: ``G``, one value per cloud, ``(B,)``.
        z: ``B`` clouds of at most ``N`` particles in ``R^p``.

    Returns:
        ``(B, N, p)``, zero at padding.
    """
    with torch.inference_mode(False), torch.enable_grad():
        points = z.points.detach().clone().requires_grad_()
        value = functional(z.fresh(points))
        (gradient,) = torch.autograd.grad(value.sum(), points)
    return z.per_mass(gradient) * z.mask[..., None]


def extent(z: PointClouds) -> Tensor:
    """``sqrt(sum_i |z_i - mean(z)|^2)``, ``(B,)``."""
    centred = z.points - (z.points * z.weights[..., None]).sum(1, keepdim=True)
    return (centred * z.mask[..., None]).flatten(1).norm(dim=1)


def check_pair(x: PointClouds, y: PointClouds) -> None:
    """Refuses batches that cannot be compared cloud by cloud."""
    if len(x) != len(y):
        raise ValueError(f"batches must have one size, got {len(x)} and {len(y)} clouds")
    if x.dim != y.dim:
        raise ValueError(f"clouds must have one dimension, got {x.dim} and {y.dim}")
