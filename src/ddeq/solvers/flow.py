"""The paper's solver: Wasserstein gradient descent on ``G(mu) = 1/2 MMD^2(mu, F(mu))``."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["WassersteinFlow"]


@dataclass(frozen=True)
class WassersteinFlow(Solver):
    """``z_j <- z_j - eta_k v_j``, ``v <- momentum v + grad_W G``, ``grad_W G(z_j) = N dG/dz_j``.

    The gradient is taken by automatic differentiation through ``F``, in one evaluation of ``F``.

    Attributes:
        step_size: ``eta``; the paper uses 5.
        decay: ``eta_k = eta * decay^k``.
        momentum: Heavy ball, 0 is plain descent.
        adaptive: Halves a cloud's step when its residual has grown, and lets it grow back by a
            tenth a step while the residual falls; momentum restarts at each cut.
    """

    step_size: float = 5.0
    decay: float = 1.0
    momentum: float = 0.0
    adaptive: bool = False

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
        with torch.inference_mode(False), torch.enable_grad():
            points = z.points.clone().requires_grad_()
            here = PointClouds(points, z.mask.clone())
            image = f(here)
            residual = self.residual(here, image)
            (gradient,) = torch.autograd.grad(0.5 * residual.sum(), points)
        gradient = gradient * z.lengths[:, None, None]
        residual, image = residual.detach(), image.detach()
        factor, velocity = state["factor"], state["velocity"]
        if self.adaptive:
            worse = residual > state["residual"]
            factor = torch.where(worse, 0.5 * factor, (1.1 * factor).clamp(max=1.0))
            velocity = velocity.masked_fill(worse[:, None, None], 0.0)
        velocity = self.momentum * velocity + gradient
        eta = self.step_size * self.decay**k * factor[:, None, None]
        state = {"velocity": velocity, "factor": factor, "residual": residual}
        return Step(image, residual, z.points - eta * velocity, state)
