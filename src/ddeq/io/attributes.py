"""Numbers per point beside the coordinates: colour, normals, intensity, time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

__all__ = ["extend_attributes"]


def extend_attributes(
    attributes: Mapping[str, np.ndarray], points: np.ndarray
) -> dict[str, np.ndarray]:
    """Attributes of the first points of a cloud as those of all of its points.

    A point beyond the length of an attribute, which is a new one, has the value of the nearest of
    the points that have one.

    Args:
        attributes: Values by name, each ``(n,)`` with ``1 <= n <= N``.
        points: ``(N, d)``.

    Returns:
        The values, ``(N,)`` each, in their own types.

    Example:
        >>> cloud = np.array([[0.0, 0.0], [5.0, 5.0], [4.0, 5.0]])
        >>> extend_attributes({"red": np.array([10, 200])}, cloud)["red"].tolist()
        [10, 200, 200]
    """
    full: dict[str, np.ndarray] = {}
    nearest: dict[int, np.ndarray] = {}
    for name, values in attributes.items():
        count = len(values)
        if count < len(points) and count not in nearest:
            from scipy.spatial import cKDTree

            nearest[count] = cKDTree(points[:count]).query(points[count:])[1]
        new = values[nearest[count]] if count in nearest else values[:0]
        full[name] = np.concatenate([values, new])
    return full
