"""How the gradient of a loss at an equilibrium is formed: phantom or implicit.

Neither depends on how the fixed point was found, and neither keeps a graph of the solve. An adjoint
takes the map and the solver's answer and returns the equilibrium, attached to the parameters; the
value is the same with and without gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ddeq.adjoints.gmres import gmres
from ddeq.measures.clouds import PointClouds
from ddeq.measures.kernels import distances
from ddeq.solvers.base import Map
from ddeq.solvers.solution import Solution

__all__ = ["Adjoint", "ImplicitGradient", "PhantomGradient", "jacobian_penalty"]


class Adjoint(ABC):
    """Attaches an equilibrium to the parameters of its map."""

    @abstractmethod
    def __call__(self, f: Map, solution: Solution) -> PointClouds:
        """The equilibrium, differentiable in what ``f`` depends on."""


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


@dataclass(frozen=True)
class ImplicitGradient(Adjoint):
    """Theorem 3: ``dl/dtheta = u^T dF/dtheta`` with ``u = J^T u + g``, ``J = dF/dz`` at ``z*``.

    The fixed point is one of measures: ``F(z)_i = z_{s(i)}`` for a permutation ``s``, which need
    not be the identity. So ``J`` is that of ``F`` with its particles put back in the order of
    ``z*`` by an optimal assignment. The linear system is solved by GMRES, cloud by cloud, with
    vector-Jacobian products; it does not need ``J`` to be a contraction.

    Attributes:
        max_steps: Largest dimension of the Krylov space.
        tol: Relative residual of the linear system.
    """

    max_steps: int = 50
    tol: float = 1e-6

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {self.max_steps}")
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, got {self.tol}")

    def __call__(self, f: Map, solution: Solution) -> PointClouds:
        if not torch.is_grad_enabled():
            return solution.image
        z = solution.value.detach()
        image = f(z)
        if image.points.requires_grad:
            found = image.detach()  # the hook must not hold the graph that it hangs on
            image.points.register_hook(lambda gradient: self._solve(f, z, found, gradient))
        return image

    def _solve(self, f: Map, z: PointClouds, image: PointClouds, gradient: Tensor) -> Tensor:
        """``u`` with ``(I - J^T) u = g``, in the order of the image's particles, ``(B, N, p)``."""
        order = _assignment(z, image.detach())
        with torch.enable_grad():
            points = z.points.clone().requires_grad_()
            ordered = _permute(f(PointClouds(points, z.mask)).points, order)

        def operator(u: Tensor) -> Tensor:
            (back,) = torch.autograd.grad(ordered, points, u.view_as(points), retain_graph=True)
            return u - back.flatten(1)

        right = _permute(gradient * z.mask[..., None], order).flatten(1)
        u = gmres(operator, right, self.max_steps, self.tol).view_as(gradient)
        return _permute(u, order.argsort(1))


def jacobian_penalty(f: Map, z: PointClouds, seed: int = 0, step: float = 1e-2) -> Tensor:
    """Size of the Jacobian at ``z``: ``E_v ||(F(z + h v) - F(z)) / h||^2 / (N p)``, ``(B,)``.

    ``v`` is standard normal, so this is ``||J||_F^2 / (N p)``, the usual Jacobian regulariser, by a
    forward difference: one more evaluation of ``F`` and no second derivative.
    """
    z = z.detach()
    noise = np.random.default_rng(seed).standard_normal(tuple(z.points.shape[1:]))
    direction = torch.as_tensor(noise).to(z.points).expand_as(z.points) * z.mask[..., None]
    change = f(z.with_points(z.points + step * direction)).points - f(z).points
    return (change / step).square().sum((1, 2)) / (z.lengths * z.dim)


def _assignment(z: PointClouds, image: PointClouds) -> Tensor:
    """Rows of the image in the order of ``z``: the optimal assignment of each cloud, ``(B, N)``."""
    from scipy.optimize import linear_sum_assignment

    cost = distances(z.points, image.points).cpu().numpy()
    order = np.tile(np.arange(cost.shape[1]), (len(cost), 1))
    for b, mask in enumerate(z.mask.cpu().numpy()):
        rows = np.flatnonzero(mask)
        order[b, rows] = rows[linear_sum_assignment(cost[b][np.ix_(rows, rows)])[1]]
    return torch.as_tensor(order, device=z.points.device)


def _permute(points: Tensor, order: Tensor) -> Tensor:
    """Rows of each cloud in the given order, ``(B, N, p), (B, N) -> (B, N, p)``."""
    return points.gather(1, order[..., None].expand_as(points))
