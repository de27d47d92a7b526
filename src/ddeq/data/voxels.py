"""Thinning a cloud on a voxel grid."""

from __future__ import annotations

import numpy as np

__all__ = ["voxel_downsample"]

_BISECTIONS = 16


def voxel_downsample(points: np.ndarray, max_points: int = 800) -> np.ndarray:
    """At most ``max_points`` points: the means of the points in each voxel of a grid.

    The side of the voxels is found by bisection, as small as the limit allows, so that nearly
    ``max_points`` remain. A cloud within the limit is returned as it is, and a result is never
    empty. The number of voxels is not quite monotone in their side, so the best side seen is taken.

    Args:
        points: ``(N, d)`` with ``N >= 1``, finite.
        max_points: The limit, at least 1.

    Returns:
        ``(n, d)`` with ``1 <= n <= max_points``, floating, in an order given by the grid.

    Example:
        >>> voxel_downsample(np.array([[0.0], [0.1], [1.0]]), max_points=2).round(2).tolist()
        [[0.05], [1.0]]
    """
    points = np.asarray(points)
    if points.ndim != 2 or len(points) == 0:
        raise ValueError(f"points must be (N, d) with N >= 1, got shape {points.shape}")
    if max_points < 1:
        raise ValueError(f"max_points must be at least 1, got {max_points}")
    if not np.issubdtype(points.dtype, np.floating):
        points = points.astype(np.float64)
    if not np.isfinite(points).all():
        raise ValueError("points must be finite")
    if len(points) <= max_points:
        return points
    # Halved first and shifted after, so that the extent of huge float64 values cannot overflow.
    half = points.astype(np.float64) / 2
    low, extent = half.min(0), float(np.ptp(half, axis=0).max())
    if extent == 0:
        return points[:1]
    cell = _finest_grid((half - low) / extent, max_points)
    return _means(points, cell)


def _finest_grid(unit: np.ndarray, max_points: int) -> np.ndarray:
    """Voxel number of each point of a cloud in the unit cube, for the best side found.

    The side is ``1 / grid``: ``grid`` is doubled until there are too many voxels, then bisected on
    a logarithmic scale between the last two values.
    """
    bits = max(1, 60 // unit.shape[1])  # so that a voxel number fits in an int64
    best, most = 0.5, 1
    coarse, fine = 0.5, float(2**bits)
    doubling = True
    for _ in range(bits + _BISECTIONS):
        grid = coarse * 2 if doubling else (coarse * fine) ** 0.5
        if grid >= 2**bits:
            break
        occupied = np.sort(_voxels(unit, grid))
        count = 1 + int((occupied[1:] != occupied[:-1]).sum())
        if count > max_points:
            fine, doubling = grid, False
        else:
            coarse = grid
            if count > most:
                best, most = grid, count
        if most == max_points or fine < coarse * (1 + 1e-4):
            break
    return np.unique(_voxels(unit, best), return_inverse=True)[1].reshape(-1)


def _voxels(unit: np.ndarray, grid: float) -> np.ndarray:
    """Number of the voxel of side ``1 / grid`` that each point lies in, ``(N, d) -> (N,)``."""
    index = np.floor(unit * grid).astype(np.int64)
    key = index[:, 0]
    for column in index[:, 1:].T:
        key = key * (int(column.max()) + 1) + column
    return key


def _means(points: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Mean of the points of each voxel, ``(N, d), (N,) -> (n, d)``."""
    count = np.bincount(cell)
    # Dividing before summing keeps the means inside the range of the type.
    shares = points.astype(np.float64) / count[cell][:, None]
    sums = [np.bincount(cell, weights=column) for column in shares.T]
    return np.stack(sums, axis=1).astype(points.dtype)
