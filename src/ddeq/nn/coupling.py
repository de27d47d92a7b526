"""The invertible lift of low-dimensional points to latent particles."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.nn.layers import MLP

__all__ = ["Coupling"]


class Coupling(nn.Module):
    """``q([a, b]) = [a, b e^{phi(a)} + psi(a)]``, ``q^-1([a, b]) = [a, (b - psi(a)) e^{-phi(a)}]``.

    Args:
        features: ``p``, even; ``a`` and ``b`` are the two halves.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        if features % 2:
            raise ValueError(f"a coupling layer halves its features, got {features}")
        half = features // 2
        self.phi = MLP(half, half, half)
        self.psi = MLP(half, half, half)

    def forward(self, z: Tensor) -> Tensor:
        """``q``, ``(..., p) -> (..., p)``."""
        a, b = z.chunk(2, dim=-1)
        return torch.cat([a, b * self.phi(a).exp() + self.psi(a)], dim=-1)

    def inverse(self, z: Tensor) -> Tensor:
        """``q^-1``, ``(..., p) -> (..., p)``."""
        a, b = z.chunk(2, dim=-1)
        return torch.cat([a, (b - self.psi(a)) * (-self.phi(a)).exp()], dim=-1)

    def lift(self, x: Tensor) -> Tensor:
        """Pads points with zeros to ``p`` features and applies ``q``, ``(..., d) -> (..., p)``."""
        features = 2 * self.phi.inner.in_features
        return self(F.pad(x, (0, features - x.shape[-1])))
