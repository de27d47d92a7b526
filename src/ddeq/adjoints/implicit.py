"""The implicit gradient: exact at an exact fixed point, by a linear solve."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.adjoints.base import Adjoint
from ddeq.adjoints.gmres import gmres
from ddeq.measures.assignment import assignment, permute
from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map
from ddeq.solvers.solution import Solution

__all__ = ["ImplicitGradient"]


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
        order = assignment(z, image.detach())
        with torch.enable_grad():
            points = z.points.clone().requires_grad_()
            ordered = permute(f(PointClouds(points, z.mask)).points, order)

        def operator(u: Tensor) -> Tensor:
            (back,) = torch.autograd.grad(ordered, points, u.view_as(points), retain_graph=True)
            return u - back.flatten(1)

        right = permute(gradient * z.mask[..., None], order).flatten(1)
        u = gmres(operator, right, self.max_steps, self.tol).view_as(gradient)
        return permute(u, order.argsort(1))
