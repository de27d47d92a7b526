"""Point Transformer (Zhao et al., 2021): vector attention among neighbours, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds, length_mask
from ddeq.models.baselines.base import BaselineClassifier
from ddeq.models.baselines.graphs import gather, nearest
from ddeq.models.baselines.layers import shared_mlp
from ddeq.nn import farthest_points

__all__ = ["PointTransformer"]

_THINNING = 4


class VectorAttention(nn.Module):
    """``f_i + out(sum_j softmax_j(gamma(q_i - k_j + e_ij)) * (v_j + e_ij))`` over neighbours ``j``.

    The softmax is taken for each feature by itself, and ``e_ij = delta(x_i - x_j)``.

    Args:
        dim: ``d``, dimension of the points.
        width: Features ``c``.
    """

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.inputs = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.place = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, width))
        self.weight = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.out = nn.Linear(width, width)

    def forward(self, features: Tensor, offsets: Tensor, rows: Tensor, valid: Tensor) -> Tensor:
        """Features ``(T, c)``; offsets to, rows of and validity of neighbours, ``(T, k, ...)``."""
        h = self.inputs(features)
        place = self.place(offsets)  # (T, k, c)
        logits = self.weight(self.query(h)[:, None] - gather(self.key(h), rows) + place)
        share = logits.masked_fill(~valid[..., None], -torch.inf).softmax(1)
        return features + self.out((share * (gather(self.value(h), rows) + place)).sum(1))


class PointTransformer(BaselineClassifier):
    """Five levels of vector attention; each has a quarter of the points of the one before.

    Points of the next level are the farthest-point sample; each takes the maximum over its
    neighbours in the level below of ``relu(norm(linear(f)))``. The mean over the last level goes
    to the head. There are 2.9 million parameters for 40 classes, where the paper counts 3.5.

    Args:
        dim: See :class:`~ddeq.models.baselines.base.BaselineClassifier`; likewise
        num_classes: ``C``,
        dropout: before the last layer,
        proportions: and
        classes: the names.
        widths: Features of each level.
        neighbours: ``k``.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> PointTransformer(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "point-transformer"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        dropout: float = 0.5,
        proportions: bool = False,
        classes: list[str] | None = None,
        widths: Sequence[int] = (32, 64, 128, 256, 512),
        neighbours: int = 16,
    ) -> None:
        super().__init__(
            dim, num_classes, dropout=dropout, proportions=proportions, classes=classes
        )
        self.widths, self.neighbours = tuple(widths), neighbours
        self.inputs = shared_mlp((dim, widths[0], widths[0]), norm=True)
        self.attentions = nn.ModuleList(VectorAttention(dim, width) for width in widths)
        self.downs = nn.ModuleList(shared_mlp(pair, norm=True) for pair in pairwise(widths))
        self.head = nn.Sequential(nn.Linear(widths[-1], 256), nn.ReLU())
        self.out = nn.Linear(256, num_classes)
        self.eval()

    def logits(self, x: PointClouds) -> Tensor:
        levels = self.levels(x)
        features = self.inputs(x.points[x.mask])
        for level, cloud in enumerate(levels):
            if level:
                below = levels[level - 1]
                rows, valid = nearest(cloud, below, self.neighbours)
                near = gather(self.downs[level - 1](features), rows)
                features = near.masked_fill(~valid[..., None], -torch.inf).amax(1)
            rows, valid = nearest(cloud, cloud, self.neighbours)
            points = cloud.points[cloud.mask]
            offsets = points[:, None] - gather(points, rows)
            features = self.attentions[level](features, offsets, rows, valid)
        last = levels[-1]
        padded = features.new_zeros(*last.mask.shape, features.shape[1])
        padded[last.mask] = features
        pooled = padded.sum(1) / last.lengths[:, None]
        return self.out(self.dropout(self.head(pooled)))

    @torch.no_grad()
    def levels(self, x: PointClouds) -> list[PointClouds]:
        """The clouds of all levels; those after the first are prefixes of one order."""
        counts = (x.lengths + _THINNING - 1) // _THINNING
        order = farthest_points(x, int(counts.max()))
        points = x.points.gather(1, order[..., None].expand(-1, -1, x.dim))
        levels = [x]
        for _ in self.widths[1:]:
            size = int(counts.max())
            levels.append(PointClouds(points[:, :size], length_mask(counts, size)))
            counts = (counts + _THINNING - 1) // _THINNING
        return levels

    def options(self) -> dict[str, Any]:
        return {"widths": list(self.widths), "neighbours": self.neighbours}
