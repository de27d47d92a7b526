"""Picard iteration, the plainest solver of a classical equilibrium model."""

from __future__ import annotations

from dataclasses import dataclass

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Picard"]


@dataclass(frozen=True)
class Picard(Solver):
    """``z <- (1 - damping) z + damping F(z)``: particle ``i`` follows particle ``i`` of ``F(z)``.

    Matches particles by label, not as a measure: on completion it can converge with all particles
    in one place.

    Attributes:
        damping: In (0, 1]; 1 is the plain iteration.
    """

    damping: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.damping <= 1.0:
            raise ValueError(f"damping must be in (0, 1], got {self.damping}")

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One damped application of ``F``."""
        image = f(z)
        points = z.points + self.damping * (image.points - z.points)
        return Step(image, self.residual(z, image), points, state)
