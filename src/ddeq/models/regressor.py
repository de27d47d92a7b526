"""Regression: a number is read off the equilibrium of a cloud."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from ddeq.adjoints import Adjoint
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import ParticleModel, chosen_network
from ddeq.models.inputs import CloudsLike
from ddeq.nn import Network, NetworkConfig
from ddeq.solvers import Solver

__all__ = ["Regressor"]


class Regressor(ParticleModel):
    """``value = m + s Linear(mean(Z*))``, ``Z*`` the equilibrium of ``particles`` latent particles.

    Args:
        dim: ``d``, dimension of the points.
        particles: ``N``, latent particles.
        mean: ``m``, of the numbers to expect.
        deviation: ``s``, likewise, positive.
        network: Configuration of the network; the paper's by default.
        solver: Finds the equilibrium.
        adjoint: Forms the gradient.
        options: Fields of :class:`ddeq.nn.Network`, in place of ``network``.

    Example:
        >>> import torch
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> Regressor(dim=2)(x).shape
        torch.Size([2])
    """

    kind: ClassVar[str] = "regressor"

    def __init__(
        self,
        dim: int,
        *,
        particles: int = 10,
        mean: float = 0.0,
        deviation: float = 1.0,
        network: NetworkConfig | None = None,
        solver: Solver | None = None,
        adjoint: Adjoint | None = None,
        **options: Any,
    ) -> None:
        config = chosen_network(network, Network(), options)
        super().__init__(dim, particles, config, solver, adjoint)
        if not 0 < deviation < float("inf"):
            raise ValueError(f"deviation must be positive and finite, got {deviation}")
        self.mean, self.deviation = mean, deviation
        self.head = nn.Linear(self.network.features, 1)
        self.eval()

    def forward(self, x: CloudsLike, seed: int = 0) -> Tensor:
        """A number per cloud, ``(B,)``; see :meth:`ddeq.Classifier.forward`."""
        return self.value(self.latent(x, seed)[0])

    def value(self, z: PointClouds) -> Tensor:
        """``m + s Linear(mean(Z))``, ``(B, N, p) -> (B,)``."""
        return self.mean + self.deviation * self.head(z.mean())[:, 0]

    def config(self) -> dict[str, Any]:
        return {**super().config(), "mean": self.mean, "deviation": self.deviation}
