"""What the two models share: solve for the equilibrium, attach the gradient, save and load."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ddeq import solvers
from ddeq.adjoints import Adjoint, PhantomGradient
from ddeq.clouds import PointClouds, length_mask
from ddeq.models.pretrained import Pretrained
from ddeq.nn import EquilibriumNetwork
from ddeq.solution import Solution
from ddeq.solvers import Solver, Weiszfeld

__all__ = ["EquilibriumModel", "gaussian_particles"]


class EquilibriumModel(Pretrained, nn.Module):
    """A network, a solver that finds its fixed point, and an adjoint that differentiates it.

    ``solver`` and ``adjoint`` are plain attributes: replace them at any time. The equilibrium is
    ``F(z*)`` in training and in evaluation alike; a good solver makes it ``z*`` as a measure.

    Args:
        network: ``F_theta``.
        solver: Finds ``z*``; Weiszfeld steps by default.
        adjoint: Forms the gradient; one phantom step by default.
    """

    def __init__(
        self, network: EquilibriumNetwork, solver: Solver | None, adjoint: Adjoint | None
    ) -> None:
        super().__init__()
        self.network = network
        self.solver = Weiszfeld(max_steps=30, tol=1e-3) if solver is None else solver
        self.adjoint = PhantomGradient() if adjoint is None else adjoint

    def equilibrium(
        self,
        x: PointClouds,
        z0: PointClouds,
        fixed: PointClouds | None = None,
        save_every: int | None = None,
    ) -> tuple[PointClouds, Solution]:
        """The fixed point of ``F_theta(., X)`` from ``z0``, attached to the parameters.

        Args:
            x: ``B`` clouds in ``R^d``.
            z0: The particles that move, in ``R^p``.
            fixed: Particles that do not, in ``R^p``.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
        """
        f = self.network.bind(self.network.encode(x, fixed))
        solution = self.solver.solve(f.detach(), z0.detach(), save_every=save_every)
        return self.adjoint(f, solution), solution

    def config(self) -> dict[str, Any]:
        """Constructor arguments as JSON values; subclasses add their own."""
        network = self.network
        return {
            "dim": network.x_project.inner.in_features,
            "features": network.features,
            "bilinear": network.x_project.outer.out_features,
            "head_size": network.x_encoder.attention.head_size,
            "cross_layers": len(network.cross),
            "pushforward": network.z_encoder is None,
            "dropout": network.dropout,
            "solver": solver_to_json(self.solver),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> EquilibriumModel:
        """A model with fresh weights from what :meth:`config` returned."""
        config = dict(config)
        solver = solver_from_json(config.pop("solver"))
        return cls(**config, solver=solver)


def gaussian_particles(lengths: Tensor, dim: int, seed: int, like: Tensor) -> PointClouds:
    """Standard normal particles that depend on the seed alone, ``(B, max(lengths), dim)``.

    A cloud of ``n`` particles gets the first ``n`` of one stream, so it starts from the same ones
    wherever it stands in a batch and whatever stands beside it.
    """
    size = int(lengths.max())
    stream = np.random.default_rng(seed).standard_normal((size, dim))
    points = torch.as_tensor(stream).to(like).expand(len(lengths), size, dim)
    mask = length_mask(lengths, size)
    return PointClouds(points * mask[..., None], mask)


def solver_to_json(solver: Solver) -> dict[str, Any]:
    """``{"name": class, field: value, ...}``; the kernel stays at its default."""
    values = {
        field.name: getattr(solver, field.name)
        for field in dataclasses.fields(solver)
        if field.name != "kernel"
    }
    return {"name": type(solver).__name__, **values}


def solver_from_json(config: dict[str, Any]) -> Solver:
    """The solver that :func:`solver_to_json` described."""
    values = dict(config)
    name = values.pop("name")
    kind = getattr(solvers, name, None) if name in solvers.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, Solver)):
        raise ValueError(f"unknown solver {name!r}")
    return kind(**values)
