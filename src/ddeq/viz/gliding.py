"""A solve as a person can follow it: many small movements in place of a few large steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ddeq.viz.drawing import Cloud, as_points

__all__ = ["GLIDE_FRAMES", "glide", "leading"]

GLIDE_FRAMES = 60
"""Frames of a glide: a few seconds of film."""


def glide(
    frames: Sequence[Cloud], count: int = GLIDE_FRAMES
) -> tuple[list[np.ndarray], np.ndarray]:
    """A smooth path of particles from the first frame of a solve to the last, for show.

    A solver's early iterates may lie far out, where the network maps them back at once: drawn as
    they are, particles fly apart and jump. Here they move along the iterates that lead to the
    result (:func:`leading`), straight from one to the next, slow at both ends: at time ``t`` in
    [0, 1] they have gone the share ``3 t^2 - 2 t^3`` of the path, measured by root mean square
    movement. The first and the last frame are kept exactly.

    Args:
        frames: Particles after each step, ``(M, d)`` each.
        count: How many frames to make.

    Returns:
        The new frames, and the solver step that each of them stands for, ``(count,)`` fractional.

    Example:
        >>> moved, steps = glide([np.zeros((1, 2)), np.full((1, 2), 9.0), np.ones((1, 2))], 3)
        >>> [float(points[0, 0]) for points in moved], steps.tolist()
        ([0.0, 0.5, 1.0], [0.0, 1.0, 2.0])
    """
    points = [as_points(frame) for frame in frames]
    kept = leading(points)
    knots = np.stack([points[k] for k in kept])
    moved = [_distance(a, b) for a, b in itertools.pairwise(knots)]
    way = np.concatenate([[0.0], np.cumsum(moved)])
    time = np.linspace(0.0, 1.0, count)
    at = way[-1] * (3 * time**2 - 2 * time**3) if way[-1] > 0 else np.zeros(count)
    piece = np.clip(np.searchsorted(way, at, side="right") - 1, 0, max(len(kept) - 2, 0))
    after = np.minimum(piece + 1, len(kept) - 1)
    length = way[after] - way[piece]
    share = np.divide(at - way[piece], length, out=np.zeros(count), where=length > 0)
    share[-1] = 1.0
    steps = np.asarray(kept, dtype=float)
    made = [(1 - s) * knots[i] + s * knots[j] for i, j, s in zip(piece, after, share, strict=True)]
    return made, (1 - share) * steps[piece] + share * steps[after]


def leading(frames: Sequence[np.ndarray]) -> list[int]:
    """The first frame, and each that is nearer to the last than all before it.

    Example:
        >>> leading([np.array([[x, 0.0]]) for x in (3.0, 9.0, 5.0, 1.0, 0.0)])
        [0, 3, 4]
    """
    away = [_distance(frame, frames[-1]) for frame in frames]
    nearer = [k for k in range(1, len(frames) - 1) if away[k] < min(away[:k])]
    return [0, *nearer, *([len(frames) - 1] if len(frames) > 1 else [])]


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Root mean square movement of particles, 0 for none."""
    return float(np.sqrt(((a - b) ** 2).sum(1).mean())) if len(a) else 0.0
