"""Moving pictures of a solve: one HTML file that needs no network, a GIF or an MP4."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from ddeq.io.atomic import atomic_path
from ddeq.viz.drawing import (
    INPUT,
    RESULT,
    VIEW,
    Cloud,
    as_points,
    frame,
    marker_area,
    overlay,
    panels,
)
from ddeq.viz.gliding import glide
from ddeq.viz.moving import as_picture, write_pictures

__all__ = ["write_animation", "write_frames"]

_SECONDS = 8.0  # how long an animation plays
_MARGIN = 1.06
_GIF_FRAMES = 120


def write_animation(
    path: str | Path,
    frames: Sequence[Cloud],
    fixed: Cloud | None = None,
    residuals: Sequence[float] | None = None,
    title: str = "",
    spread: Sequence[float] | None = None,
    steps: Sequence[int] | None = None,
    smooth: bool = False,
) -> None:
    """Writes a page with a slider and a play button; a 3-D cloud turns under the finger.

    Points are in the file, rounded to about a thousandth of the picture; it asks for nothing else.

    Args:
        path: The HTML file.
        frames: Moving particles, each ``(N, d)``, ``d`` = 2 or 3.
        fixed: Particles that stay, ``(M, d)``.
        residuals: ``MMD^2(z, F(z))`` of each frame; frames past its end show none.
        title: Stands above the picture.
        spread: Spread of the particles in each frame, likewise.
        steps: Solver step of each frame, ``0, 1, ...`` by default.
        smooth: Particles glide along the frames that lead to the last, see
            :func:`ddeq.viz.gliding.glide`; for a solver of few, large steps.
    """
    moving, still = _checked(frames, fixed)
    if steps is not None and len(steps) != len(moving):
        raise ValueError(f"{len(moving)} frames need as many steps, got {len(steps)}")
    if smooth:
        steps = range(len(moving)) if steps is None else steps
        moving, at = glide(moving)
        residuals, spread = _between(residuals, at), _between(spread, at)
        steps = [round(step) for step in _between(steps, at) or ()]
    centre, radius = _ball(moving, still)
    digits = max(0, 3 - math.floor(math.log10(radius)))
    data = {
        "title": title,
        "dim": still.shape[1],
        "colors": [INPUT, RESULT],
        "view": [round(math.radians(angle), 4) for angle in VIEW],
        "centre": _rounded(centre, digits),
        "radius": round(_MARGIN * radius, digits),
        "pause": round(max(20.0, 1000.0 * _SECONDS / len(moving))),
        "fixed": _rounded(still, digits),
        "frames": [_rounded(points, digits) for points in moving],
        "residuals": _numbers(residuals, len(moving)),
        "spread": _numbers(spread, len(moving)),
        "steps": [int(k) for k in (range(len(moving)) if steps is None else steps)],
    }
    # "<" would let a title end the script
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = files("ddeq.viz").joinpath("animation.html").read_text(encoding="utf-8")
    with atomic_path(path) as draft:
        draft.write_text(page.replace("__DATA__", text), encoding="utf-8")


def _between(values: Sequence[float] | None, at: np.ndarray) -> list[float] | None:
    """Values of whole frames, ``(K,)``, at places between frames, ``(T,)``."""
    return None if values is None else np.interp(at, np.arange(len(values)), values).tolist()


def write_frames(
    path: str | Path,
    frames: Sequence[Cloud],
    fixed: Cloud | None = None,
    title: str = "",
    steps: Sequence[int] | None = None,
    inches: float = 3.2,
) -> None:
    """Writes the same as a GIF or MP4, at most 120 frames, the last one held for two seconds.

    Args:
        path: A GIF or MP4 file.
        frames: Moving particles, each ``(N, d)``, ``d`` = 2 or 3.
        fixed: Particles that stay, ``(M, d)``.
        title: Stands above the picture, before the step.
        steps: Solver step of each frame, ``0, 1, ...`` by default.
        inches: Side of the picture, 100 pixels an inch.
    """
    moving, still = _checked(frames, fixed)
    steps = range(len(moving)) if steps is None else steps
    figure, axes = panels(1, 1, size=inches)
    figure.set_dpi(100)
    ax = axes[0, 0]
    frame([ax], [still, *moving])
    area = 2 * marker_area(len(still) + len(moving[0]))
    chosen = np.unique(np.linspace(0, len(moving) - 1, _GIF_FRAMES).round().astype(int))
    images = []
    for i in chosen:
        for old in list(ax.collections):
            old.remove()
        label = f"{title}, step {steps[i]}" if title else f"step {steps[i]}"
        overlay(ax, [(still, INPUT), (moving[i], RESULT)], label, area)
        images.append(as_picture(figure))
    pause = max(20, round(1000.0 * _SECONDS / len(images)))
    write_pictures(path, images, [pause] * (len(images) - 1) + [2000])


def _checked(frames: Sequence[Cloud], fixed: Cloud | None) -> tuple[list[np.ndarray], np.ndarray]:
    """Frames and fixed points as finite arrays of one dimension; none fixed is ``(0, d)``."""
    if not len(frames):
        raise ValueError("an animation needs at least one frame")
    moving = [as_points(points) for points in frames]
    still = moving[0][:0] if fixed is None else as_points(fixed)
    for points in (*moving, still):
        if points.shape[1] != still.shape[1]:
            raise ValueError("frames and fixed points must have one dimension")
        if not np.isfinite(points).all():
            raise ValueError("a frame has NaN or infinite coordinates")
    if not len(moving[0]) + len(still):
        raise ValueError("an animation needs at least one point")
    return moving, still


def _ball(moving: Sequence[np.ndarray], still: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre ``(d,)`` and radius of what the picture must hold, however it is turned."""
    points = np.concatenate([still, *moving])
    low, high = points.min(0), points.max(0)
    centre = 0.5 * (low + high)
    if points.shape[1] == 2:
        return centre, max(0.5 * float((high - low).max()), 1e-9)
    return centre, max(float(np.linalg.norm(points - centre, axis=1).max()), 1e-9)


def _rounded(points: np.ndarray, digits: int) -> list[float]:
    """Coordinates in one flat list."""
    return np.round(points.ravel(), digits).tolist()


def _numbers(values: Sequence[float] | None, count: int) -> list[float | None]:
    """One number a frame to three digits; null where there is none or it is not finite."""
    known = [] if values is None else [float(value) for value in values][:count]
    shown = [float(f"{value:.3g}") if math.isfinite(value) else None for value in known]
    return shown + [None] * (count - len(shown))
