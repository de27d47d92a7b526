"""Steps along the optimal assignment of the particles to ``F(z)``."""

from __future__ import annotations

from dataclasses import dataclass

from ddeq.measures.assignment import assignment, permute
from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Transport"]


@dataclass(frozen=True)
class Transport(Solver):
    """``z_i <- z_i + damping (F(z)_{s(i)} - z_i)``, ``s = argmin sum_i |z_i - F(z)_{s(i)}|^2``.

    A step along the shortest path to ``F(z)`` in 2-Wasserstein space: every particle takes up a
    place in ``F(z)``, not that of its label but one such that the whole moves least. With damping 1
    the next measure is ``F(z)``, as for :class:`ddeq.solvers.Picard`; what differs is the labels,
    which now stay with the place. So ``z`` and its successors can be compared particle by particle:
    the step is zero if and only if ``z = F(z)`` as a measure, and
    ``Anderson(of=Transport())`` is Anderson mixing of measures. The assignment is solved for each
    cloud on the CPU, ``O(N^3)`` at worst: for up to about a thousand particles.

    Attributes:
        damping: In (0, 1]: how far along the path.
    """

    damping: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.damping <= 1.0:
            raise ValueError(f"damping must be in (0, 1], got {self.damping}")

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One step along the path."""
        image = f(z)
        target = permute(image.points, assignment(z, image, power=2))
        points = z.points + self.damping * (target - z.points)
        return Step(image, self.residual(z, image), points, state)
