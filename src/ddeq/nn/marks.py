"""Marks: what tells the particles of one cloud apart at every evaluation."""

from __future__ import annotations

from torch import Tensor, nn

from ddeq.nn.layers import MLP

__all__ = ["Marks"]


class Marks(nn.Module):
    """``u_i -> MLP(u_i)``, added to the features of particle ``i`` at every evaluation of ``F``.

    Without marks an equivariant ``F`` with one fixed point has all its particles in one place
    (``sigma z*`` is a fixed point with ``z*`` for every permutation ``sigma``), so spread
    equilibria cannot be attracting. With them ``F`` is equivariant in the pairs ``(z_i, u_i)``, a
    measure on ``R^p x U`` whose second marginal is fixed: contraction and spread go together.

    The last layer is zero at the start, so a network begins as it is without marks.

    Args:
        dim: Numbers that a mark has.
        features: ``p``.
    """

    def __init__(self, dim: int, features: int) -> None:
        super().__init__()
        self.mlp = MLP(dim, features, features)
        nn.init.zeros_(self.mlp.outer.weight)
        nn.init.zeros_(self.mlp.outer.bias)

    def forward(self, u: Tensor) -> Tensor:
        """``(B, N, dim) -> (B, N, p)``."""
        return self.mlp(u)
