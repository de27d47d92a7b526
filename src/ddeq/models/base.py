"""What the models share: solve for the equilibrium, attach the gradient, save and load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ddeq.adjoints import Adjoint, PhantomGradient
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds, length_mask
from ddeq.models.inputs import CloudsLike, as_clouds
from ddeq.models.pretrained import Pretrained
from ddeq.nn import EquilibriumMap, Network, NetworkConfig
from ddeq.nn.base import full_precision
from ddeq.nn.checks import whole
from ddeq.registry import from_json, to_json
from ddeq.solvers import Solver, Weiszfeld
from ddeq.solvers.solution import Solution

__all__ = ["EquilibriumModel", "ParticleModel", "gaussian_particles"]


class EquilibriumModel(Pretrained, nn.Module):
    """A network, a solver that finds its fixed point, and an adjoint that differentiates it.

    ``solver`` and ``adjoint`` are plain attributes: replace them at any time. The answer is what
    the adjoint makes of the solver's ``z*``, in training and in evaluation alike: ``F(z*)``, or
    ``F(... F(z*))`` with as many applications as a phantom gradient has steps. Where the solver
    found a fixed point that is ``z*`` as a measure. These applications are not among the steps that
    a solution reports, and a loss may add more: see the task.
    Unlike other modules a model is made in evaluation mode, so that the same seed gives the same
    result at once; ``train()`` turns dropout on.

    Args:
        dim: ``d``, dimension of the points.
        network: Configuration of ``F_theta``.
        solver: Finds ``z*``; Weiszfeld steps by default.
        adjoint: Forms the gradient; one phantom step by default.
    """

    def __init__(
        self, dim: int, network: NetworkConfig, solver: Solver | None, adjoint: Adjoint | None
    ) -> None:
        super().__init__()
        self.network_config = network
        self.network = network.build(dim)
        self.solver = Weiszfeld(max_steps=30, tol=1e-3) if solver is None else solver
        self.adjoint = PhantomGradient() if adjoint is None else adjoint

    @property
    def dim(self) -> int:
        """``d``, dimension of the points."""
        return self.network.dim

    def equilibrium(
        self, f: EquilibriumMap, z0: PointClouds, save_every: int | None = None
    ) -> tuple[PointClouds, Solution]:
        """The fixed point of ``f = F_theta(., X)`` from ``z0``, attached to the parameters.

        Args:
            f: The network for ``B`` encoded clouds ``X``.
            z0: The particles that move, in ``R^p``.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
        """
        with full_precision(z0.points):  # the network keeps the precision in which it encoded X
            solution = self.solver.solve(f.detach(), z0.detach(), save_every=save_every)
            return self.adjoint(f, solution), solution

    def config(self) -> dict[str, Any]:
        """Constructor arguments as JSON values; subclasses add their own."""
        return {
            "dim": self.dim,
            "network": to_json(self.network_config),
            "solver": to_json(self.solver),
            "adjoint": to_json(self.adjoint),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> EquilibriumModel:
        """A model with fresh weights from what :meth:`config` returned."""
        config = dict(config)
        parts = {
            "network": from_json(config.pop("network"), NetworkConfig),
            "solver": from_json(config.pop("solver"), Solver),
            "adjoint": from_json(config.pop("adjoint"), Adjoint),
        }
        return cls(**config, **parts)


class ParticleModel(EquilibriumModel):
    """A model that reads its answer off a fixed number of latent particles at equilibrium.

    Args:
        dim: ``d``, dimension of the points.
        particles: ``N``.
        network: See :class:`EquilibriumModel`.
        solver: See :class:`EquilibriumModel`.
        adjoint: See :class:`EquilibriumModel`.
    """

    def __init__(
        self,
        dim: int,
        particles: int,
        network: NetworkConfig,
        solver: Solver | None,
        adjoint: Adjoint | None,
    ) -> None:
        super().__init__(dim, network, solver, adjoint)
        self.particles = whole("particles", particles, 1, 100_000)
        self.head: nn.Linear

    def frame(self, x: PointClouds) -> PointClouds:
        """Clouds in any units as the network takes them."""
        return x.normalize(proportions=True)[0]

    def encode(self, x: CloudsLike) -> EquilibriumMap:
        """``F_theta(., X)`` for clouds in any units."""
        with outside_inference_mode():
            x = as_clouds(x)
            with full_precision(x.points):
                x = self.frame(PointClouds(x.points.clone(), x.mask.clone()))
            return self.network.bind(self.network.encode(x.to(self.head.weight.dtype)))

    def latent(
        self,
        x: CloudsLike,
        seed: int = 0,
        save_every: int | None = None,
        start: PointClouds | None = None,
        f: EquilibriumMap | None = None,
    ) -> tuple[PointClouds, Solution]:
        """The equilibrium ``Z*``, ``(B, particles, p)``, and how it was found.

        Args:
            x: ``B`` clouds in any units and any form of :func:`ddeq.models.as_clouds`.
            seed: Of the particles and their marks.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
            start: Latent particles to start from, ``(B, particles, p)``; those of the seed by
                default.
            f: What :meth:`encode` gives for ``x``, if it is at hand.
        """
        with outside_inference_mode():
            x = as_clouds(x)
            f = self.encode(x) if f is None else f
            lengths = torch.full_like(x.lengths, self.particles)
            drawn = gaussian_particles(lengths, self.network.features, seed, self.head.weight)
            f = f.mark(drawn.points)
            return self.equilibrium(f, drawn if start is None else start, save_every)

    def config(self) -> dict[str, Any]:
        return {**super().config(), "particles": self.particles}


def chosen_network(
    network: NetworkConfig | None, default: Network, options: Mapping[str, Any]
) -> NetworkConfig:
    """The configuration that is given, or the default one with some fields changed."""
    if network is None:
        return replace(default, **options)
    if options:
        raise TypeError(f"{', '.join(options)}: give these to the network that is given")
    return network


@contextmanager
def outside_inference_mode() -> Iterator[None]:
    """Leaves inference mode, whose tensors a flow cannot differentiate; keeps the grad mode."""
    enabled = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.set_grad_enabled(enabled):
        yield


def gaussian_particles(lengths: Tensor, dim: int, seed: int, like: Tensor) -> PointClouds:
    """Standard normal particles that depend on the seed alone, ``(B, max(lengths, 1), dim)``.

    A cloud of ``n`` particles gets the first ``n`` of one stream, so it starts from the same ones
    wherever it stands in a batch and whatever stands beside it.
    """
    if not isinstance(seed, Integral):
        shown = type(seed).__name__
        raise DdeqError(f"a seed is an integer, got {shown}; a ragged batch is one pair (x, batch)")
    size = max(int(lengths.max()), 1)
    stream = np.random.default_rng(seed).standard_normal((size, dim))
    points = torch.as_tensor(stream).to(like).expand(len(lengths), size, dim)
    mask = length_mask(lengths, size)
    return PointClouds(points * mask[..., None], mask)
