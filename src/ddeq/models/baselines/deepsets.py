"""Deep Sets (Zaheer et al., 2017): layers that see the rest of the set only by its maximum."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines.base import BaselineClassifier
from ddeq.models.baselines.layers import max_pool

__all__ = ["DeepSets"]


class DeepSets(BaselineClassifier):
    """Three equivariant layers ``h_i <- tanh(A h_i - B max_j h_j + a)``, a maximum, a head.

    The network of the paper's experiments with point clouds.

    Args:
        dim: See :class:`~ddeq.models.baselines.base.BaselineClassifier`; likewise
        num_classes: ``C``,
        dropout: before each layer of the head,
        proportions: and
        classes: the names.
        width: Features of a point.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> DeepSets(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "deepsets"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        dropout: float = 0.5,
        proportions: bool = False,
        classes: list[str] | None = None,
        width: int = 256,
    ) -> None:
        super().__init__(
            dim, num_classes, dropout=dropout, proportions=proportions, classes=classes
        )
        sizes = (dim, width, width)
        self.point = nn.ModuleList(nn.Linear(size, width) for size in sizes)
        self.rest = nn.ModuleList(nn.Linear(size, width, bias=False) for size in sizes)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, num_classes)
        self.eval()

    def logits(self, x: PointClouds) -> Tensor:
        h = x.points[x.mask]
        for point, rest in zip(self.point, self.rest, strict=True):
            most = rest(max_pool(h, x.mask)).repeat_interleave(x.lengths, 0)
            h = torch.tanh(point(h) - most)
        pooled = self.dropout(max_pool(h, x.mask))
        return self.out(self.dropout(torch.tanh(self.hidden(pooled))))

    def options(self) -> dict[str, Any]:
        return {"width": self.out.in_features}
