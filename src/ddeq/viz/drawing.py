"""The house style of pictures: one palette, and how a cloud is drawn.

One palette says what a point is in every picture: grey for the input, light orange for particles
at the start, orange for what was found, blue for the target, red for a rotated image and for what
is wrong. Clouds in 3-D are projected here, onto plain 2-D axes, so that depth is sorted across all
clouds of a panel.

Figures are made without ``pyplot``: no display is needed and nothing is kept alive in the
background. Matplotlib is imported when the first figure is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddeq.io.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "FREE",
    "INPUT",
    "RESULT",
    "ROTATED",
    "SERIES",
    "TARGET",
    "TEXT",
    "UNSURE",
    "VIEW",
    "Cloud",
    "as_points",
    "frame",
    "marker_area",
    "overlay",
    "panels",
    "project",
    "save",
    "scatter",
    "style_axes",
]

INPUT = "#8b9099"
FREE = "#f2bd85"
RESULT = "#e66a10"
TARGET = "#2a6fb5"
ROTATED = "#c62f2f"
UNSURE = "#f6d58a"  # a new point without confidence; one with all of it is RESULT
TEXT = "#33373d"
SERIES = (RESULT, TARGET, "#3d9a5f", ROTATED, "#7d5ba6", INPUT, "#c2a33a", "#2aa5b0")

Cloud = Any
"""An array or tensor ``(N, d)``, ``d`` = 2 or 3."""

VIEW = (-55.0, 18.0)
"""Azimuth and elevation of the viewer of a 3-D cloud in degrees: from the front, a little above."""
_MARGIN = 0.06  # of the panel, around the points
_HAZE = 0.72  # share of white in the colour of the farthest point of a 3-D panel
_NEAREST, _FARTHEST = 1.7, 0.5  # of the marker's area


def panels(rows: int, columns: int, size: float = 2.0) -> tuple[Figure, np.ndarray]:
    """A figure of square, bare panels of ``size`` inches, and its axes ``(rows, columns)``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size * columns, size * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return figure, axes


def scatter(
    ax: Axes,
    points: Cloud,
    color: str = RESULT,
    label: str | None = None,
    size: float | None = None,
) -> None:
    """Draws one cloud, ``(N, 2)`` or ``(N, 3)``.

    Args:
        ax: A plain 2-D axis, also for a 3-D cloud.
        points: The cloud.
        color: What the points are, from the palette of this module.
        label: Title of the panel.
        size: Area of a marker in square points; by default it falls with the number of points.
    """
    overlay(ax, [(points, color)], label, size)


def overlay(
    ax: Axes,
    layers: Sequence[tuple[Cloud, str]],
    label: str | None = None,
    size: float | None = None,
    view: tuple[float, float] = VIEW,
) -> None:
    """Draws clouds on top of each other, later ones in front; in 3-D the nearer points in front.

    Depth shows in 3-D: the farther a point, the smaller and the paler it is.

    Args:
        ax: A plain 2-D axis.
        layers: Clouds ``(N, d)`` of one ``d``, each with its colour; a cloud may be empty.
        label: Title of the panel.
        size: Area of a marker in square points; by default it falls with the number of points.
        view: Azimuth and elevation of the viewer of a 3-D cloud in degrees.
    """
    from matplotlib.colors import to_rgb

    clouds = [as_points(points) for points, _ in layers]
    colors = np.concatenate(
        [np.tile(to_rgb(color), (len(c), 1)) for c, (_, color) in zip(clouds, layers, strict=True)]
    )
    points = np.concatenate(clouds)
    flat, depth = project(points, view)
    area: Any = marker_area(len(points)) if size is None else size
    if points.shape[1] == 3 and len(points):
        order = np.argsort(depth, kind="stable")
        flat, depth, colors = flat[order], depth[order], colors[order]
        far = (depth[-1] - depth) / max(float(depth[-1] - depth[0]), 1e-12)
        colors = colors + _HAZE * far[:, None] * (1.0 - colors)
        area = area * (_NEAREST + (_FARTHEST - _NEAREST) * far)
    ax.scatter(flat[:, 0], flat[:, 1], s=area, c=colors, linewidths=0)
    ax.set_aspect("equal")
    if label is not None:
        ax.set_title(label, fontsize=9, color=TEXT, pad=3)


def project(points: Cloud, view: tuple[float, float] = VIEW) -> tuple[np.ndarray, np.ndarray]:
    """Screen coordinates ``(N, 2)`` and nearness to the viewer ``(N,)``.

    A 2-D cloud is its own picture. A 3-D cloud, its z axis up, is seen in parallel projection from
    the front, a little from the side and above, or from where ``view`` says.
    """
    points = as_points(points)
    if points.shape[1] == 2:
        return points, np.zeros(len(points))
    azimuth, elevation = np.deg2rad(view)
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    level = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    toward = np.cos(elevation) * level + np.array([0.0, 0.0, np.sin(elevation)])
    up = np.cross(toward, right)
    return points @ np.stack([right, up], axis=1), points @ toward


def frame(axes: Sequence[Axes] | np.ndarray, clouds: Sequence[Cloud]) -> None:
    """Gives axes the same limits: the smallest square, with a margin, around all clouds."""
    flat = np.concatenate([project(cloud)[0] for cloud in clouds])
    low, high = flat.min(0), flat.max(0)
    x, y = 0.5 * (low + high)
    half = 0.5 * max(float((high - low).max()), 1e-9) * (1 + 2 * _MARGIN)
    for ax in np.ravel(np.asarray(axes, dtype=object)):
        ax.set(xlim=(x - half, x + half), ylim=(y - half, y + half))


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure, 150 dots an inch and no rim; the ending of ``path`` says the format."""
    with atomic_path(path) as draft:
        figure.savefig(draft, dpi=150, bbox_inches="tight", facecolor="white")


def marker_area(count: int) -> float:
    """Marker area in square points for a cloud of ``count`` points in a panel of 2 inches."""
    return float(np.clip(110.0 / np.sqrt(max(count, 1)), 1.5, 30.0))


def as_points(points: Cloud) -> np.ndarray:
    """A cloud as a float array ``(N, 2)`` or ``(N, 3)``, from a tensor or an array."""
    if hasattr(points, "detach"):
        points = points.detach().cpu().numpy()
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"a cloud to draw must be (N, 2) or (N, 3), got shape {points.shape}")
    return points


def style_axes(ax: Axes) -> None:
    """Axes of a diagram in the house style: small ticks, a light grid, no box."""
    ax.tick_params(which="both", labelsize=8, colors=TEXT, length=3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e6e8eb", linewidth=0.6)
    ax.set_axisbelow(True)
