"""A user's cloud as an array that can be computed with, or a line that says why it is none."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ddeq.errors import DdeqError
from ddeq.io.formats.base import exact_float

__all__ = ["check_cloud"]

_LARGEST = 1e100  # squares and sums of larger numbers overflow


def check_cloud(points: np.ndarray | Tensor) -> np.ndarray:
    """A cloud ``(N, d)`` as a float32 or float64 array with the same values.

    Raises:
        DdeqError: in one line, if it is no cloud, or not one that can be computed with.
    """
    if np.ma.is_masked(points):
        raise DdeqError("the cloud has masked values: fill them or leave their points out")
    if isinstance(points, Tensor):
        points = points.detach().cpu()
        points = (points.float() if points.dtype == torch.bfloat16 else points).numpy()
    try:
        cloud = exact_float(np.asarray(points))
    except ValueError as error:
        raise DdeqError(f"this is no cloud: {error}") from error
    if cloud.ndim != 2 or 0 in cloud.shape:
        raise DdeqError(f"a cloud must have shape (N, d), got {cloud.shape}")
    if not np.isfinite(cloud).all():
        raise DdeqError("the cloud has NaN or infinite coordinates")
    if not max(-float(cloud.min()), float(cloud.max())) < _LARGEST:
        raise DdeqError(f"the cloud has coordinates above {_LARGEST:g}; choose another unit")
    return cloud
