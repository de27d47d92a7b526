"""What results are judged by. Each metric takes clouds and returns one value a cloud, ``(B,)``."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.kernels import distances
from ddeq.measures.weighted import WeightedClouds

__all__ = ["accuracy", "chamfer", "ot_distance", "spread", "wasserstein2"]


def spread(z: PointClouds) -> Tensor:
    """``sqrt(mean_i ||z_i - mean(z)||^2)``: 0 when all particles sit in one place, ``(B,)``."""
    return z.std().square().sum(1).sqrt()


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """1 where the largest logit is the label's, else 0, ``(B, C), (B,) -> (B,)``."""
    return (logits.argmax(1) == labels).to(logits.dtype)


def chamfer(x: PointClouds, y: PointClouds) -> Tensor:
    """``mean_i min_j ||x_i - y_j||^2 + mean_j min_i ||x_i - y_j||^2``, ``(B,)``."""
    squared = distances(x.points, y.points).square()
    to_y = squared.masked_fill(~y.mask[:, None, :], torch.inf).amin(2)
    to_x = squared.masked_fill(~x.mask[:, :, None], torch.inf).amin(1)
    zero = squared.new_zeros(())
    return torch.where(x.mask, to_y * x.weights, zero).sum(1) + (
        torch.where(y.mask, to_x * y.weights, zero).sum(1)
    )


def ot_distance(x: PointClouds, y: PointClouds) -> Tensor:
    """Exact optimal transport cost with Euclidean ground cost, ``W1``, ``(B,)``."""
    return _transport_cost(x, y, power=1)


def wasserstein2(x: PointClouds, y: PointClouds) -> Tensor:
    """Exact 2-Wasserstein distance ``W2 = sqrt(min_pi E ||x - y||^2)``, ``(B,)``."""
    return _transport_cost(x, y, power=2).sqrt()


def _transport_cost(x: PointClouds, y: PointClouds, power: int) -> Tensor:
    """``min_pi E ||x - y||^power`` by network simplex, in float64, ``(B,)``."""
    import ot

    costs = []
    for b, pair in enumerate(zip(x.to_list(), y.to_list(), strict=True)):
        cost = distances(*(cloud.detach().cpu().double() for cloud in pair)).pow(power).numpy()
        masses = [_masses(clouds, b) for clouds in (x, y)]
        costs.append(ot.emd2(*masses, cost, numItermax=1_000_000))
    return torch.tensor(np.array(costs)).to(x.points)


def _masses(clouds: PointClouds, b: int) -> np.ndarray:
    """Masses of the points of one cloud, ``(N,)``, which sum to one in double precision."""
    if not isinstance(clouds, WeightedClouds):
        return np.full(int(clouds.lengths[b]), 1.0 / int(clouds.lengths[b]))
    masses = clouds.weights[b][clouds.mask[b]].detach().cpu().double().numpy()
    return masses / masses.sum()
