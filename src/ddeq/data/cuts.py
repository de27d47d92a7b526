"""Ways in which a cloud loses a part: balls, brush strokes, a half space, one camera's view.

Each cut is a function ``(cloud (N, d), rng) -> kept, removed`` of a cloud in any units: lengths are
in units of the cloud's size (:func:`cloud_size`). Both parts stay in the order and the frame of the
cloud, at least one point is kept, and the same generator state gives the same cut. A cloud of one
point is kept whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ddeq.data.corruptions import PARTIAL_RADIUS, make_partial

__all__ = [
    "CUTS",
    "Cut",
    "cloud_size",
    "cut_balls",
    "cut_brush",
    "cut_half",
    "cut_none",
    "cut_random",
    "cut_view",
    "visible",
]

Cut = Callable[[Tensor, np.random.Generator], tuple[Tensor, Tensor]]

_BRUSH_SHARE = (0.05, 0.6)
_BRUSH_RADIUS = (0.1, 0.5)
_BRUSH_LENGTH = (0.5, 2.0)
_HALF_SHARE = (0.2, 0.5)
_ELEVATION = (-15.0, 60.0)
_CAMERA_DISTANCE = 3.0
_FLIP = 30.0


def cloud_size(cloud: Tensor) -> float:
    """``sqrt(mean_k var(x_k))``: one length for all coordinates, 0 for a single place."""
    return float(cloud.double().var(0, unbiased=False).mean().sqrt())


def cut_balls(cloud: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """The paper's cut: two balls about points of the cloud, of its radius for the dimension."""
    if len(cloud) < 2:
        return cut_none(cloud, rng)
    radius = PARTIAL_RADIUS[min(max(cloud.shape[1], 2), 3)]
    return make_partial(cloud, radius * cloud_size(cloud), rng)


def cut_brush(cloud: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Strokes and balls of random radius until 5 to 60 % of the points are gone.

    Each begins at a point that is still there. A stroke runs straight towards another point and
    takes all within its radius; a ball is a stroke of length 0. The last one is lifted when the
    drawn share is reached, so that exactly ``round(share N)`` points go (at least one).
    """
    if len(cloud) < 2:
        return cut_none(cloud, rng)
    points, size = cloud.detach().cpu().double().numpy(), cloud_size(cloud)
    count = _count(len(points), _BRUSH_SHARE, rng)
    keep = np.ones(len(points), dtype=bool)
    while (missing := count - int((~keep).sum())) > 0:
        rows = np.flatnonzero(keep)
        start, towards = points[rng.choice(rows, 2)]
        length = rng.uniform(*_BRUSH_LENGTH) * size * rng.integers(2)
        radius = rng.uniform(*_BRUSH_RADIUS) * size
        way, distance = _along(points[rows], start, towards, length)
        touched = np.flatnonzero(distance <= radius)
        order = np.lexsort((distance[touched], way[touched]))
        keep[rows[touched[order[:missing]]]] = False
    return _split(cloud, keep)


def cut_half(cloud: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """A half space with 20 to 50 % of the points, its normal uniform on the sphere."""
    if len(cloud) < 2:
        return cut_none(cloud, rng)
    count = _count(len(cloud), _HALF_SHARE, rng)
    height = cloud.detach().cpu().double().numpy() @ rng.standard_normal(cloud.shape[1])
    keep = np.ones(len(cloud), dtype=bool)
    keep[np.argsort(-height, kind="stable")[:count]] = False
    return _split(cloud, keep)


def cut_view(cloud: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """What one camera does not see of a 3-D cloud, z up, from a random side.

    The azimuth is uniform, the elevation uniform from -15 to 60 degrees, the camera three radii of
    the cloud from its centre. See :func:`visible`.
    """
    if cloud.shape[1] != 3:
        raise ValueError(f"a view needs points in 3 dimensions, got {cloud.shape[1]}")
    azimuth, elevation = rng.uniform(0, 2 * np.pi), np.deg2rad(rng.uniform(*_ELEVATION))
    level = np.cos(elevation)
    side = [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)]
    points = cloud.detach().cpu().double().numpy()
    centre = points.mean(0)
    radius = np.linalg.norm(points - centre, axis=1).max()
    return _split(cloud, visible(points, centre + _CAMERA_DISTANCE * radius * np.array(side)))


def visible(points: np.ndarray, camera: np.ndarray) -> np.ndarray:
    """Hidden-point removal of Katz, Tal and Basri (2007), ``(N, 3), (3,) -> (N,)`` bool.

    With the camera at the origin, points are flipped at a sphere of radius ``R``,
    ``p -> p + 2 (R - |p|) p / |p|``; those on the convex hull of the flipped points and the camera
    are seen. ``R`` is 30 times the largest distance, which suits clouds of 500 to 5,000 points.
    Where there is no hull (fewer than four places, or all in one plane with the camera), all
    points are seen.
    """
    from scipy.spatial import ConvexHull, QhullError

    places, which = np.unique(points, axis=0, return_inverse=True)  # a hull takes one of equals
    offsets = places - camera
    distance = np.linalg.norm(offsets, axis=1, keepdims=True)
    if len(places) < 4 or not distance.min() > 0:
        return np.ones(len(points), dtype=bool)
    offsets, distance = offsets / distance.max(), distance / distance.max()
    flipped = offsets * (2 * _FLIP / distance - 1)
    try:
        hull = ConvexHull(np.concatenate([flipped, np.zeros((1, 3))])).vertices
    except QhullError:
        return np.ones(len(points), dtype=bool)
    seen = np.zeros(len(places) + 1, dtype=bool)
    seen[hull] = True
    return seen[which.reshape(-1)]


def cut_random(cloud: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """One of the cuts above, each as likely; :func:`cut_view` only in 3-D."""
    cuts: list[Cut] = [cut_balls, cut_brush, cut_half]
    if cloud.shape[1] == 3:
        cuts.append(cut_view)
    return cuts[rng.integers(len(cuts))](cloud, rng)


def cut_none(cloud: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Nothing is removed: the right answer of a completer is no new point."""
    return cloud, cloud[:0]


CUTS: dict[str, Cut] = {
    "balls": cut_balls,
    "brush": cut_brush,
    "half": cut_half,
    "view": cut_view,
    "random": cut_random,
    "whole": cut_none,
}
"""The cuts by name.

Example:
    >>> kept, removed = CUTS["brush"](torch.randn(50, 2), np.random.default_rng(0))
    >>> len(kept) + len(removed)
    50
"""


def _count(size: int, shares: tuple[float, float], rng: np.random.Generator) -> int:
    """Points to remove of ``size >= 2``, for a share drawn between two; 1 to ``size - 1``."""
    return min(max(round(rng.uniform(*shares) * size), 1), size - 1)


def _along(
    points: np.ndarray, start: np.ndarray, towards: np.ndarray, length: float
) -> tuple[np.ndarray, np.ndarray]:
    """Position along a stroke and distance from it, ``(N,)`` each."""
    gap = towards - start
    direction = gap / max(np.linalg.norm(gap), np.finfo(float).tiny)
    way = np.clip((points - start) @ direction, 0.0, length)
    return way, np.linalg.norm(points - start - way[:, None] * direction, axis=1)


def _split(cloud: Tensor, keep: np.ndarray) -> tuple[Tensor, Tensor]:
    mask = torch.from_numpy(keep).to(cloud.device)
    return cloud[mask], cloud[~mask]
