"""The phantom gradient: back through a few applications of ``F`` at the fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ddeq.adjoints.base import Adjoint
from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map
from ddeq.solvers.solution import Solution

__all__ = ["PhantomGradient"]


@dataclass(frozen=True)
class PhantomGradient(Adjoint):
    """Backpropagates through ``steps`` damped applications of ``F`` at the detached fixed point.

    ``z <- (1 - damping) z + damping F(z)``. One step with damping 1, the paper's choice, is
    ``F(z*)`` with ``dz*/dtheta`` replaced by ``dF/dtheta``.
    """

    steps: int = 1
    damping: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")
        if not 0.0 < self.damping <= 1.0:
            raise ValueError(f"damping must be in (0, 1], got {self.damping}")

    def __call__(self, f: Map, solution: Solution) -> PointClouds:
        z = solution.value.detach()
        for k in range(self.steps):
            known = k == 0 and not torch.is_grad_enabled()
            image = solution.image if known else f(z)
            z = z.with_points(z.points + self.damping * (image.points - z.points))
            if self.damping == 1.0:
                z = image
        return z
