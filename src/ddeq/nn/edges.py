"""Edges: every visible point says whether points are missing beside it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.measures.kernels import distances
from ddeq.nn.layers import MLP

__all__ = ["Edges"]

_BESIDE = 0.3  # where a visible cloud has unit variance
_TOP = 20  # the mean is over the largest logits, one of so many


class Edges(nn.Module):
    """The logit of "points are missing beside me", from the encoded features of a point.

    A label per point teaches what a hole looks like much faster than one label per cloud.

    Args:
        features: ``p``.

    Attributes:
        numbers: Numbers that :meth:`summary` gives.
    """

    numbers = 3

    def __init__(self, features: int) -> None:
        super().__init__()
        self.mlp = MLP(features, features, 1)

    def forward(self, high: Tensor) -> Tensor:
        """``(B, M, p) -> (B, M)``."""
        return self.mlp(high)[..., 0]

    def summary(self, logits: Tensor, x: PointClouds) -> Tensor:
        """Largest logit, mean of the 5 % largest, and share of points at an edge, ``(B, 3)``.

        Args:
            logits: ``(B, M)``.
            x: The points, whose weights are 0 at padding.
        """
        logits = logits.to(x.points.dtype)
        known = logits.masked_fill(~x.mask, -torch.inf).sort(1, descending=True).values
        count = (x.lengths // _TOP).clamp(min=1)[:, None]
        top = torch.arange(logits.shape[1], device=logits.device) < count
        mean = known.masked_fill(~top, 0.0).sum(1, keepdim=True) / count
        share = (logits.sigmoid() * x.weights).sum(1, keepdim=True)
        return torch.cat([known[:, :1] / 4.0, mean / 4.0, 4.0 * share], -1)  # of the size 1 each

    @staticmethod
    def loss(logits: Tensor, x: PointClouds, removed: PointClouds) -> Tensor:
        """Mean cross entropy over the points of each cloud, ``(B,)``.

        Args:
            logits: ``(B, M)``.
            x: The points.
            removed: What was removed from the first ``S <= B`` clouds; the others are whole.
        """
        logits = logits.to(x.points.dtype)
        gaps = distances(x.points[: len(removed)], removed.points)
        beside = (gaps.masked_fill(~removed.mask[:, None], torch.inf) < _BESIDE).any(2)
        truth = torch.zeros_like(logits)
        truth[: len(removed)] = beside.to(logits)
        entropy = F.binary_cross_entropy_with_logits(logits, truth, reduction="none")
        return (entropy * x.weights).sum(1)
