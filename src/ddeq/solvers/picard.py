"""Picard iteration, the plainest solver of a classical equilibrium model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Picard"]


@dataclass(frozen=True)
class Picard(Solver):
    """``z <- z + damping (F(z) - z) + momentum (z - z_before) + noise e``, ``e`` standard normal.

    Plain by default: ``z <- F(z)``. Particle ``i`` follows particle ``i`` of ``F(z)``: matches
    particles by label, not as a measure, so on completion it can converge with all particles in one
    place.

    Where ``F`` is linear with eigenvalue ``l``, an error shrinks by ``|1 - damping (1 - l)|`` per
    step: damping below 1 helps where ``l`` is near -1 or complex, momentum (Polyak's heavy ball)
    where it is near 1. Damping 0.95 with noise 0.01 is the iteration of EqR (arXiv 2605.21488):
    noise leaves fixed points that do not attract, and ends as a floor below which the residual
    cannot fall.

    Attributes:
        damping: In (0, 1]; 1 is the plain iteration.
        momentum: In [0, 1).
        noise: Standard deviation of what is added in each step.
        seed: Of the noise, which is the same for a cloud wherever it stands in a batch.
    """

    damping: float = 1.0
    momentum: float = 0.0
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.damping <= 1.0:
            raise ValueError(f"damping must be in (0, 1], got {self.damping}")
        if not 0.0 <= self.momentum < 1.0:
            raise ValueError(f"momentum must be in [0, 1), got {self.momentum}")
        if not self.noise >= 0:
            raise ValueError(f"noise must not be negative, got {self.noise}")

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        return {"before": z.points} if self.momentum else {}

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One application of ``F``."""
        image = f(z)
        points = image.points
        if self.damping < 1.0:
            points = z.points + self.damping * (image.points - z.points)
        if self.momentum:
            points = points + self.momentum * (z.points - state["before"])
            state = {"before": z.points}
        if self.noise:
            points = points + self.noise * self._draw(points, k)
        return Step(image, self.residual(z, image), points, state)

    def _draw(self, like: Tensor, k: int) -> Tensor:
        """Standard normal numbers of step ``k``, one draw for all clouds, ``(N, p)``."""
        rng = np.random.default_rng([self.seed, k])
        return torch.as_tensor(rng.standard_normal(tuple(like.shape[1:]))).to(like)
