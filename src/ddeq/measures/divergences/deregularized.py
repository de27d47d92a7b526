"""The deregularised MMD: between the squared MMD and the chi-squared divergence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences.base import Divergence, check_pair
from ddeq.measures.kernels import Gaussian, Kernel, Riesz, distances

__all__ = ["DrMMD"]


@dataclass(frozen=True)
class DrMMD(Divergence):
    """``(1 + r) <D, (T + r)^-1 D>`` with ``D = m_x - m_y``, the difference of mean embeddings.

    ``T = int k(p, .) (x) k(p, .) dy(p)`` is the covariance operator of ``y`` and ``r`` the
    regularisation. For ``r -> inf`` this is ``MMD^2``, for ``r -> 0`` the chi-squared divergence of
    ``x`` from ``y``, whose Wasserstein flow comes down exponentially fast where that of an MMD can
    come to rest on the way (Chen et al. 2025, *(De)-regularized maximum mean discrepancy gradient
    flow*, JMLR 26). By the Woodbury identity it needs the kernel at the points only::

        (1 + r) / r (MMD^2(x, y) - d^T (V^1/2 K V^1/2 + r I)^-1 d)

    with the kernel matrix ``K`` of ``y``, its weights ``V``, and the witness at the points of
    ``y``, ``d = V^1/2 (m_x - m_y)(y)``. One linear solve of the size of ``y`` per pair. Points of
    ``x`` farther than a few bandwidths from all of ``y`` feel no force: choose the bandwidth of the
    order of what is to be travelled.

    Attributes:
        kernel: Positive definite, the Gaussian by default; a Riesz kernel is not.
        regularization: ``r``.
    """

    symmetric: ClassVar[bool] = False

    kernel: Kernel = field(default_factory=Gaussian)
    regularization: float = 0.1

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Riesz):
            raise ValueError("the kernel must be positive definite, a Riesz kernel is not")
        if not self.regularization > 0:
            raise ValueError(f"regularization must be positive, got {self.regularization}")

    def __call__(self, x: PointClouds, y: PointClouds) -> Tensor:
        """``DrMMD(x, y)``, ``(B,)``; ``y`` is the target."""
        check_pair(x, y)
        w, v = x.weights, y.weights
        xx, xy, yy = (self.kernel(distances(a.points, b.points)) for a, b in _pairs(x, y))
        at_x = torch.einsum("bnk,bk->bn", xx, w) - torch.einsum("bnm,bm->bn", xy, v)
        at_y = torch.einsum("bnm,bn->bm", xy, w) - torch.einsum("bmk,bk->bm", yy, v)
        mmd2 = (w * at_x).sum(1) - (v * at_y).sum(1)
        root = v.sqrt()
        eye = torch.eye(yy.shape[1], dtype=yy.dtype, device=yy.device)
        covariance = root[:, :, None] * yy * root[:, None, :] + self.regularization * eye
        d = root * at_y
        solved = torch.linalg.solve_ex(covariance, d[..., None])[0][..., 0]
        return self._factor * (mmd2 - (d * solved).sum(1))

    def rounding(self, z: PointClouds) -> Tensor:
        """Of a difference of numbers below 1, ``(B,)``."""
        floor = 4 * torch.finfo(z.points.dtype).eps * self._factor
        return z.points.new_full((len(z),), floor)

    @property
    def _factor(self) -> float:
        return 1.0 + 1.0 / self.regularization


def _pairs(x: PointClouds, y: PointClouds) -> tuple[tuple[PointClouds, PointClouds], ...]:
    return (x, x), (x, y), (y, y)
