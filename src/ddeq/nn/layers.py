"""The pieces of the equilibrium network that act on one cloud."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["MLP", "Attention", "EncoderLayer", "KeysValues"]

KeysValues = tuple[Tensor, Tensor]


class MLP(nn.Module):
    """``x -> W2 (drop * relu(W1 x))``, particle by particle.

    Args:
        inputs: Features in.
        hidden: Features of the hidden layer.
        outputs: Features out.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.inner = nn.Linear(inputs, hidden)
        self.outer = nn.Linear(hidden, outputs)

    def forward(self, x: Tensor, drop: Tensor | None = None) -> Tensor:
        """``(B, N, inputs) -> (B, N, outputs)``; ``drop``: ``(B, 1, hidden)``."""
        hidden = F.relu(self.inner(x))
        return self.outer(hidden if drop is None else hidden * drop)


class Attention(nn.Module):
    """Multi-head attention whose keys and values can be computed once and used many times.

    Args:
        features: ``p``.
        head_size: Features a head; the paper's 4 gives 32 heads at ``p = 128``.
    """

    def __init__(self, features: int, head_size: int) -> None:
        super().__init__()
        if features % head_size:
            raise ValueError(f"head_size {head_size} does not divide {features} features")
        self.head_size = head_size
        self.query = nn.Linear(features, features)
        self.key_value = nn.Linear(features, 2 * features)
        self.out = nn.Linear(features, features)

    def keys_values(self, source: Tensor) -> KeysValues:
        """Keys and values of a source ``(B, M, p)``, each ``(B, heads, M, head_size)``."""
        key, value = self.key_value(source).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def forward(self, target: Tensor, source: KeysValues, mask: Tensor | None) -> Tensor:
        """Attends from ``target`` to a source.

        Args:
            target: ``(B, N, p)``.
            source: Keys and values of ``M`` points.
            mask: 0 at points, ``-inf`` at padding, ``(B, 1, 1, M)``; only keys are masked, so
                no row of the result is undefined. None for a source without padding.

        Returns:
            ``(B, N, p)``.
        """
        heads = F.scaled_dot_product_attention(
            self._split(self.query(target)), *source, attn_mask=mask
        )
        return self.out(heads.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)


class EncoderLayer(nn.Module):
    """Attention, Add & Norm, feed-forward of four times the width, Add & Norm."""

    def __init__(self, features: int, head_size: int) -> None:
        super().__init__()
        self.attention = Attention(features, head_size)
        self.norm_attention = nn.LayerNorm(features)
        self.mlp = MLP(features, 4 * features, features)
        self.norm_mlp = nn.LayerNorm(features)

    def forward(
        self, x: Tensor, source: KeysValues, mask: Tensor | None, drop: Tensor | None = None
    ) -> Tensor:
        """``(B, N, p) -> (B, N, p)``; see :meth:`Attention.forward`, :meth:`MLP.forward`."""
        x = self.norm_attention(x + self.attention(x, source, mask))
        return self.norm_mlp(x + self.mlp(x, drop))
