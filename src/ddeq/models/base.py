"""What the two models share: solve for the equilibrium, attach the gradient, save and load."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ddeq import solvers
from ddeq.adjoints import Adjoint, ImplicitGradient, PhantomGradient
from ddeq.measures import kernels
from ddeq.measures.clouds import PointClouds, length_mask
from ddeq.measures.kernels import Kernel
from ddeq.models.pretrained import Pretrained
from ddeq.nn import EquilibriumMap, EquilibriumNetwork
from ddeq.solvers import Solver, Weiszfeld
from ddeq.solvers.solution import Solution

__all__ = ["EquilibriumModel", "gaussian_particles"]


def _named(*kinds: type) -> dict[str, type]:
    return {kind.__name__: kind for kind in kinds}


SOLVERS = _named(
    solvers.Anderson, solvers.Broyden, solvers.Picard, solvers.WassersteinFlow, solvers.Weiszfeld
)
ADJOINTS = _named(ImplicitGradient, PhantomGradient)
KERNELS = _named(kernels.Gaussian, kernels.InverseMultiquadric, kernels.Laplace, kernels.Riesz)


class EquilibriumModel(Pretrained, nn.Module):
    """A network, a solver that finds its fixed point, and an adjoint that differentiates it.

    ``solver`` and ``adjoint`` are plain attributes: replace them at any time. The equilibrium is
    ``F(z*)`` in training and in evaluation alike; a good solver makes it ``z*`` as a measure.
    Unlike other modules a model is made in evaluation mode, so that the same seed gives the same
    result at once; ``train()`` turns dropout on.

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
        self, f: EquilibriumMap, z0: PointClouds, save_every: int | None = None
    ) -> tuple[PointClouds, Solution]:
        """The fixed point of ``f = F_theta(., X)`` from ``z0``, attached to the parameters.

        Args:
            f: The network for ``B`` encoded clouds ``X``.
            z0: The particles that move, in ``R^p``.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
        """
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
            "waves": network.waves,
            "radii": list(network.radii),
            "solver": to_json(self.solver),
            "adjoint": to_json(self.adjoint),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> EquilibriumModel:
        """A model with fresh weights from what :meth:`config` returned."""
        config = dict(config)
        parts = {
            "solver": from_json(config.pop("solver"), SOLVERS),
            "adjoint": from_json(config.pop("adjoint"), ADJOINTS),
        }
        return cls(**config, **parts)


@contextmanager
def outside_inference_mode() -> Iterator[None]:
    """Leaves inference mode, whose tensors a flow cannot differentiate; keeps the grad mode."""
    enabled = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.set_grad_enabled(enabled):
        yield


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


def to_json(part: Solver | Adjoint | Kernel) -> dict[str, Any]:
    """``{"name": class, field: value, ...}``; a kernel among the fields likewise."""
    name = type(part).__name__
    if name not in {**SOLVERS, **ADJOINTS, **KERNELS}:
        raise ValueError(f"{name} cannot be saved: it is not part of ddeq")
    values = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}  # type: ignore
    if "kernel" in values:
        values["kernel"] = to_json(values["kernel"])
    return {"name": name, **values}


def from_json(config: dict[str, Any], known: dict[str, type]) -> Any:
    """What :func:`to_json` described."""
    values = dict(config)
    name = values.pop("name")
    if name not in known:
        raise ValueError(f"unknown name {name!r}, not one of {', '.join(known)}")
    if "kernel" in values:
        values["kernel"] = from_json(values["kernel"], KERNELS)
    return known[name](**values)
