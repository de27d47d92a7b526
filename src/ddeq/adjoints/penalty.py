"""A penalty on the size of the Jacobian at an equilibrium."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.solvers.base import Map

__all__ = ["jacobian_penalty"]


def jacobian_penalty(f: Map, z: PointClouds, seed: int = 0, step: float = 1e-2) -> Tensor:
    """Size of the Jacobian at ``z``: ``E_v ||(F(z + h v) - F(z)) / h||^2 / (N p)``, ``(B,)``.

    ``v`` is standard normal, so this is ``||J||_F^2 / (N p)``, the usual Jacobian regulariser, by a
    forward difference: one more evaluation of ``F`` and no second derivative.
    """
    z = z.detach()
    noise = np.random.default_rng(seed).standard_normal(tuple(z.points.shape[1:]))
    direction = torch.as_tensor(noise).to(z.points).expand_as(z.points) * z.mask[..., None]
    change = f(z.with_points(z.points + step * direction)).points - f(z).points
    return (change / step).square().sum((1, 2)) / (z.lengths * z.dim)
