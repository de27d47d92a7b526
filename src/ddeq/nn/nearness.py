"""Distance-aware attention: heads that look at what is near, at no extra cost."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Nearness"]

_GAIN = 10.0  # rates are of the size 1 ... 10, the optimiser's steps of the size 1e-3


class Nearness(nn.Module):
    """Adds ``-s |p - x|^2`` to the logits of each head, with a learned rate ``s``.

    Up to ``-s |p|^2``, a constant for each query, it is the dot product of ``[2 s p, -s]`` with
    ``[x, |x|^2]``: ``d + 1`` more features of queries and keys. Rates are 0 at the start, so
    that a network may begin with the weights of one without nearness; see :meth:`spread`.

    Args:
        heads: Number of heads, each with its own rate.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.rate = nn.Parameter(torch.zeros(heads))

    @torch.no_grad()
    def spread(self, most: float = 8.0) -> None:
        """Heads that look near and far from the start: rates 0, then up to ``most`` by factors."""
        count = len(self.rate) - 1
        self.rate[1:] = most / _GAIN * 4.0 ** -torch.arange(count).flip(0).to(self.rate)

    def keys(self, x: Tensor) -> Tensor:
        """``[x, |x|^2]`` for each head, ``(B, M, d) -> (B, heads, M, d + 1)``."""
        key = torch.cat([x, x.square().sum(-1, keepdim=True)], -1)
        return key[:, None].expand(-1, len(self.rate), -1, -1)

    def queries(self, p: Tensor) -> Tensor:
        """``[2 s p, -s]`` for each head, ``(B, N, d) -> (B, heads, N, d + 1)``."""
        query = torch.cat([2.0 * p, -torch.ones_like(p[..., :1])], -1)
        return _GAIN * self.rate[:, None, None] * query[:, None]
