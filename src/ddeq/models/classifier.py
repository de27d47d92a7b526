"""Classification: the class of a cloud is read off its equilibrium."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ddeq.adjoints import Adjoint
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import EquilibriumModel, gaussian_particles, outside_inference_mode
from ddeq.nn import EquilibriumNetwork
from ddeq.solvers import Solver
from ddeq.solvers.solution import Solution

__all__ = ["Classifier"]


class Classifier(EquilibriumModel):
    """``logits = Linear(maxpool(Z*))``, ``Z*`` the equilibrium of ``particles`` latent particles.

    Args:
        dim: ``d``, dimension of the points.
        num_classes: ``C``.
        particles: ``N``, latent particles.
        cross_layers: Layers of the cross-encoder; the paper uses 1 for digits, 3 for ModelNet40.
        proportions: Bring clouds to unit variance by one scale for all coordinates, which keeps
            their proportions; otherwise coordinate by coordinate, as in the paper.
        classes: Names of the classes, for people.
        solver: Finds the equilibrium.
        adjoint: Forms the gradient.
        network: Other arguments of :class:`ddeq.nn.EquilibriumNetwork`.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> Classifier(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "classifier"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        particles: int = 10,
        cross_layers: int = 1,
        proportions: bool = False,
        classes: list[str] | None = None,
        solver: Solver | None = None,
        adjoint: Adjoint | None = None,
        **network: Any,
    ) -> None:
        super().__init__(
            EquilibriumNetwork(dim, cross_layers=cross_layers, **network), solver, adjoint
        )
        if particles < 1:
            raise ValueError(f"particles must be at least 1, got {particles}")
        if classes is not None and len(classes) != num_classes:
            raise ValueError(f"{len(classes)} names for {num_classes} classes")
        self.particles = particles
        self.proportions = proportions
        self.classes = classes or [str(label) for label in range(num_classes)]
        self.head = nn.Linear(self.network.features, num_classes)
        self.eval()

    def forward(self, x: PointClouds, seed: int = 0) -> Tensor:
        """Logits, ``(B, C)``. Clouds in any units: they are normalised first."""
        return self.logits(self.latent(x, seed)[0])

    def latent(
        self,
        x: PointClouds,
        seed: int = 0,
        save_every: int | None = None,
        start: PointClouds | None = None,
    ) -> tuple[PointClouds, Solution]:
        """The equilibrium ``Z*``, ``(B, particles, p)``, and how it was found.

        Args:
            x: See :meth:`forward`.
            seed: Of the particles.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
            start: Latent particles to start from, ``(B, particles, p)``; those of the seed by
                default.
        """
        with outside_inference_mode():
            x = PointClouds(x.points.clone(), x.mask.clone())
            x = x.normalize(self.proportions)[0]
            x = x.to(self.head.weight.dtype)
            lengths = torch.full_like(x.lengths, self.particles)
            if start is None:
                start = gaussian_particles(lengths, self.network.features, seed, x.points)
            f = self.network.bind(self.network.encode(x))
            return self.equilibrium(f, start, save_every)

    def logits(self, z: PointClouds) -> Tensor:
        """``Linear(maxpool(Z))``, ``(B, N, p) -> (B, C)``."""
        return self.head(z.points.masked_fill(~z.mask[..., None], -torch.inf).amax(1))

    def config(self) -> dict[str, Any]:
        return {
            **super().config(),
            "num_classes": self.head.out_features,
            "particles": self.particles,
            "proportions": self.proportions,
            "classes": self.classes,
        }
