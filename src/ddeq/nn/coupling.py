"""The invertible lift of low-dimensional points to latent particles."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.errors import DdeqError
from ddeq.nn.layers import MLP

__all__ = ["Coupling"]


class Coupling(nn.Module):
    """``q([a, b]) = [a, b + psi(a)]``, ``q^-1([a, b]) = [a, b - psi(a)]``.

    The paper also scales ``b`` by ``e^{phi(a)}``. Points are padded with zeros, so ``b = 0`` on the
    way in, and new points are read from ``a``: the factor would never act, and is left out.

    Args:
        features: ``p``, even; ``a`` and ``b`` are the two halves.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        if features % 2:
            raise DdeqError(f"a coupling layer halves its features, got {features}")
        self.features = features
        self.psi = MLP(features // 2, features // 2, features // 2)

    def forward(self, z: Tensor) -> Tensor:
        """``q``, ``(..., p) -> (..., p)``."""
        a, b = z.chunk(2, dim=-1)
        return torch.cat([a, b + self.psi(a)], dim=-1)

    def inverse(self, z: Tensor) -> Tensor:
        """``q^-1``, ``(..., p) -> (..., p)``."""
        a, b = z.chunk(2, dim=-1)
        return torch.cat([a, b - self.psi(a)], dim=-1)

    def lift(self, x: Tensor) -> Tensor:
        """Pads points with zeros to ``p`` features and applies ``q``, ``(..., d) -> (..., p)``."""
        return self(F.pad(x, (0, self.features - x.shape[-1])))
