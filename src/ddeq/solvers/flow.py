"""The paper's solver: Wasserstein gradient descent on ``G(mu) = 1/2 D(mu, F(mu))``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import Divergence
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Descent", "WassersteinFlow", "descent"]


@dataclass(frozen=True)
class WassersteinFlow(Solver):
    """``z_j <- z_j - eta_k v_j``, ``v <- momentum v + grad_W G``, ``grad_W G(z_j) = N dG/dz_j``.

    The gradient is taken by automatic differentiation through ``F``, in one evaluation of ``F``,
    for any divergence: ``WassersteinFlow(divergence=SlicedMMD())`` sorts projections where the
    default compares all pairs of particles.

    Attributes:
        step_size: ``eta``; the paper uses 5.
        decay: ``eta_k = eta * decay^k``.
        momentum: Heavy ball, 0 is plain descent.
        adaptive: Halves a cloud's step when its residual has grown, and lets it grow back by a
            tenth per step while the residual falls; momentum restarts at each cut.
        whole: Take the gradient of ``MMD^2`` between whole clouds, fixed particles included, as the
            paper does: ``n_free / N`` times that of the free ones. The map says how many particles
            are fixed by ``fixed_counts``, ``(B,)``; without it none are.
    """

    step_size: float = 5.0
    decay: float = 1.0
    momentum: float = 0.0
    adaptive: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.step_size > 0:
            raise ValueError(f"step_size must be positive, got {self.step_size}")
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay must be in (0, 1], got {self.decay}")
        if not 0.0 <= self.momentum < 1.0:
            raise ValueError(f"momentum must be in [0, 1), got {self.momentum}")

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        size = z.points.new_ones(len(z))
        return {
            "velocity": torch.zeros_like(z.points),
            "factor": size,
            "residual": torch.full_like(size, torch.inf),
        }

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One step of descent."""
        image, residual, gradient = descent(self.divergence, f, z)
        fixed = getattr(f, "fixed_counts", None)
        if self.whole and fixed is not None:
            share = z.lengths / (z.lengths + fixed).clamp(min=1)
            gradient = gradient * share.to(gradient)[:, None, None]
        factor, velocity = state["factor"], state["velocity"]
        if self.adaptive:
            worse = residual > state["residual"]
            factor = torch.where(worse, 0.5 * factor, (1.1 * factor).clamp(max=1.0))
            velocity = velocity.masked_fill(worse[:, None, None], 0.0)
        velocity = self.momentum * velocity + gradient
        eta = self.step_size * self.decay**k * factor[:, None, None]
        state = {"velocity": velocity, "factor": factor, "residual": residual}
        return Step(image, residual, z.points - eta * velocity, state)


class Descent(NamedTuple):
    """What one evaluation of ``F`` and its backward pass tell of ``G(z) = 1/2 D(z, F(z))``.

    Attributes:
        image: ``F(z)``.
        residual: ``D(z, F(z))``, ``(B,)``.
        gradient: ``grad_W G(z_j) = N dG/dz_j``, ``(B, N, p)``.
    """

    image: PointClouds
    residual: Tensor
    gradient: Tensor


def descent(divergence: Divergence, f: Map, z: PointClouds) -> Descent:
    """The direction of steepest ascent of ``G`` at ``z``."""
    with torch.inference_mode(False), torch.enable_grad():
        points = z.points.clone().requires_grad_()
        here = z.fresh(points)
        image = f(here)
        residual = divergence(here, image)
        (gradient,) = torch.autograd.grad(0.5 * residual.sum(), points)
    return Descent(image.detach(), residual.detach(), z.per_mass(gradient))
