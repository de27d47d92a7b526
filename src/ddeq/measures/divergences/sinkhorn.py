"""The Sinkhorn divergence: entropic optimal transport without its bias."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences.base import Divergence, check_pair, extent
from ddeq.measures.kernels import distances

__all__ = ["Sinkhorn"]


@dataclass(frozen=True)
class Sinkhorn(Divergence):
    """``S(x, y) = OT(x, y) - OT(x, x) / 2 - OT(y, y) / 2`` with entropic transport ``OT``.

    The cost is ``c = ||x - y||^2 / 2`` and ``eps = blur^2``. In its dual form ``OT(x, y)`` is the
    mean of two potentials, the fixed point of::

        f(p) = -eps log sum_j exp(log v_j + (g_j - c(p, y_j)) / eps)

    and the same with the roles exchanged. For ``blur -> 0`` the divergence is ``W2^2 / 2``, for
    ``blur -> inf`` half the squared distance of the means; in between it is zero for equal measures
    only (Feydy et al. 2019, *Interpolating between optimal transport and MMD using Sinkhorn
    divergences*). Clouds may have any sizes: padding has weight zero.

    Gradients are those of the costs with the potentials held still, which is exact where the
    potentials have converged; second derivatives are not to be had.

    Attributes:
        blur: Length, in units of the points, below which mass is not told apart.
        scaling: ``eps`` starts at the largest cost of a pair of clouds and falls by ``scaling^2``
            per update until it is ``blur^2``.
        max_updates: Largest number of updates of the potentials after that.
        tol: A pair is done when an update changes its potentials by less than ``tol * eps``.
    """

    blur: float = 0.5
    scaling: float = 0.7
    max_updates: int = 200
    tol: float = 1e-6

    def __post_init__(self) -> None:
        if not self.blur > 0:
            raise ValueError(f"blur must be positive, got {self.blur}")
        if not 0.0 < self.scaling < 1.0:
            raise ValueError(f"scaling must be in (0, 1), got {self.scaling}")
        if self.max_updates < 0:
            raise ValueError(f"max_updates must not be negative, got {self.max_updates}")
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, got {self.tol}")

    def __call__(self, x: PointClouds, y: PointClouds) -> Tensor:
        """``S(x, y)``, ``(B,)``."""
        check_pair(x, y)
        log_w, log_v = _log_weights(x), _log_weights(y)
        still_x, still_y = x.detach(), y.detach()
        with torch.no_grad():
            f, g, own_f, own_g = self._potentials(still_x, still_y, log_w, log_v)
        eps = x.points.new_full((len(x), 1, 1), self.blur**2)
        # one more update carries the gradient: each potential moves with its own points only
        f, own_f, g, own_g = (
            _update(log, potential, _costs(moving, still), eps)
            for log, potential, moving, still in (
                (log_v, g, x, still_y),
                (log_w, own_f, x, still_x),
                (log_w, f, y, still_x),
                (log_v, own_g, y, still_y),
            )
        )
        at_x = torch.where(x.mask, x.weights * (f - own_f), 0.0).sum(1)
        return at_x + torch.where(y.mask, y.weights * (g - own_g), 0.0).sum(1)

    def rounding(self, z: PointClouds) -> Tensor:
        """Of a squared distance, ``(B,)``."""
        return 4 * torch.finfo(z.points.dtype).eps * extent(z).square()

    def _potentials(
        self, x: PointClouds, y: PointClouds, log_w: Tensor, log_v: Tensor
    ) -> list[Tensor]:
        """Potentials of ``(x, y)`` on both sides, of ``(x, x)`` and ``(y, y)``, ``(B, N or M)``.

        Each is the mean of itself and its update: one schedule for all four, so that for equal
        measures they agree at every stage. Each pair of clouds has its own schedule and its own
        stop: it does not see the rest of the batch.
        """
        xy, xx, yy = _costs(x, y), _costs(x, x), _costs(y, y)
        yx = xy.transpose(1, 2)
        eps, last = _largest(x, y, xy, xx, yy).clamp(min=self.blur**2), self.blur**2
        f, g = torch.zeros_like(log_w), torch.zeros_like(log_v)
        now, masks = [f, g, f, g], (x.mask, y.mask, x.mask, y.mask)
        left = torch.full_like(eps, self.max_updates)
        going = torch.ones_like(eps, dtype=torch.bool)
        while going.any():
            f, g, own_f, own_g = now
            tasks = ((log_v, g, xy), (log_w, f, yx), (log_w, own_f, xx), (log_v, own_g, yy))
            new = [_update(log, other, cost, eps) for log, other, cost in tasks]
            step = [torch.where(going[:, 0], b - a, 0.0) / 2 for a, b in zip(now, new, strict=True)]
            now = [a + b for a, b in zip(now, step, strict=True)]
            size = [(b.abs() * mask).amax(1) for b, mask in zip(step, masks, strict=True)]
            still = torch.stack(size).amax(0)[:, None, None] <= self.tol * eps
            going = going & ((eps > last) | ((left > 0) & ~still))
            left = left - (eps <= last).to(left.dtype)
            eps = (eps * self.scaling**2).clamp(min=last)
        return now


def _log_weights(x: PointClouds) -> Tensor:
    """Logarithms of the masses, a very negative number at padding, ``(B, N)``."""
    low = torch.finfo(x.points.dtype).min / 4  # not -inf: a cloud may have no particles at all
    return x.weights.log().masked_fill(~x.mask, low)


def _costs(x: PointClouds, y: PointClouds) -> Tensor:
    """``||x_i - y_j||^2 / 2``, ``(B, N, M)``."""
    return 0.5 * distances(x.points, y.points).square()


def _update(log_weights: Tensor, potential: Tensor, cost: Tensor, eps: Tensor) -> Tensor:
    """The potential on one side from that on the other, ``(B, M), (B, N, M) -> (B, N)``."""
    exponent = log_weights[:, None] + (potential[:, None] - cost) / eps
    return -eps[:, :, 0] * torch.logsumexp(exponent, 2)


def _largest(x: PointClouds, y: PointClouds, xy: Tensor, xx: Tensor, yy: Tensor) -> Tensor:
    """The largest cost between points of two clouds, 0 if it is not finite, ``(B, 1, 1)``."""
    pairs = ((x, y, xy), (x, x, xx), (y, y, yy))
    masked = [cost * (a.mask[:, :, None] & b.mask[:, None, :]) for a, b, cost in pairs]
    largest = torch.stack([cost.amax((1, 2)) for cost in masked]).amax(0)
    return torch.where(largest.isfinite(), largest, 0.0)[:, None, None]
