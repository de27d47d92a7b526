"""Pen strokes as the clouds of MNIST-pc: one point for each pixel that the pen touches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["CANVAS", "rasterize"]

CANVAS = 28.0
"""Side of the square that is drawn on; its y axis points up."""

_INK = 20.0  # pixels that a digit of MNIST is high or wide
_PEN = 3.2  # width of the pen in pixels
_SMALLEST = 1 / 8  # of the canvas: a smaller drawing is not magnified further
_PIECE = 256  # segments that are worked on at once


def rasterize(strokes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The pixels that strokes touch.

    MNIST scales every digit to 20 pixels before it is drawn with a pen of about three; so the
    pixels here are as fine as the drawing is small, and the points are where it was drawn.

    Args:
        strokes: Lines ``(n, 2)`` on the square ``[0, CANVAS]^2``, at least one, ``n >= 1``.

    Returns:
        The points ``(N, 2)`` on the same square, row by row from above, and the number of the last
        stroke that touched each, ``(N,)``.

    Example:
        >>> points, last = rasterize([np.array([[14.0, 4.0], [14.0, 24.0]])])
        >>> len(points), sorted({*last.tolist()})
        (59, [0])
    """
    corners = np.concatenate(strokes)
    low, high = corners.min(0), corners.max(0)
    extent = max(float((high - low).max()), CANVAS * _SMALLEST)
    pixel = extent / (_INK - _PEN)
    middle = 0.5 * (low + high)
    side = int(_INK) // 2 + 1
    steps = np.arange(-side, side + 1, dtype=float)
    column, row = np.meshgrid(steps, -steps)
    grid = np.stack([column.ravel(), row.ravel()], axis=1)
    last = np.full(len(grid), -1)
    for number, stroke in enumerate(strokes):
        line = _simplified((np.asarray(stroke, dtype=float) - middle) / pixel)
        last[_distance(grid, line) <= 0.5 * _PEN] = number
    on = last >= 0
    return (grid[on] * pixel + middle).round(4), last[on]


def _simplified(line: np.ndarray) -> np.ndarray:
    """A line without corners that lie in the same quarter of a pixel as the one before."""
    cell = np.floor(4 * line)
    new = np.ones(len(line), dtype=bool)
    new[1:] = (cell[1:] != cell[:-1]).any(1)
    new[-1] = True
    return line[new]


def _distance(points: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Distance of points ``(N, 2)`` to a line of one or more corners ``(n, 2)``, ``(N,)``."""
    nearest = np.linalg.norm(points - line[0], axis=1)
    for i in range(0, len(line) - 1, _PIECE):
        begin = line[i : i + _PIECE + 1][:-1]
        along = line[i + 1 : i + _PIECE + 1] - begin
        offset = points[:, None] - begin
        square = np.maximum((along**2).sum(1), 1e-12)
        share = np.clip((offset * along).sum(2) / square, 0.0, 1.0)
        gap = np.linalg.norm(offset - share[..., None] * along, axis=2)
        nearest = np.minimum(nearest, gap.min(1))
    return nearest
