"""The flow of an MMD whose witness is smoothed along the particles: Levenberg-Marquardt steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["SobolevFlow"]

_LEAST, _MOST = 1e-6, 1e3  # bounds of the adapted ridge


@dataclass(frozen=True)
class SobolevFlow(Solver):
    """``z_i <- z_i - grad h(z_i)``, ``h = argmin |h|_H^2 ridge + int |grad h|^2 dz - 2 <h, D>_H``.

    ``D = m_z - m_y`` is the witness of ``z`` and ``y = F(z)``, held still, in the space ``H`` of a
    Gaussian kernel ``k``. With ``T = int sum_a d_a k(p, .) (x) d_a k(p, .) dz(p)`` the smoothed
    witness is ``h = (T + ridge)^-1 D``: the Sobolev-regularised MMD flow (Tian et al. 2026,
    *Sobolev regularized MMD gradient flow*, arXiv 2605.11884; here the gradient is penalised along
    the particles). Along the flow::

        d/dt 1/2 MMD^2(z, y) = -<D, T (T + ridge)^-1 D> = -MMD^2 + ridge <D, (T + ridge)^-1 D>

    so the MMD falls exponentially at a rate that does not depend on the target, as far as ``D``
    lies in the range of ``T``. For particles ``grad h`` is the solution ``v`` of::

        mean_j (d d' k)(z_i, z_j) v_j + ridge v_i = grad D(z_i)

    which are the normal equations of least squares for ``|D|_H^2``: a step is Levenberg and
    Marquardt's, and near a target the last digits come quickly where the kernel tells neighbours
    apart. The ridge is adapted as theirs is: a third of it after a step that lowered the residual,
    four times it after one that did not.
    One evaluation of ``F``, no derivative of it; conjugate gradients need ``iterations`` products
    of cost ``N^2 p``.

    Attributes:
        bandwidth: Of the kernel, in units of the root mean square distance of ``z`` from ``F(z)``.
        ridge: The first one, in units of the kernel's curvature; 0.001 to 1.
        iterations: Of the linear solve in each step.
    """

    bandwidth: float = 1.0
    ridge: float = 1.0
    iterations: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("bandwidth", "ridge", "iterations"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        one = z.points.new_ones(len(z))
        return {"ridge": self.ridge * one, "residual": torch.full_like(one, torch.inf)}

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """One damped least squares step towards ``F(z)``."""
        image = f(z)
        residual = self.residual(z, image)
        ridge = state["ridge"]
        if k > 0:
            better = residual < state["residual"]
            ridge = torch.where(better, ridge / 3, ridge * 4).clamp(_LEAST, _MOST)
        move = velocity(z, image, self.bandwidth, ridge, self.iterations)
        return Step(image, residual, z.points - move, {"ridge": ridge, "residual": residual})


def velocity(
    z: PointClouds, y: PointClouds, bandwidth: float, ridge: Tensor, iterations: int
) -> Tensor:
    """``grad h`` at the particles, ``(B, N, p)``, by conjugate gradients in double precision."""
    w, v = z.weights.double(), y.weights.double()
    centre = z.mean().double()[:, None]
    a = (z.points.double() - centre) * z.mask[..., None]
    b = (y.points.double() - centre) * y.mask[..., None]
    squared = torch.einsum("bn,bm,bnm->b", w, v, torch.cdist(a, b).square())
    unit = bandwidth * squared.sqrt()[:, None, None]
    unit = torch.where(unit > 0, unit, 1.0)  # all in one place: nothing moves
    a, b = a / unit, b / unit
    aa, ab = (torch.exp(-0.5 * torch.cdist(a, c).square()) for c in (a, b))
    pull, push = ab * v[:, None, :], aa * w[:, None, :]
    slope = (pull.sum(2) - push.sum(2))[..., None] * a - pull @ b + push @ a
    slope = slope * z.mask[..., None]
    amount = ridge.double()[:, None, None]

    def normal(u: Tensor) -> Tensor:
        along = a @ u.transpose(1, 2) - (a * u).sum(2)[:, None, :]  # <a_i - a_j, u_j>
        bent = push * along
        moved = push @ u - bent.sum(2, keepdim=True) * a + bent @ a
        return moved * z.mask[..., None] + amount * u

    return (unit * _conjugate_gradients(normal, slope, w[..., None], iterations)).to(z.points.dtype)


def _conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, masses: Tensor, iterations: int
) -> Tensor:
    """``x`` with ``product(x) = right``, cloud by cloud.

    The operator is symmetric and positive in the inner product ``sum_i w_i <a_i, b_i>``.
    """
    x, left, direction = torch.zeros_like(right), right, right
    size = (masses * left.square()).sum((1, 2), keepdim=True)
    for _ in range(iterations):
        turned = product(direction)
        curvature = (masses * direction * turned).sum((1, 2), keepdim=True)
        step = torch.where(curvature > 0, size / curvature, 0.0)
        x, left = x + step * direction, left - step * turned
        after = (masses * left.square()).sum((1, 2), keepdim=True)
        direction = left + torch.where(size > 0, after / size, 0.0) * direction
        size = after
    return x
