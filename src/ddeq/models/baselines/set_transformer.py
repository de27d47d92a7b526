"""Set Transformer (Lee et al., 2019): attention by way of a few inducing points."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines.base import BaselineClassifier

__all__ = ["SetTransformer"]


class Attention(nn.Module):
    """``MAB(X, Y) = H + ff(H)``, ``H = X + attention(X, Y)``, layer norm after each.

    Args:
        width: Features.
        heads: A divisor of ``width``.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(B, n, c), (B, m, c) -> (B, n, c)``; ``mask (B, m)`` is True at real rows of ``y``."""
        query = self._split(self.query(x))
        key, value = (self._split(part) for part in self.key_value(y).chunk(2, -1))
        allowed = None if mask is None else mask[:, None, None]
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        h = self.first(x + self.out(seen.transpose(1, 2).flatten(2)))
        return self.second(h + self.feed(h))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class SetTransformer(BaselineClassifier):
    """Two induced self-attention blocks, then attention of one seed to the cloud, and a head.

    An induced block ``ISAB(X) = MAB(X, MAB(I, X))`` has learned points ``I``: its cost grows with
    the number of points and not with its square.

    Args:
        dim: See :class:`~ddeq.models.baselines.base.BaselineClassifier`; likewise
        num_classes: ``C``,
        dropout: before the last layer,
        proportions: and
        classes: the names.
        width: Features of a point.
        heads: Of each attention.
        inducing: Inducing points of each block.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> SetTransformer(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "set-transformer"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        dropout: float = 0.1,
        proportions: bool = False,
        classes: list[str] | None = None,
        width: int = 128,
        heads: int = 4,
        inducing: int = 32,
    ) -> None:
        super().__init__(
            dim, num_classes, dropout=dropout, proportions=proportions, classes=classes
        )
        if width % heads:
            raise ValueError(f"{heads} heads do not divide {width} features")
        self.heads, self.inducing = heads, inducing
        self.inputs = nn.Linear(dim, width)
        self.points = nn.ParameterList(
            nn.init.xavier_uniform_(torch.empty(inducing, width)) for _ in range(2)
        )
        self.gathers = nn.ModuleList(Attention(width, heads) for _ in range(2))
        self.spreads = nn.ModuleList(Attention(width, heads) for _ in range(2))
        self.seed = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.pool = Attention(width, heads)
        self.out = nn.Linear(width, num_classes)
        self.eval()

    def logits(self, x: PointClouds) -> Tensor:
        h = self.inputs(x.points)
        blocks = zip(self.points, self.gathers, self.spreads, strict=True)
        for points, gather_, spread in blocks:
            summary = gather_(points.expand(len(x), -1, -1), h, x.mask)
            h = spread(h, summary)
        pooled = self.pool(self.seed.expand(len(x), -1, -1), h, x.mask)[:, 0]
        return self.out(self.dropout(pooled))

    def options(self) -> dict[str, Any]:
        return {"width": self.out.in_features, "heads": self.heads, "inducing": self.inducing}
