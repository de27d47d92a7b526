"""Completion: free particles flow to where a partial cloud lacks points."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from ddeq.adjoints import Adjoint
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import EquilibriumModel, gaussian_particles, outside_inference_mode
from ddeq.nn import MLP, Coupling, EquilibriumMap, EquilibriumNetwork
from ddeq.solvers import Solver
from ddeq.solvers.solution import Solution

__all__ = ["Completer"]

Clouds = TypeVar("Clouds", PointClouds, Tensor, np.ndarray)


class Completer(EquilibriumModel):
    """Adds points to a partial cloud; every point of the input stays as it is.

    The input's points, lifted by an invertible coupling ``q``, are fixed particles; free particles
    start from a Gaussian with the input's mean and deviation and flow to the equilibrium of
    ``F_theta(., X)``; the first ``d`` coordinates of ``q^-1(Z*)`` are the new points.

    Args:
        dim: ``d``, dimension of the points.
        ratio: Free particles for each input point.
        estimate: Estimate that number from the cloud, around ``ratio``; see :meth:`shares`.
        cross_layers: Layers of the cross-encoder.
        solver: Finds the equilibrium.
        adjoint: Forms the gradient.
        network: Other arguments of :class:`ddeq.nn.EquilibriumNetwork`.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> full = Completer(dim=2).complete(x, seed=0)
        >>> full.lengths.tolist()
        [89, 52]
        >>> bool((full.to_list()[0][:70] == x.to_list()[0]).all())
        True
    """

    kind: ClassVar[str] = "completer"

    def __init__(
        self,
        dim: int,
        *,
        ratio: float = 0.275,
        estimate: bool = False,
        cross_layers: int = 3,
        solver: Solver | None = None,
        adjoint: Adjoint | None = None,
        **network: Any,
    ) -> None:
        super().__init__(
            EquilibriumNetwork(dim, cross_layers=cross_layers, **network), solver, adjoint
        )
        if not ratio > 0:
            raise ValueError(f"ratio must be positive, got {ratio}")
        self.ratio = ratio
        self.coupling = Coupling(self.network.features)
        features = self.network.features
        self.missing = MLP(features, features // 2, 1) if estimate else None
        self.eval()

    def forward(self, x: PointClouds, seed: int = 0, counts: Tensor | None = None) -> PointClouds:
        """The new points of clouds that are in the network's frame already, ``(B, N, d)``.

        Args:
            x: Partial clouds in units in which the whole has about unit variance.
            seed: Of the free particles.
            counts: How many new points a cloud, ``(B,)``; :meth:`shares` of ``|x|`` by default.
        """
        return self.points(self.latent(x, seed, counts)[0])

    def encode(self, x: PointClouds) -> EquilibriumMap:
        """``F_theta(., X)`` with the points of ``X`` as fixed particles."""
        x = x.to(self.coupling.phi.inner.weight.dtype)
        return self.network.bind(self.network.encode(x, x.map(self.coupling.lift)))

    def shares(self, f: EquilibriumMap) -> Tensor:
        """How many points are missing for each point there is, ``(B,)``.

        ``ratio``, or with ``estimate`` a value from ``ratio / e`` to ``e ratio`` that is read off
        the encoded cloud: in the frame of the whole the mean and the variance of what is left tell
        how much was taken away, and elsewhere its shape does.

        Args:
            f: From :meth:`encode`.
        """
        summary = f.context.summary
        if self.missing is None:
            return summary.new_full((len(summary),), self.ratio)
        return self.ratio * self.missing(summary[:, None])[:, 0, 0].tanh().exp()

    def latent(
        self,
        x: PointClouds,
        seed: int = 0,
        counts: Tensor | None = None,
        save_every: int | None = None,
        start: PointClouds | None = None,
        f: EquilibriumMap | None = None,
    ) -> tuple[PointClouds, Solution]:
        """The free particles at equilibrium, ``(B, N, p)``, and how it was found.

        Args:
            x: See :meth:`forward`.
            seed: See :meth:`forward`.
            counts: See :meth:`forward`.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
            start: Latent particles to start from, ``(B, N, p)``, such as another solution's
                ``value``; the Gaussian ones of the seed by default.
            f: What :meth:`encode` gives for ``x``, if it is at hand.
        """
        with outside_inference_mode():
            x = PointClouds(x.points.clone(), x.mask.clone())
            f = self.encode(x) if f is None else f
            if start is None:
                start = self._start(x, self._counts(x, counts, f), seed)
            return self.equilibrium(f, start, save_every)

    def _start(self, x: PointClouds, counts: Tensor, seed: int) -> PointClouds:
        """Lifted Gaussian particles with the mean and deviation of ``x``, ``(B, N, p)``."""
        x = x.to(self.coupling.phi.inner.weight.dtype)
        noise = gaussian_particles(counts, x.dim, seed, x.points)
        spread = noise.with_points(x.mean()[:, None] + noise.points * x.std()[:, None])
        return spread.map(self.coupling.lift)

    def points(self, z: PointClouds) -> PointClouds:
        """The points of latent particles: the first ``d`` coordinates of ``q^-1(z)``.

        These lie in the half that ``q`` leaves alone, so ``q^-1`` need not be computed for them.
        """
        return z.with_points(z.points[..., : self.network.x_project.inner.in_features])

    @torch.no_grad()
    def complete(
        self,
        x: Clouds,
        seed: int = 0,
        counts: Tensor | None = None,
        normalize: bool = True,
    ) -> Clouds:
        """Completes clouds in any units: the input bit for bit, then the new points.

        Args:
            x: Partial clouds, or one cloud ``(N, d)`` as a tensor or an array; the result is of
                the same type and precision.
            seed: Of the free particles.
            counts: How many new points a cloud, ``(B,)``; :meth:`shares` of ``|x|`` by default.
            normalize: Bring each cloud to zero mean and unit variance for the network, and its new
                points back. Turn it off for clouds that are in the frame of their known whole.
        """
        if not isinstance(x, PointClouds):
            one = self.complete(PointClouds.from_list([x]), seed, counts, normalize).points[0]
            return one if isinstance(x, Tensor) else one.cpu().numpy()
        if not normalize:
            return x.cat(self(x, seed, counts).to(x.points.dtype))
        y, way = x.normalize()
        return x.cat(way.invert(self(y, seed, counts).to(x.points.dtype)))

    def config(self) -> dict[str, Any]:
        return {
            **super().config(),
            "ratio": self.ratio,
            "estimate": self.missing is not None,
        }

    def _counts(self, x: PointClouds, counts: Tensor | None, f: EquilibriumMap) -> Tensor:
        if counts is None:
            return (self.shares(f).detach() * x.lengths).round().long().clamp(min=1)
        if counts.shape != (len(x),) or not bool((counts > 0).all()):
            raise ValueError(f"counts must be {len(x)} positive integers, one a cloud")
        return counts.to(x.lengths)
