"""Weiszfeld steps: towards ``F(z)`` as a measure, without a step size or a backward pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import MMD
from ddeq.measures.divergences.mmd import mmd2_of_distances
from ddeq.measures.kernels import Riesz, pair_distances
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Weiszfeld"]


@dataclass(frozen=True)
class Weiszfeld(Solver):
    """Majorise and minimise ``1/2 MMD^2(z, y)``, the target ``y = F(z)`` frozen.

    The gradient of the witness at particle ``i`` is attraction by ``y`` and repulsion by ``z``::

        grad f(z_i) = mean_j (z_i - y_j) / |z_i - y_j| - mean_j (z_i - z_j) / |z_i - z_j|
        z_i <- z_i - grad f(z_i) / mean_j (1 / |z_i - y_j|)

    The attraction ``|z_i - y_j|`` is convex and lies under the parabola through the present
    distance; the repulsion ``-|z_i - z_j|`` is concave and lies under its tangent. The step
    minimises the sum of the two upper bounds, so ``MMD^2(z, y)`` falls for every fixed ``y``: no
    step size to choose. One evaluation of ``F``, no derivative. For one particle it is Picard; for
    many, particles are not tied to their labels and repel each other, as the measure asks.

    The steps bring a start from anywhere to the range of ``F`` with its spread, but the nearer they
    are the shorter they get; ``Chain(Weiszfeld(4), Picard(26))`` ends the solve quickly. Where the
    gradient of the witness is zero they stand still, also if the measures differ: coincident
    particles ``{0, 0}`` before the target ``{-1, 1}`` never part.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.divergence != MMD(Riesz()):
            raise ValueError("Weiszfeld steps are made for MMD(Riesz()), the energy distance")

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One step towards ``F(z)`` as a measure."""
        image = f(z)
        return Step(image, *weiszfeld_step(z, image), state)


def weiszfeld_step(z: PointClouds, y: PointClouds) -> tuple[Tensor, Tensor]:
    """``MMD^2(z, y)``, ``(B,)``, and the next particles ``(B, N, p)``, from the same distances."""
    w, v = z.weights, y.weights
    zz, zy, yy = pair_distances(z.points, y.points)
    residual = mmd2_of_distances(z, y, zz, zy, yy, kernel=Riesz())
    # a distance of rounding size stands for coincidence: it pulls with a finite, dominant weight
    pairs = z.mask[:, :, None] & y.mask[:, None, :]
    least = 1e-6 * (zy * pairs).amax((1, 2), keepdim=True) + torch.finfo(zy.dtype).tiny
    pull = v[:, None, :] / torch.maximum(zy, least)
    push = w[:, None, :] / torch.maximum(zz, least)
    push = push.masked_fill(zz <= least, 0.0)
    total = pull.sum(2, keepdim=True)
    moved = pull @ y.points + push.sum(2, keepdim=True) * z.points - push @ z.points
    return residual, moved / total
