"""The pull between two paths to an equilibrium, which makes it the one that attracts all starts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.models import Completer
from ddeq.nn import EquilibriumMap

__all__ = ["pull", "second_path"]

_MOST = 4  # applications of F along the second path


def second_path(
    model: Completer, f: EquilibriumMap, x: PointClouds, z: PointClouds, rng: np.random.Generator
) -> PointClouds:
    """The end of a path of plain applications of ``F``, attached by the last of them.

    Args:
        model: The model.
        f: ``F(., X)`` with the marks of the first path.
        x: The clouds.
        z: The end of the first path.
        rng: Draws the start, Gaussian with a width of its own for each cloud, and the length.
    """
    noise = rng.standard_normal((*z.points.shape[:2], x.dim))
    noise *= np.exp(rng.normal(0.3, 0.7, (len(z), 1, 1)))
    with torch.no_grad():
        other = model.start(x, z.with_points(torch.from_numpy(noise).to(z.points)))
        fixed = f.detach()
        for _ in range(int(rng.integers(1, _MOST + 1))):
            other = fixed(other)
    return f(other)


def pull(z: PointClouds, end: PointClouds) -> Tensor:
    """``mean_i |z_i - end_i|``, ``(B,)``."""
    gap = (z.points - end.points).square().sum(-1)
    return ((gap + 1e-8).sqrt() * z.weights).sum(1)
