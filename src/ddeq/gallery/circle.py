"""A circle that turns: an equilibrium of the measure, at which no particle rests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation
from ddeq.measures.clouds import PointClouds
from ddeq.solvers import Solver, Weiszfeld

__all__ = ["Circle"]

_ANGLE = math.pi * (math.sqrt(5) - 1)  # 2 pi times an irrational number, the golden one


@dataclass(frozen=True)
class Circle(Equation):
    """``Z = R (Z + Z / |Z|) / 2`` in law: half way to the unit circle, then a turn ``R``.

    The angle of ``R`` over ``2 pi`` is irrational, so the only measure that stays is the uniform
    one on the circle, although every particle moves by the same angle at each application. There
    are no marks and no fixed points of particles (but for the origin): what matches particle ``i``
    of ``z`` with particle ``i`` of ``F(z)`` looks for something that does not exist. What compares
    measures finds it, up to the finite number of particles.
    """

    name = "circle"
    title = "A circle that turns"
    tolerance = 0.03

    particles: int = 200

    @property
    def solver(self) -> Solver:
        """Weiszfeld steps: they move ``z`` towards ``F(z)`` as a measure."""
        return Weiszfeld(max_steps=200, tol=0.0)

    @property
    def z0(self) -> PointClouds:
        """A blob on one side, ``(1, N, 2)``."""
        generator = torch.Generator().manual_seed(self.seed)
        noise = torch.randn(1, self.particles, 2, generator=generator, dtype=torch.float64)
        return PointClouds.from_tensor(0.4 * noise + noise.new_tensor([1.5, 0.0]))

    def f(self, z: PointClouds) -> PointClouds:
        """Half way to the circle, then the turn."""
        cosine, sine = math.cos(_ANGLE), math.sin(_ANGLE)
        turn = z.points.new_tensor([[cosine, sine], [-sine, cosine]])
        tiny = torch.finfo(z.points.dtype).tiny
        radius = z.points.norm(dim=2, keepdim=True).clamp(min=tiny)
        return z.with_points(0.5 * (z.points + z.points / radius) @ turn)

    def moments(self) -> tuple[Tensor, Tensor]:
        """0 and half the identity."""
        return torch.zeros(1, 2, dtype=torch.float64), 0.5 * torch.eye(2, dtype=torch.float64)[None]

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Uniform draws from the circle."""
        generator = torch.Generator().manual_seed(seed)
        angle = 2 * math.pi * torch.rand(1, size, generator=generator, dtype=torch.float64)
        return PointClouds.from_tensor(torch.stack([angle.cos(), angle.sin()], dim=2))
