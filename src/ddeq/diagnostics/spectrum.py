"""How fast particles come to rest: the spectral radius of ``dF/dz`` by Arnoldi's method."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ddeq.measures.assignment import assignment, permute
from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map

__all__ = ["spectral_radius"]


def spectral_radius(f: Map, z: PointClouds, steps: int = 40, seed: int = 0) -> Tensor:
    """Largest modulus of an eigenvalue of ``dF/dz`` at ``z``, cloud by cloud, ``(B,)``.

    Below 1, applications of ``F`` converge to the equilibrium near ``z``, and the distance to it
    falls by that factor each time; at 1 and above they drift or run away. Arnoldi's method with
    ``steps`` products ``dF/dz v`` by forward differentiation, for all clouds of a ragged batch at
    once, each with its own Krylov space: the largest Ritz value is a lower estimate that is exact
    once ``steps`` reaches ``N p``.

    Particles of ``F(z)`` are matched with those of ``z`` by optimal assignment first: a fixed point
    of the measure may exchange its particles.

    Args:
        f: The map; no cloud of a batch may depend on another.
        z: Where, ``(B, N, p)``.
        steps: Dimension of the Krylov spaces.
        seed: Of the first directions.

    Example:
        >>> z = PointClouds.from_tensor(torch.randn(2, 5, 3, dtype=torch.float64))
        >>> spectral_radius(lambda z: z.map(lambda p: 0.5 * p + 1), z)
        tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    order = assignment(z, f(z))

    def jacobian(direction: Tensor) -> Tensor:
        tangents = torch.func.jvp(
            lambda points: f(z.with_points(points)).points, (z.points,), (direction,)
        )
        return permute(tangents[1], order) * z.mask[..., None]

    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(z.points.shape, generator=generator).to(z.points) * z.mask[..., None]
    # the fused attention kernels of the CPU have no forward derivative
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        hessenberg = _arnoldi(jacobian, first, min(steps, z.points[0].numel()))
    return torch.linalg.eigvals(hessenberg).abs().amax(1).to(z.points.dtype)


def _arnoldi(product: Callable[[Tensor], Tensor], first: Tensor, steps: int) -> Tensor:
    """The projection of a linear map onto its Krylov space, ``(B, steps, steps)`` in float64."""
    size = len(first)
    basis = first.new_zeros(size, steps + 1, first[0].numel())
    hessenberg = torch.zeros(size, steps + 1, steps, dtype=torch.float64, device=first.device)
    basis[:, 0] = _unit(first.flatten(1))[0]
    for k in range(steps):
        vector = product(basis[:, k].view_as(first)).flatten(1)
        known = basis[:, : k + 1]
        for _ in range(2):  # once more: rounding leaves a part in the space
            parts = torch.einsum("bkd,bd->bk", known, vector)
            vector = vector - torch.einsum("bk,bkd->bd", parts, known)
            hessenberg[:, : k + 1, k] += parts.double()
        basis[:, k + 1], length = _unit(vector)
        hessenberg[:, k + 1, k] = length.double()
    return hessenberg[:, :steps]


def _unit(vector: Tensor) -> tuple[Tensor, Tensor]:
    """A vector of length 1 and its length, both zero where nothing but rounding is left."""
    length = vector.norm(dim=1)
    length = length.masked_fill(length < 100 * torch.finfo(vector.dtype).eps, 0.0)
    known = length > 0
    return vector * (known / length.masked_fill(~known, 1.0))[:, None], length
