"""A Wasserstein flow that finds its own step size: distance over gradients."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step
from ddeq.solvers.flow import descent

__all__ = ["TuningFreeFlow"]


@dataclass(frozen=True)
class TuningFreeFlow(Solver):
    """``z <- z - eta_k grad_W G``, ``eta_k = r_k / sqrt(sum_{i <= k} ||grad_W G(z_i)||^2)``.

    ``r_k = max_{i <= k} ||z_i - z_0||`` is the farthest the particles have been from their start.
    Norms are those of ``L^2(z)``, ``||v||^2 = mean_j |v_j|^2``: the first is an upper bound of the
    2-Wasserstein distance to the start, the second the slope of ``G`` along the flow. Subgradient
    descent has its best constant step at ``distance to the solution / sqrt(sum ||g||^2)``; the
    distance is not known, and the farthest yet is an estimate that grows to its size (Ivgi, Hinder
    and Carmon 2023, *DoG is SGD's best friend*, arXiv 2302.12022; there in Euclidean space).

    There is nothing to tune: with the energy distance a cloud in other units takes the same steps
    in those units.

    Attributes:
        first: Length of the first step as a share of how far ``F`` moves the start. Too small costs
            a few steps, in which the length grows.
    """

    first: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.first > 0:
            raise ValueError(f"first must be positive, got {self.first}")

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        zero = z.points.new_zeros(len(z))
        return {"start": z.points, "farthest": zero, "total": zero}

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One step of descent, as long as what is known of the problem allows."""
        image, residual, gradient = descent(self.divergence, f, z)
        if k == 0:
            distance = self.first * _norm(z, image.points - z.points)
        else:
            distance = _norm(z, z.points - state["start"])
        farthest = torch.maximum(distance, state["farthest"])
        total = torch.hypot(state["total"], _norm(z, gradient))
        eta = torch.where(total > 0, farthest / total, 0.0)
        state = {"start": state["start"], "farthest": farthest, "total": total}
        return Step(image, residual, z.points - eta[:, None, None] * gradient, state)


def _norm(z: PointClouds, v: Tensor) -> Tensor:
    """``sqrt(mean_j |v_j|^2)``, ``(B, N, p) -> (B,)``."""
    return (z.weights[..., None].sqrt() * v).flatten(1).norm(dim=1)
