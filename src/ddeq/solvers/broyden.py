"""Broyden's (good) method with limited memory, the solver of the first equilibrium models."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Broyden"]


@dataclass(frozen=True)
class Broyden(Solver):
    """Quasi-Newton on ``g(z) = F(z) - z``: ``z <- z - H g(z)`` with ``H = -I + U V^T``.

    ``H`` starts as the inverse of ``-I``, so the first step is Picard's, and is corrected after
    each step ``dz`` with change ``dg`` by ``u = (dz - H dg) / (v^T dg)``, ``v = H^T dz``, for each
    cloud by itself.

    Attributes:
        window: How many rank-one corrections are kept; the oldest is replaced.
    """

    window: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        flat = z.points.flatten(1)
        low_rank = flat.new_zeros(len(flat), min(self.window, self.max_steps), flat.shape[1])
        return {
            "u": low_rank,
            "v": low_rank.clone(),
            "z": torch.zeros_like(flat),
            "g": torch.zeros_like(flat),
        }

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One quasi-Newton step."""
        image = f(z)
        here = z.points.flatten(1)
        g = (image.points - z.points).flatten(1)
        u, v = state["u"].clone(), state["v"].clone()
        if k > 0:
            dz, dg = here - state["z"], g - state["g"]
            row = _inverse(v, u, dz)  # H^T dz
            scale = (row * dg).sum(1, keepdim=True)
            column = (dz - _inverse(u, v, dg)) / torch.where(scale == 0, torch.inf, scale)
            slot = (k - 1) % u.shape[1]
            u[:, slot], v[:, slot] = column, row
        points = (here - _inverse(u, v, g)).view_as(z.points)
        return Step(
            image, self.residual(z, image), points, {"u": u, "v": v, "z": here.clone(), "g": g}
        )


def _inverse(u: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """``(-I + sum_k u_k v_k^T) x``, ``(B, m, D), (B, m, D), (B, D) -> (B, D)``."""
    return torch.einsum("bmd,bm->bd", u, torch.einsum("bmd,bd->bm", v, x)) - x
