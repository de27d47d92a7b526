"""Maximum mean discrepancy: the energy distance and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences.base import Divergence, check_pair
from ddeq.measures.kernels import Kernel, Riesz, distances, pair_distances

__all__ = ["MMD", "corollary2_gradient", "mean_kernel", "mmd2", "witness"]


@dataclass(frozen=True)
class MMD(Divergence):
    """Squared maximum mean discrepancy, :func:`mmd2`; ``MMD()`` is the energy distance.

    Attributes:
        kernel: Radial kernel, ``-||x - y||`` by default.
    """

    kernel: Kernel = field(default_factory=Riesz)

    def __call__(self, x: PointClouds, y: PointClouds) -> Tensor:
        """``MMD^2(x, y)``, ``(B,)``."""
        return mmd2(x, y, self.kernel)

    @torch.no_grad()
    def evaluate(self, x: PointClouds, y: PointClouds) -> Tensor:
        """``MMD^2(x, y)`` from the distances of all points at once, ``(B,)``."""
        check_pair(x, y)
        return mmd2_of_distances(x, y, *pair_distances(x.points, y.points), kernel=self.kernel)

    def gradient(self, x: PointClouds, y: PointClouds) -> Tensor:
        """``2 grad f`` with the witness ``f`` of ``x`` and ``y``, ``(B, N, d)``.

        The witness is held still while it is differentiated, which leaves out ``y``'s distances to
        itself, and half of the derivative of ``x``'s.
        """
        check_pair(x, y)
        with torch.inference_mode(False), torch.enable_grad():
            mu, nu = x.fresh(), y.fresh()
            points = mu.points.clone().requires_grad_()
            potential = witness(points, mu, nu, self.kernel)
            (gradient,) = torch.autograd.grad(potential[mu.mask].sum(), points)
        return 2.0 * gradient * mu.mask[..., None]


def mmd2(
    x: PointClouds, y: PointClouds, kernel: Kernel | None = None, chunk: int | None = None
) -> Tensor:
    """Squared maximum mean discrepancy, cloud by cloud.

    ``MMD^2(mu, nu) = int int k d(mu - nu) d(mu - nu)``. With the Riesz kernel ``k = -||x - y||``
    this is the energy distance ``2 E|X-Y| - E|X-X'| - E|Y-Y'|``.

    Args:
        x: ``B`` clouds in ``R^d``.
        y: ``B`` clouds in ``R^d``; sizes may differ from those of ``x``.
        kernel: Radial kernel, ``Riesz()`` by default.
        chunk: Rows of the distance matrix held at a time, all by default. With chunks, memory
            grows with ``chunk * M`` instead of ``N * M``, also through the backward pass.

    Returns:
        ``(B,)``.

    Example:
        >>> x = PointClouds.from_list([torch.tensor([[0.0], [1.0]])])
        >>> y = PointClouds.from_list([torch.tensor([[0.0]])])
        >>> mmd2(x, y)
        tensor([0.5000])
    """
    check_pair(x, y)
    kernel = Riesz() if kernel is None else kernel
    return (
        mean_kernel(x, x, kernel, chunk)
        + mean_kernel(y, y, kernel, chunk)
        - 2.0 * mean_kernel(x, y, kernel, chunk)
    )


def mmd2_of_distances(
    x: PointClouds, y: PointClouds, xx: Tensor, xy: Tensor, yy: Tensor, kernel: Kernel
) -> Tensor:
    """``MMD^2`` from ``||x_i - x_j||``, ``||x_i - y_j||`` and ``||y_i - y_j||``, ``(B,)``."""
    w, v = x.weights, y.weights
    return (
        2.0 * torch.einsum("bn,bnm,bm->b", w, -kernel(xy), v)
        - torch.einsum("bn,bnm,bm->b", w, -kernel(xx), w)
        - torch.einsum("bn,bnm,bm->b", v, -kernel(yy), v)
    )


def mean_kernel(x: PointClouds, y: PointClouds, kernel: Kernel, chunk: int | None = None) -> Tensor:
    """``int int k dmu dnu``, the kernel's mean over all pairs, ``(B,)``."""

    def rows(points: Tensor, weights: Tensor) -> Tensor:
        return torch.einsum("bn,bnm,bm->b", weights, kernel(distances(points, y.points)), y.weights)

    if chunk is None or x.points.shape[1] <= chunk:
        return rows(x.points, x.weights)
    parts = zip(x.points.split(chunk, 1), x.weights.split(chunk, 1), strict=True)
    total = x.points.new_zeros(len(x))
    for points, weights in parts:
        total = total + checkpoint(rows, points, weights, use_reentrant=False)
    return total


def witness(points: Tensor, mu: PointClouds, nu: PointClouds, kernel: Kernel) -> Tensor:
    """``f(p) = int k(p, y) dmu(y) - int k(p, y) dnu(y)``, ``(B, N, d) -> (B, N)``."""
    return torch.einsum("bnm,bm->bn", kernel(distances(points, mu.points)), mu.weights) - (
        torch.einsum("bnm,bm->bn", kernel(distances(points, nu.points)), nu.weights)
    )


def corollary2_gradient(
    transport: Callable[[Tensor], Tensor], z: PointClouds, kernel: Kernel | None = None
) -> Tensor:
    """``grad_W G = grad f - grad (f o T)`` for ``G = 1/2 MMD^2(mu, T#mu)``, Corollary 2.

    ``f`` is the witness of ``mu`` and ``T#mu``, held fixed while it is differentiated. Equal to
    :func:`wasserstein_gradient` of ``G`` when ``T`` acts on each particle by itself.

    Args:
        transport: ``T``, pointwise, ``(B, N, p) -> (B, N, p)``.
        z: ``B`` clouds of at most ``N`` particles in ``R^p``.
        kernel: Radial kernel, ``Riesz()`` by default.

    Returns:
        ``(B, N, p)``, zero at padding.
    """
    kernel = Riesz() if kernel is None else kernel
    with torch.inference_mode(False), torch.enable_grad():
        mu = z.fresh()
        points = mu.points.clone().requires_grad_()
        image = transport(points)
        nu = mu.with_points(image.detach())
        difference = witness(points, mu, nu, kernel) - witness(image, mu, nu, kernel)
        (gradient,) = torch.autograd.grad(difference[mu.mask].sum(), points)
    return gradient * mu.mask[..., None]
