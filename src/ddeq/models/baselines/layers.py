"""The pieces of the baselines: shared layers over points, and the pooling of a cloud.

Features of points are kept flat, ``(T, f)`` with one row a real point of any cloud of the batch:
padding costs nothing and cannot enter a batch norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["max_pool", "shared_mlp"]


def shared_mlp(sizes: Sequence[int], *, norm: bool, last: bool = True) -> nn.Sequential:
    """``Linear [-> BatchNorm] -> ReLU`` from each size to the next, row by row.

    Args:
        sizes: Features in, of every hidden layer, and out.
        norm: With batch norm.
        last: Whether the last layer is followed by norm and ReLU too.
    """
    layers: list[nn.Module] = []
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        layers.append(nn.Linear(inputs, outputs))
        if last or i < len(sizes) - 2:
            layers += [nn.BatchNorm1d(outputs)] if norm else []
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def max_pool(features: Tensor, mask: Tensor) -> Tensor:
    """Largest value of each feature over the points of each cloud.

    Args:
        features: Those of all points, ``(T, f)``, in the order of ``mask``.
        mask: Where the points stand in the padded batch, ``(B, N)`` with ``T`` times True.

    Returns:
        ``(B, f)``.
    """
    padded = features.new_full((*mask.shape, features.shape[1]), -torch.inf)
    padded[mask] = features
    return padded.amax(1)
