"""The fixed point of any map as a differentiable layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from torch import Tensor

from ddeq.adjoints import Adjoint, ImplicitGradient
from ddeq.measures.clouds import PointClouds
from ddeq.solvers import Anderson, Solver
from ddeq.solvers.base import Map, Selectable

__all__ = ["equilibrium"]


@overload
def equilibrium(
    f: Callable[[PointClouds], PointClouds],
    z0: PointClouds,
    solver: Solver | None = None,
    adjoint: Adjoint | None = None,
) -> PointClouds: ...


@overload
def equilibrium(
    f: Callable[[Tensor], Tensor],
    z0: Tensor,
    solver: Solver | None = None,
    adjoint: Adjoint | None = None,
) -> Tensor: ...


def equilibrium(
    f: Callable[..., PointClouds] | Callable[..., Tensor],
    z0: PointClouds | Tensor,
    solver: Solver | None = None,
    adjoint: Adjoint | None = None,
) -> PointClouds | Tensor:
    """The fixed point ``z* = F(z*)``, differentiable in everything that ``f`` depends on.

    A loss ``l(z*)`` has the gradient ``dl/dtheta = u^T dF/dtheta`` with ``u = J^T u + dl/dz*`` and
    ``J = dF/dz`` at ``z*``. The solve keeps no graph: memory does not grow with its steps.

    Args:
        f: Maps ``B`` clouds to ``B`` clouds of the same sizes, as :class:`ddeq.PointClouds` or as
            plain tensors ``(B, N, d)``.
        z0: Where to start, of the type that ``f`` takes. It gets no gradient.
        solver: Finds ``z*``; :class:`ddeq.solvers.Anderson` by default.
        adjoint: Forms the gradient; :class:`ddeq.ImplicitGradient`, which is exact, by default.

    Returns:
        ``F(z*)``, of the type of ``z0``.

    Example:
        The fixed point of ``z -> z / 2 + b`` is ``2 b``, and its derivative in ``b`` is 2.

        >>> import torch
        >>> b = torch.ones(1, 3, 2, requires_grad=True)
        >>> z = equilibrium(lambda z: z / 2 + b, torch.zeros(1, 3, 2))
        >>> z.sum().backward()
        >>> z[0, 0].tolist(), b.grad[0, 0].round(decimals=4).tolist()
        ([2.0, 2.0], [2.0, 2.0])
    """
    if isinstance(z0, Tensor):
        if z0.dim() != 3 or not z0.is_floating_point():
            raise ValueError(f"z0 must be floating (B, N, d), got {z0.dtype} {tuple(z0.shape)}")
        clouds = equilibrium(_on_clouds(f), PointClouds.from_tensor(z0), solver, adjoint)
        return clouds.points
    solver = Anderson(max_steps=200, tol=1e-10) if solver is None else solver
    adjoint = ImplicitGradient() if adjoint is None else adjoint
    checked: Map = f if isinstance(f, Selectable) else _checked(f)
    return adjoint(checked, solver.solve(checked, z0.detach()))


def _on_clouds(f: Callable[..., object]) -> Callable[[PointClouds], PointClouds]:
    """A map of tensors ``(B, N, d)`` as one of clouds without padding."""

    def on_clouds(z: PointClouds) -> PointClouds:
        image = f(z.points)
        if not isinstance(image, Tensor):
            raise TypeError(f"f must return a tensor, as z0 is one, got {type(image).__name__}")
        if image.shape != z.points.shape:
            shapes = f"{tuple(z.points.shape)} to {tuple(image.shape)}"
            raise ValueError(f"f must keep the shape of its input, it maps {shapes}")
        return z.with_points(image)

    return on_clouds


def _checked(f: Callable[..., object]) -> Callable[[PointClouds], PointClouds]:
    """The map, with a clear error where it does not keep the sizes of its clouds."""

    def checked(z: PointClouds) -> PointClouds:
        image = f(z)
        if not isinstance(image, PointClouds):
            raise TypeError(f"f must return PointClouds, as z0 is, got {type(image).__name__}")
        if image.points.shape != z.points.shape or not bool((image.mask == z.mask).all()):
            raise ValueError("f must keep the number and the dimension of the points of its clouds")
        return image

    return checked
