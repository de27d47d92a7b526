"""The pieces of the equilibrium network that act on one cloud."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.nn.nearness import Nearness

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
        head_size: Features per head; the paper's 4 gives 32 heads at ``p = 128``.
        near: Heads see distances in space; see :class:`ddeq.nn.Nearness`. Then the places of
            sources and targets must be given.
    """

    def __init__(self, features: int, head_size: int, near: bool = False) -> None:
        super().__init__()
        if features % head_size:
            raise ValueError(f"head_size {head_size} does not divide {features} features")
        self.head_size = head_size
        self.query = nn.Linear(features, features)
        self.key_value = nn.Linear(features, 2 * features)
        self.out = nn.Linear(features, features)
        self.nearness = Nearness(features // head_size) if near else None

    def keys_values(self, source: Tensor, places: Tensor | None = None) -> KeysValues:
        """Keys and values of a source ``(B, M, p)`` at places ``(B, M, d)``.

        Each ``(B, heads, M, head_size)``; with nearness they have ``d + 1`` more features.
        """
        key, value = (self._split(part) for part in self.key_value(source).chunk(2, dim=-1))
        if self.nearness is not None:
            assert places is not None
            key = torch.cat([key, self.nearness.keys(places)], -1)
            value = F.pad(value, (0, places.shape[-1] + 1))  # fused attention wants one width
        return key, value

    def forward(
        self,
        target: Tensor,
        source: KeysValues,
        mask: Tensor | None,
        places: Tensor | None = None,
    ) -> Tensor:
        """Attends from ``target`` to a source.

        Args:
            target: ``(B, N, p)``.
            source: Keys and values of ``M`` points.
            mask: 0 at points, ``-inf`` at padding, ``(B, 1, 1, M)``; only keys are masked, so
                no row of the result is undefined. None for a source without padding.
            places: Where the targets lie in space, ``(B, N, d)``.

        Returns:
            ``(B, N, p)``.
        """
        query = self._split(self.query(target))
        if self.nearness is not None:
            assert places is not None
            query = torch.cat([query, self.head_size**0.5 * self.nearness.queries(places)], -1)
        heads = _attend(query, *source, mask, self.head_size**-0.5)
        return self.out(heads[..., : self.head_size].transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """``softmax(scale query key^T + mask) value``.

    On a CPU fused attention in bfloat16 is twice as slow as two products.
    """
    if query.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        logits = (query @ key.transpose(-1, -2)).float() * scale
        return (logits if mask is None else logits + mask).softmax(-1) @ value
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


class EncoderLayer(nn.Module):
    """Attention, Add & Norm, feed-forward of ``expansion`` times the width, Add & Norm.

    Args:
        features: ``p``.
        head_size: See :class:`Attention`.
        expansion: Hidden features of the feed-forward layer over ``p``; 4 in the paper.
        near: See :class:`Attention`.
    """

    def __init__(
        self, features: int, head_size: int, expansion: int = 4, near: bool = False
    ) -> None:
        super().__init__()
        self.attention = Attention(features, head_size, near)
        self.norm_attention = nn.LayerNorm(features)
        self.mlp = MLP(features, expansion * features, features)
        self.norm_mlp = nn.LayerNorm(features)

    def forward(
        self,
        x: Tensor,
        source: KeysValues,
        mask: Tensor | None,
        drop: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """``(B, N, p) -> (B, N, p)``; see :meth:`Attention.forward`, :meth:`MLP.forward`."""
        x = self.norm_attention(x + self.attention(x, source, mask, places))
        return self.norm_mlp(x + self.mlp(x, drop))
