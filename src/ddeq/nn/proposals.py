"""Proposals: every visible point says where, near it or across from it, points are missing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.measures.kernels import distances
from ddeq.nn.layers import MLP

__all__ = ["ProposalMixture", "Proposals", "lexicographic_order", "relative_to", "rows"]

_WIDTH = 0.2  # of a proposal that says nothing about it; they are between 0.03 and 1.5
_STRIDE = 0.2  # how far a feature of unit size moves a particle from its anchor
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)  # its multiples fill [0, 1) evenly, however many are taken


@dataclass(frozen=True, eq=False)
class ProposalMixture:
    """The proposals of the points of ``X``: a mixture that covers the holes.

    Its density is ``sum_k w_k exp(-|y - v_k| / s_k) / s_k^d``, up to a constant.

    Attributes:
        logits: Logarithms of the weights up to a constant, ``-inf`` at padding, ``(B, M K)``.
        places: ``v_k``, ``(B, M K, d)``.
        widths: ``s_k``, ``(B, M K)``.
        features: Encoded points that propose, ``(B, M, p)``, in the order of their proposals.
    """

    logits: Tensor
    places: Tensor
    widths: Tensor
    features: Tensor

    @property
    def weights(self) -> Tensor:
        """``w_k``, which sum to 1, ``(B, M K)``."""
        return self.logits.softmax(-1)

    def negative_log_likelihood(self, wanted: PointClouds) -> Tensor:
        """Mean of ``-log density`` over wanted points, up to a constant, ``(B,)``."""
        gaps = distances(wanted.points, self.places)  # (B, N, M K)
        scores = self.logits.log_softmax(-1) - self.places.shape[-1] * self.widths.log()
        density = torch.logsumexp(scores[:, None] - gaps / self.widths[:, None], -1)
        return -torch.einsum("bn,bn->b", wanted.weights, density)

    def draw(self, u: Tensor) -> Tensor:
        """Indices of ``N`` proposals in proportion to their weights, ``(B, N)``.

        Stratified: particle ``i`` takes the quantile ``frac(Phi(u_00) + i phi)`` of the proposals,
        ``phi`` the golden ratio, so that a larger number of particles begins with a smaller one's.

        Args:
            u: Marks, standard normal, ``(B, N, >= 1)``.
        """
        count = torch.arange(u.shape[1], device=u.device, dtype=u.dtype)
        level = torch.frac(torch.special.ndtr(u[:, :1, 0]) + _GOLDEN * count)  # (B, N)
        edges = self.weights.detach().cumsum(-1)
        index = torch.searchsorted(edges, level.to(edges) * edges[:, -1:], right=True)
        last = (self.logits > -torch.inf).sum(1, keepdim=True) - 1  # padding is at the end
        return torch.minimum(index, last)


class Proposals(nn.Module):
    """``K`` proposals per point, from its encoded features: log weight, offset, log width of each.

    A particle belongs to one proposal: it starts near it, moved by its mark in units of the
    proposal's width, and its place is relative to that anchor; see :func:`relative_to`.

    Args:
        features: ``p``.
        dim: ``d``.
        each: ``K``.
    """

    def __init__(self, features: int, dim: int, each: int) -> None:
        super().__init__()
        self.dim, self.each = dim, each
        self.mlp = MLP(features, features, each * (dim + 2))
        self.jitter = nn.Parameter(torch.tensor(0.3))
        self.mark = nn.Linear(features, features)
        self.place = nn.Linear(dim, features)

    def forward(self, high: Tensor, x: PointClouds) -> ProposalMixture:
        """The proposals of encoded points.

        They are ordered by the coordinates of the points, so that which proposal a particle draws
        does not depend on the order of ``X``.

        Args:
            high: Features, ``(B, M, p)``.
            x: The points.
        """
        order = lexicographic_order(x)
        points, high = rows(x.points, order), rows(high, order)
        sizes = [self.each, self.each * self.dim, self.each]
        logits, offsets, widths = self.mlp(high).to(points.dtype).split(sizes, -1)
        logits = logits.masked_fill(~x.mask.gather(1, order)[..., None], -torch.inf).flatten(1)
        places = points[:, :, None] + offsets.unflatten(-1, (self.each, self.dim))
        widths = _WIDTH * (2.0 * torch.tanh(0.5 * widths)).exp()
        return ProposalMixture(logits, places.flatten(1, 2), widths.flatten(1), high)

    def anchors(self, mixture: ProposalMixture, u: Tensor) -> tuple[Tensor, Tensor]:
        """What particles with marks ``u`` are drawn to.

        Args:
            mixture: From :meth:`forward`.
            u: ``(B, N, >= d)``.

        Returns:
            Places ``(B, N, d)``, and what is added to the particles' features, ``(B, N, p)``.
        """
        index = mixture.draw(u)
        width = mixture.widths.detach().gather(1, index)[..., None]
        place = rows(mixture.places, index) + self.jitter * width * u[..., : self.dim]
        features = rows(mixture.features, index // self.each)
        return place, self.mark(features) + self.place(place)


def relative_to(anchors: Tensor, h: Tensor) -> Tensor:
    """Features whose first ``d`` are places relative to anchors, ``(B, N, d), (B, N, p)``."""
    dim = anchors.shape[-1]
    return torch.cat([anchors + _STRIDE * h[..., :dim], h[..., dim:]], -1)


def rows(values: Tensor, index: Tensor) -> Tensor:
    """Rows of each cloud, ``(B, M, k), (B, N) -> (B, N, k)``."""
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))


def lexicographic_order(x: PointClouds) -> Tensor:
    """The lexicographic order of the points of each cloud, padding last, ``(B, M)``."""
    order = torch.arange(x.points.shape[1], device=x.points.device).expand(x.points.shape[:2])
    keys = [*x.points.detach().unbind(-1)[::-1], (~x.mask).to(torch.int8)]
    for key in keys:  # stable sorts, the most important key last
        order = order.gather(1, key.gather(1, order).argsort(dim=1, stable=True))
    return order
