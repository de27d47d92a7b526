"""PointNet (Qi et al., 2017): shared layers over points, then a maximum over the cloud."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines.base import BaselineClassifier
from ddeq.models.baselines.layers import max_pool, shared_mlp

__all__ = ["PointNet"]

_POINTS = (64, 64, 64, 128, 1024)
_TRANSFORM = (64, 128, 1024)
_HEAD = (512, 256)


class PointNet(BaselineClassifier):
    """``logits = head(max_i phi(A x_i))`` with ``A = I + tnet(X)``, a ``(d, d)`` matrix per cloud.

    The paper's baseline of 1.6 million parameters: with the T-net of the input, without the one
    of the features (which would make it 3.5 million). Batch norm sees real points only.

    Args:
        dim: See :class:`~ddeq.models.baselines.base.BaselineClassifier`; likewise
        num_classes: ``C``,
        dropout: before the last layer,
        proportions: and
        classes: the names.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> PointNet(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "pointnet"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        dropout: float = 0.3,
        proportions: bool = False,
        classes: list[str] | None = None,
    ) -> None:
        super().__init__(
            dim, num_classes, dropout=dropout, proportions=proportions, classes=classes
        )
        self.transform_points = shared_mlp((dim, *_TRANSFORM), norm=True)
        self.transform = shared_mlp((_TRANSFORM[-1], *_HEAD), norm=True)
        self.transform_out = nn.Linear(_HEAD[-1], dim * dim)
        nn.init.zeros_(self.transform_out.weight)  # A = I at first
        nn.init.zeros_(self.transform_out.bias)
        self.points = shared_mlp((dim, *_POINTS), norm=True)
        self.head = shared_mlp((_POINTS[-1], *_HEAD), norm=True)
        self.out = nn.Linear(_HEAD[-1], num_classes)
        self.eval()

    def logits(self, x: PointClouds) -> Tensor:
        turned = torch.bmm(x.points, self.matrices(x))
        pooled = max_pool(self.points(turned[x.mask]), x.mask)
        return self.out(self.dropout(self.head(pooled)))

    def matrices(self, x: PointClouds) -> Tensor:
        """``I + tnet(X)`` of each cloud, ``(B, d, d)``."""
        pooled = max_pool(self.transform_points(x.points[x.mask]), x.mask)
        change = self.transform_out(self.transform(pooled))
        eye = torch.eye(self.dim, dtype=change.dtype, device=change.device)
        return eye + change.unflatten(1, (self.dim, self.dim))
