"""Optimal assignments between the particles of two clouds of one size."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.kernels import distances
from ddeq.measures.weighted import equal_masses

__all__ = ["assignment", "permute"]


def assignment(x: PointClouds, y: PointClouds, power: int = 1) -> Tensor:
    """Rows of ``y`` in the order of ``x``: ``argmin_s sum_i |x_i - y_{s(i)}|^power``, ``(B, N)``.

    Each cloud by itself, exactly. Padding stays where it is, and so does a cloud that is not
    finite.
    """
    from scipy.optimize import linear_sum_assignment

    for clouds in (x, y):
        equal_masses(clouds, "an assignment")
    cost = distances(x.points, y.points).pow(power).cpu().numpy()
    order = np.tile(np.arange(cost.shape[1]), (len(cost), 1))
    for b, mask in enumerate(x.mask.cpu().numpy()):
        rows = np.flatnonzero(mask)
        own = cost[b][np.ix_(rows, rows)]
        if np.isfinite(own).all():
            order[b, rows] = rows[linear_sum_assignment(own)[1]]
    return torch.as_tensor(order, device=x.points.device)


def permute(points: Tensor, order: Tensor) -> Tensor:
    """Rows of each cloud in the given order, ``(B, N, p), (B, N) -> (B, N, p)``."""
    return points.gather(1, order[..., None].expand_as(points))
