"""PointNet (Qi et al., 2017): shared layers over points, then a maximum over the cloud."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines.layers import max_pool, shared_mlp
from ddeq.models.pretrained import Pretrained

__all__ = ["PointNet"]

_POINTS = (64, 64, 64, 128, 1024)
_TRANSFORM = (64, 128, 1024)
_HEAD = (512, 256)


class PointNet(Pretrained, nn.Module):
    """``logits = head(max_i phi(A x_i))`` with ``A = I + tnet(X)``, a ``(d, d)`` matrix a cloud.

    The paper's baseline of 1.6 million parameters: with the T-net of the input, without the one
    of the features (which would make it 3.5 million). Batch norm sees real points only; in
    evaluation mode a cloud's logits do not depend on its batch. Made in evaluation mode; training
    needs two clouds a batch, for the batch norm of the head.

    Args:
        dim: ``d``, dimension of the points.
        num_classes: ``C``.
        dropout: Rate before the last layer.
        proportions: Bring clouds to unit variance by one scale for all coordinates, as our
            classifiers do; otherwise coordinate by coordinate, as in the paper.
        classes: Names of the classes, for people.

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
        super().__init__()
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        if classes is not None and len(classes) != num_classes:
            raise ValueError(f"{len(classes)} names for {num_classes} classes")
        self.dim, self.proportions = dim, proportions
        self.classes = classes or [str(label) for label in range(num_classes)]
        self.transform_points = shared_mlp((dim, *_TRANSFORM), norm=True)
        self.transform = shared_mlp((_TRANSFORM[-1], *_HEAD), norm=True)
        self.transform_out = nn.Linear(_HEAD[-1], dim * dim)
        nn.init.zeros_(self.transform_out.weight)  # A = I at first
        nn.init.zeros_(self.transform_out.bias)
        self.points = shared_mlp((dim, *_POINTS), norm=True)
        self.head = shared_mlp((_POINTS[-1], *_HEAD), norm=True)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(_HEAD[-1], num_classes)
        self.eval()

    def forward(self, x: PointClouds) -> Tensor:
        """Logits, ``(B, C)``. Clouds in any units: they are normalised first."""
        if x.dim != self.dim:
            raise ValueError(f"the network takes clouds of dimension {self.dim}, got {x.dim}")
        x = x.normalize(self.proportions)[0].to(self.out.weight.dtype)
        turned = torch.bmm(x.points, self.matrices(x))
        pooled = max_pool(self.points(turned[x.mask]), x.mask)
        return self.out(self.dropout(self.head(pooled)))

    def matrices(self, x: PointClouds) -> Tensor:
        """``I + tnet(X)`` of each cloud, ``(B, d, d)``."""
        pooled = max_pool(self.transform_points(x.points[x.mask]), x.mask)
        change = self.transform_out(self.transform(pooled))
        eye = torch.eye(self.dim, dtype=change.dtype, device=change.device)
        return eye + change.unflatten(1, (self.dim, self.dim))

    def config(self) -> dict[str, Any]:
        return {
            "dim": self.dim,
            "num_classes": len(self.classes),
            "dropout": self.dropout.p,
            "proportions": self.proportions,
            "classes": self.classes,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PointNet:
        """A model with fresh weights from what :meth:`config` returned."""
        return cls(**config)
