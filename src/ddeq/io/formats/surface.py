"""Triangles from polygons, and points sampled evenly from a surface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def fan(polygons: np.ndarray) -> np.ndarray:
    """Polygons with k corners each, (P, k), as triangles around their first corner, (T, 3)."""
    steps = range(1, polygons.shape[1] - 1)
    triangles = [polygons[:, [0, i, i + 1]] for i in steps]
    return np.concatenate(triangles) if triangles else np.empty((0, 3), dtype=np.int64)


def triangulate(polygons: Iterable[Sequence[int]]) -> np.ndarray:
    """Polygons of any sizes as triangles, (T, 3); those with fewer than 3 corners drop out."""
    by_size: dict[int, list[Sequence[int]]] = {}
    for polygon in polygons:
        by_size.setdefault(len(polygon), []).append(polygon)
    groups = [fan(np.array(by_size[size], dtype=np.int64)) for size in sorted(by_size) if size > 2]
    return np.concatenate(groups) if groups else np.empty((0, 3), dtype=np.int64)


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
        raise ValueError("its faces refer to vertices that it does not have")
    corners = vertices.astype(np.float64)
    scale = np.abs(corners).max() or 1.0  # keeps squares of huge and tiny coordinates finite
    a, b, c = np.moveaxis((corners / scale)[triangles], 1, 0)
    twice_area = _twice_area(b - a, c - a)
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
    a, b, c = a[chosen], b[chosen], c[chosen]
    sampled: np.ndarray = (a + r * (b - a) + s * (c - a)) * scale
    return sampled.astype(vertices.dtype)


def _twice_area(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The area of the parallelograms with sides `u`, `v`, both (T, d) -> (T,)."""
    if u.shape[1] == 2:
        flat: np.ndarray = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
        return flat
    return np.linalg.norm(np.cross(u, v), axis=1)
