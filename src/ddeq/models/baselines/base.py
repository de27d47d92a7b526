"""What classifiers that are no equilibria have in common: frame, classes, saving and loading."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from typing_extensions import Self

from ddeq.measures.clouds import PointClouds
from ddeq.models.pretrained import Pretrained

__all__ = ["BaselineClassifier"]


class BaselineClassifier(Pretrained, nn.Module):
    """A network from clouds to logits; a subclass has :meth:`logits` and :meth:`options`.

    In evaluation mode, in which it is made, a cloud's logits do not depend on its batch. Training
    needs two clouds per batch where there is a batch norm.

    Args:
        dim: ``d``, dimension of the points.
        num_classes: ``C``.
        dropout: Rate before the last layer.
        proportions: Bring clouds to unit variance by one scale for all coordinates, as our
            classifiers do; otherwise coordinate by coordinate, as in the paper.
        classes: Names of the classes, for people.
    """

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        dropout: float,
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
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: PointClouds) -> Tensor:
        """Logits, ``(B, C)``. Clouds in any units: they are normalised first."""
        if x.dim != self.dim:
            raise ValueError(f"the network takes clouds of dimension {self.dim}, got {x.dim}")
        x = x.normalize(self.proportions)[0]
        return self.logits(x.to(next(self.parameters()).dtype))

    def logits(self, x: PointClouds) -> Tensor:
        """Logits of normalised clouds, ``(B, C)``."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """Constructor arguments beyond those of the base, as JSON values."""
        return {}

    def config(self) -> dict[str, Any]:
        return {
            "dim": self.dim,
            "num_classes": len(self.classes),
            "dropout": self.dropout.p,
            "proportions": self.proportions,
            "classes": self.classes,
            **self.options(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A model with fresh weights from what :meth:`config` returned."""
        return cls(**config)
