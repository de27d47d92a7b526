"""Anderson mixing, which accelerates the steps of another solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step
from ddeq.solvers.picard import Picard

__all__ = ["Anderson"]


@dataclass(frozen=True)
class Anderson(Solver):
    """``z <- sum_i a_i T(z_i)`` over the last ``window`` iterates, ``T`` the step to accelerate.

    The weights solve ``min || sum_i a_i g_i ||^2 + ridge g^2 ||a||^2`` with ``sum_i a_i = 1``,
    where ``g_i = T(z_i) - z_i`` and ``g^2`` is the mean of ``||g_i||^2``, for each cloud by itself.
    Mixing is equivariant, and finds fixed points of ``T``:

    - ``Anderson()``, ``T = F``, is the classical solver: every particle comes to rest by itself.
    - ``Anderson(of=Transport())`` mixes on an assignment: its fixed points are those of ``F`` as a
      measure, no more and no fewer.
    - ``Anderson(of=Weiszfeld())``: every fixed point of ``F`` as a measure is one of ``T``, but
      ``T`` has others. For ``z = {0, 0}`` and ``F(z) = {-1, 1}`` it stands still at ``MMD^2 = 1``.

    Attributes:
        window: How many iterates are mixed.
        ridge: Tikhonov term, relative to the size of the residuals.
        damping: ``z <- damping sum a_i T(z_i) + (1 - damping) sum a_i z_i``.
        of: The solver whose steps are ``T``; it stops by this solver's rule and divergence.
    """

    window: int = 6
    ridge: float = 1e-5
    damping: float = 1.0
    of: Solver = field(default_factory=Picard)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.damping <= 1.0:
            raise ValueError(f"damping must be in (0, 1], got {self.damping}")
        if not self.ridge >= 0:
            raise ValueError(f"ridge must not be negative, got {self.ridge}")
        if self.window < 2:
            raise ValueError(f"window must be at least 2, got {self.window}")
        object.__setattr__(self, "of", replace(self.of, divergence=self.divergence))

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        flat = z.points.flatten(1)
        past = flat.new_zeros(len(flat), self.window, flat.shape[1])
        return {"z": past, "t": past.clone(), **_named(self.of.init(z))}

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One mixed step."""
        inner = {name[3:]: value for name, value in state.items() if name.startswith("of.")}
        image, residual, target, inner = self.of.step(f, z, inner, k)
        past_z, past_t = state["z"].clone(), state["t"].clone()
        past_z[:, k % self.window] = z.points.flatten(1)
        past_t[:, k % self.window] = (target * z.mask[..., None]).flatten(1)
        count = min(k + 1, self.window)
        gaps = past_t[:, :count] - past_z[:, :count]
        size = gaps.square().sum(2).mean(1).sqrt() + torch.finfo(gaps.dtype).tiny
        weights = mixing_weights(gaps / size[:, None, None], self.ridge)
        mixed_t = torch.einsum("bi,bid->bd", weights, past_t[:, :count])
        mixed_z = torch.einsum("bi,bid->bd", weights, past_z[:, :count])
        points = (mixed_z + self.damping * (mixed_t - mixed_z)).view_as(z.points)
        return Step(image, residual, points, {"z": past_z, "t": past_t, **_named(inner)})


def _named(inner: State) -> State:
    """The state of the accelerated solver beside that of the mixing."""
    return {f"of.{name}": value for name, value in inner.items()}


def mixing_weights(gaps: Tensor, ridge: float) -> Tensor:
    """``argmin_a ||sum_i a_i g_i||^2 + ridge ||a||^2`` with ``sum a = 1``, ``(B, m, D) -> (B, m)``.

    The minimiser is ``H^-1 1 / (1^T H^-1 1)`` with ``H = G G^T + ridge I``.
    """
    gram = gaps @ gaps.transpose(1, 2)
    eye = torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    ones = gram.new_ones(*gram.shape[:2], 1)
    weights = torch.linalg.solve_ex(gram + ridge * eye, ones)[0][..., 0]
    return weights / weights.sum(1, keepdim=True)
