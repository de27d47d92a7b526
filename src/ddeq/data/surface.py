"""Distances from the surface that a cloud was sampled from."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

__all__ = ["to_surface"]

_PATCH = 8


def to_surface(points: np.ndarray, sample: cKDTree) -> np.ndarray:
    """Distance of each point to the surface near it, ``(M,)``.

    The surface is the disc (in 2-D the segment) that fits the 8 points of the sample nearest to
    the point: about their mean, across the direction in which they vary least, as wide as they
    lie. The nearest point of the sample is farther away, by the gaps of the sample.

    Args:
        points: ``(M, d)``.
        sample: Points of the surface, ``(N, d)``.

    Example:
        >>> flat = np.column_stack([np.random.default_rng(0).random((99, 2)), np.zeros(99)])
        >>> to_surface(np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]]), cKDTree(flat)).tolist()
        [0.0, 0.25]
    """
    near = sample.data[sample.query(points, k=min(_PATCH, sample.n))[1].reshape(len(points), -1)]
    centre = near.mean(1)
    normal = np.linalg.svd(near - centre[:, None])[2][:, -1]
    offsets = np.concatenate([(points - centre)[:, None], near - centre[:, None]], 1)
    height = np.einsum("mkd,md->mk", offsets, normal)
    aside = np.sqrt(np.maximum(np.square(offsets).sum(-1) - height**2, 0.0))
    beyond = np.maximum(aside[:, 0] - aside[:, 1:].max(1), 0.0)
    return np.hypot(height[:, 0], beyond)
