"""Triangles from polygons, and points sampled evenly from a surface."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from ddeq.io.formats.base import Source

_BLOCK = 1 << 16  # triangles measured at once: bounds the memory spent on corners
_STRAY = "its faces refer to vertices that it does not have"


def fan(polygons: np.ndarray, triangles: np.ndarray) -> None:
    """Cuts polygons into triangles around their first corner.

    Args:
        polygons: (P, k), k corners each.
        triangles: ((k - 2) P, 3), is filled: triangle i of polygon p is row ``i P + p``.
    """
    count, size = polygons.shape
    rows = triangles.reshape(size - 2, count, 3)  # a view: only the first axis is split
    rows[..., 0] = polygons[:, 0]
    rows[..., 1] = polygons[:, 1:-1].T
    rows[..., 2] = polygons[:, 2:].T


class Polygons:
    """Faces of any sizes, collected one by one in little memory."""

    def __init__(self) -> None:
        self._corners, self._sizes = array("q"), array("q")

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, corners: Sequence[int]) -> None:
        """Adds a face; a corner beyond int64 is an OverflowError."""
        self._corners.extend(corners)
        self._sizes.append(len(corners))

    def triangles(self, vertices: int, source: Source) -> np.ndarray:
        """All faces, cut into triangles, (T, 3); see `triangulate`."""
        corners = np.array(self._corners, dtype=np.int64)
        sizes = np.array(self._sizes, dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        groups = (
            corners[starts[sizes == size][:, None] + np.arange(size)]
            for size in np.unique(sizes[sizes > 2]).tolist()
        )
        return triangulate(groups, sizes, vertices, source)


def triangulate(
    groups: Iterable[np.ndarray], sizes: np.ndarray, vertices: int, source: Source
) -> np.ndarray:
    """Groups of polygons as triangles, (T, 3) int32.

    Args:
        groups: The polygons with k corners, (P, k), for each k above 2.
        sizes: Corners of every polygon; those with fewer than 3 drop out.
        vertices: How many the corners may refer to.
        source: The file, for limits.

    Raises:
        ValueError: a face refers to no vertex.
        CloudFileError: there are too many triangles.
    """
    total = int((sizes[sizes > 2] - 2).sum())
    source.check_triangles(total)
    triangles = np.empty((total, 3), dtype=np.int32)  # `vertices` is below the limit of points
    at = 0
    for polygons in groups:
        if polygons.min() < 0 or polygons.max() >= vertices:
            raise ValueError(_STRAY)
        count, size = polygons.shape
        fan(polygons, triangles[at : at + count * (size - 2)])
        at += count * (size - 2)
    return triangles


def sample(vertices: np.ndarray, triangles: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Points drawn from a mesh with uniform density over its area, (count, d).

    A triangle is drawn with probability proportional to its area, then
    p = a + r (b - a) + s (c - a) with (r, s) uniform on r, s >= 0, r + s <= 1.

    Args:
        vertices: (N, d), d = 2 or 3.
        triangles: (T, 3) rows of `vertices`.
        count: how many points.
        seed: of the random numbers; the same seed gives the same points.

    Raises:
        ValueError: a triangle refers to no vertex, or the surface has no area.
    """
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ValueError(_STRAY)
    corners = vertices.astype(np.float64)
    scale = np.abs(corners).max() or 1.0  # keeps squares of huge and tiny coordinates finite
    corners /= scale
    twice_area = _twice_areas(corners, triangles)
    reached = np.cumsum(twice_area)
    if not reached[-1] > 0:
        raise ValueError("its faces have no area to sample; read its vertices instead")
    rng = np.random.default_rng(seed)
    # side="right" and drawing below the total: a triangle without area is never chosen.
    chosen = np.searchsorted(reached, rng.random(count) * reached[-1], side="right")
    chosen = np.minimum(chosen, np.flatnonzero(twice_area)[-1])
    r, s = rng.random((2, count, 1))
    outside = r + s > 1
    r, s = np.where(outside, 1 - r, r), np.where(outside, 1 - s, s)
    a, b, c = np.moveaxis(corners[triangles[chosen]], 1, 0)
    sampled: np.ndarray = (a + r * (b - a) + s * (c - a)) * scale
    return sampled.astype(vertices.dtype)


def _twice_areas(corners: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Twice the area of each triangle, (T,)."""
    areas = np.empty(len(triangles))
    for start in range(0, len(triangles), _BLOCK):
        a, b, c = np.moveaxis(corners[triangles[start : start + _BLOCK]], 1, 0)
        areas[start : start + _BLOCK] = _twice_area(b - a, c - a)
    return areas


def _twice_area(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The area of the parallelograms with sides `u`, `v`, both (T, d) -> (T,)."""
    if u.shape[1] == 2:
        flat: np.ndarray = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
        return flat
    spatial: np.ndarray = np.linalg.norm(np.cross(u, v), axis=1)
    return spatial
