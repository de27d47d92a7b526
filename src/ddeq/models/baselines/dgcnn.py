"""DGCNN (Wang et al., 2019), small: edges to the nearest neighbours in feature space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines.base import BaselineClassifier
from ddeq.models.baselines.graphs import gather, nearest
from ddeq.models.baselines.layers import max_pool, shared_mlp

__all__ = ["DGCNN"]

_SLOPE = 0.2


class EdgeConvolution(nn.Module):
    """``max_j relu(norm(A h_i + B (h_j - h_i)))`` over the nearest neighbours ``j`` of ``i``.

    A leaky ReLU and a norm with a positive scale keep the order of values, so that the maximum is
    taken first and both act on points instead of edges.

    Args:
        inputs: Features of a point before,
        outputs: and after.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.other = nn.Linear(inputs, outputs, bias=False)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, features: Tensor, rows: Tensor, valid: Tensor) -> Tensor:
        """``(T, inputs)``, neighbours ``(T, k)`` twice ``-> (T, outputs)``."""
        other = self.other(features)
        near = gather(other, rows).masked_fill(~valid[..., None], -torch.inf)
        edges = self.own(features) - other + near.amax(1)
        return F.leaky_relu(self.norm(edges), _SLOPE)


class DGCNN(BaselineClassifier):
    """Edge convolutions, their outputs side by side, maximum and mean over the cloud, a head.

    The norm is applied after the maximum over edges, which makes a step several times quicker than
    the original; widths are about half of its.

    Args:
        dim: See :class:`~ddeq.models.baselines.base.BaselineClassifier`; likewise
        num_classes: ``C``,
        dropout: before the last layer,
        proportions: and
        classes: the names.
        widths: Features after each edge convolution.
        neighbours: ``k``, the point among them.
        summary: Features of a cloud, for the maximum and for the mean.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> DGCNN(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "dgcnn"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        dropout: float = 0.5,
        proportions: bool = False,
        classes: list[str] | None = None,
        widths: Sequence[int] = (64, 64, 128),
        neighbours: int = 16,
        summary: int = 512,
    ) -> None:
        super().__init__(
            dim, num_classes, dropout=dropout, proportions=proportions, classes=classes
        )
        self.widths, self.neighbours, self.summary = tuple(widths), neighbours, summary
        self.edges = nn.ModuleList(EdgeConvolution(*pair) for pair in pairwise((dim, *widths)))
        self.last = shared_mlp((sum(widths), summary), norm=True)
        self.head = shared_mlp((2 * summary, 256), norm=True)
        self.out = nn.Linear(256, num_classes)
        self.eval()

    def logits(self, x: PointClouds) -> Tensor:
        features, found = x.points[x.mask], []
        for edge in self.edges:
            padded = features.new_zeros(*x.mask.shape, features.shape[1])
            padded[x.mask] = features.detach()
            cloud = PointClouds(padded, x.mask)
            features = edge(features, *nearest(cloud, cloud, self.neighbours))
            found.append(features)
        last = self.last(torch.cat(found, dim=1))
        mean = last.new_zeros(len(x), self.summary)
        owner = torch.arange(len(x), device=last.device).repeat_interleave(x.lengths)
        mean = mean.index_add(0, owner, last) / x.lengths[:, None]
        pooled = torch.cat([max_pool(last, x.mask), mean], dim=1)
        return self.out(self.dropout(self.head(pooled)))

    def options(self) -> dict[str, Any]:
        widths = {"widths": list(self.widths), "neighbours": self.neighbours}
        return {**widths, "summary": self.summary}
