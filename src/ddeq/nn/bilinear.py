"""The bilinear layer of Proposition 5."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Bilinear"]


class Bilinear(nn.Module):
    """``Z alpha mean(X) + 1_N mean(Z) beta mean(X)``, ``alpha, beta`` in ``R^{h x h x h}``.

    Such sums are the only bilinear maps that are equivariant in ``Z`` and invariant in ``X``. The
    paper writes sums over particles where these are means, so that the layer depends on the
    measures and not on how many particles represent them. That is another network, not a
    rescaling: the two terms would weigh ``M`` and ``N M`` against ``Z`` itself, to which they are
    added.

    Args:
        features: ``h``.
        interaction: With the term in ``beta``, through which particles of ``Z`` see each other.
            Without it the layer is a push-forward.
    """

    def __init__(self, features: int, interaction: bool = True) -> None:
        super().__init__()
        scale = features**-1.0
        self.alpha = nn.Parameter(torch.randn(features, features, features) * scale)
        self.beta = (
            nn.Parameter(torch.randn(features, features, features) * scale) if interaction else None
        )

    def matrices(self, x_mean: Tensor) -> tuple[Tensor, Tensor | None]:
        """``alpha mean(X)`` and ``beta mean(X)``, ``(B, h) -> (B, h, h)`` each; once per solve."""
        alpha = torch.einsum("ijk,bk->bij", self.alpha, x_mean)
        if self.beta is None:
            return alpha, None
        return alpha, torch.einsum("ijk,bk->bij", self.beta, x_mean)

    @staticmethod
    def with_matrices(z: Tensor, z_mean: Tensor, alpha: Tensor, beta: Tensor | None) -> Tensor:
        """The layer, given its matrices, ``(B, N, h), (B, h) -> (B, N, h)``."""
        out = z @ alpha
        return out if beta is None else out + z_mean[:, None] @ beta

    def forward(self, z: Tensor, z_mean: Tensor, x_mean: Tensor) -> Tensor:
        """``(B, N, h), (B, h), (B, h) -> (B, N, h)``."""
        return self.with_matrices(z, z_mean, *self.matrices(x_mean))
