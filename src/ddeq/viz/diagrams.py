"""Diagrams: curves over steps, confusions, class embeddings, fixed points.

Pictures of clouds are in :mod:`ddeq.viz.pictures`; what is drawn here is computed from a model in
:mod:`ddeq.viz.from_model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ddeq.viz.drawing import ROTATED, SERIES, TARGET, TEXT, marker_area, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FixedPoint", "class_colors", "confusion", "curves", "embeddings", "fixed_points"]

_NUMBERED = 15  # classes up to which the cells of a confusion picture have room for numbers
_LISTED = 12  # classes up to which a legend can be read


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """An equilibrium of one cloud in the plane of :func:`fixed_points`.

    Attributes:
        z: Particles ``Z*``, ``(N, 2)``.
        image: ``F(Z*)``, row ``i`` matched to row ``i`` of ``z``, ``(N, 2)``.
        title: What the cloud is.
    """

    z: np.ndarray
    image: np.ndarray
    title: str


def curves(
    series: Mapping[str, Any],
    xlabel: str = "step",
    ylabel: str = "",
    title: str = "",
    log: bool = False,
) -> Figure:
    """Named series over steps.

    Args:
        series: For each name ``(K,)`` values at steps ``0, 1, ...``, or ``(K, 2)`` rows of step
            and value.
        xlabel: What a step is.
        ylabel: What the values are.
        title: Above the picture.
        log: Logarithmic values; those not positive are left out.
    """
    figure, ax = _axes(5.2, 3.2)
    for i, (name, values) in enumerate(series.items()):
        data = np.asarray(values, dtype=float)
        steps, height = (np.arange(len(data)), data) if data.ndim == 1 else data.T
        height = np.where(height > 0, height, np.nan) if log else height
        ax.plot(steps, height, color=SERIES[i % len(SERIES)], label=name, linewidth=1.6)
    ax.set_yscale("log" if log else "linear")
    ax.set_xlabel(xlabel, fontsize=9, color=TEXT)
    ax.set_ylabel(ylabel, fontsize=9, color=TEXT)
    ax.set_title(title, fontsize=10, color=TEXT)
    if len(series) > 1:
        _legend(ax)
    return figure


def fixed_points(clouds: Sequence[FixedPoint], shares: tuple[float, float]) -> Figure:
    """``Z*`` (rings) and ``F(Z*)`` (dots), a colour per cloud; a line joins matched particles.

    Args:
        clouds: The equilibria in one plane.
        shares: Parts of the variance that the two axes show.
    """
    from matplotlib.lines import Line2D

    if not clouds:
        raise ValueError("a picture needs at least one equilibrium")
    figure, ax = _axes(6.4, 4.8)
    colors = class_colors(len(clouds))
    size = 2.2 * marker_area(sum(len(cloud.z) for cloud in clouds))
    for cloud, color in zip(clouds, colors, strict=True):
        for a, b in zip(cloud.z, cloud.image, strict=True):
            ax.plot(*np.stack([a, b]).T, color=color, linewidth=0.9, alpha=0.7, zorder=1)
        (x, y), (u, v) = cloud.image.T, cloud.z.T
        ax.scatter(x, y, s=0.45 * size, color=color, linewidths=0, zorder=2)
        ax.scatter(u, v, s=2.2 * size, facecolors="none", edgecolors=[color], zorder=3)
    marks: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": TEXT}
    keys = [
        Line2D([], [], markerfacecolor="none", markersize=8, label="Z*", **marks),
        Line2D([], [], markersize=4, label="F(Z*), matched", **marks),
    ]
    keys += [
        Line2D([], [], marker="s", linestyle="none", color=color, label=cloud.title)
        for cloud, color in zip(clouds, colors, strict=True)
    ]
    _legend(ax, handles=keys)
    for axis, share, name in ((ax.xaxis, shares[0], "first"), (ax.yaxis, shares[1], "second")):
        text = f"{name} principal component ({100 * share:.0f} % of variance)"
        axis.set_label_text(text, fontsize=9, color=TEXT)
    return figure


def embeddings(points: np.ndarray, labels: np.ndarray, classes: Sequence[str]) -> Figure:
    """Embedded clouds coloured by class, each class named where most of it lies.

    Args:
        points: A place for each cloud, ``(n, 2)``.
        labels: Their classes, ``(n,)``.
        classes: Names of the classes.
    """
    from matplotlib.patheffects import withStroke

    figure, ax = _axes(6.4, 5.6)
    colors = class_colors(len(classes))
    for label in np.unique(labels):
        part = points[labels == label]
        color = colors[int(label)]
        size = float(np.clip(4000 / len(points), 3, 20))
        ax.scatter(part[:, 0], part[:, 1], s=size, color=color, linewidths=0, alpha=0.8)
        ax.annotate(
            classes[int(label)],
            tuple(_middle(part)),
            ha="center",
            va="center",
            fontsize=11 if len(classes) <= _LISTED else 7,
            fontweight="bold",
            color=tuple(0.6 * channel for channel in color),
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(visible=False)
    return figure


def confusion(counts: np.ndarray, classes: Sequence[str]) -> Figure:
    """Share of each class (row) that was called each class (column): right blue, wrong red.

    The square root of a share is shown, so that rare confusions can be seen.

    Args:
        counts: Clouds of class ``i`` that were called ``j``, ``(C, C)``.
        classes: Names of the classes.
    """
    counts = np.asarray(counts)
    size = len(classes)
    if counts.shape != (size, size):
        raise ValueError(f"{size} classes need counts ({size}, {size}), got {counts.shape}")
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    side = float(np.clip(0.42 * size, 3.2, 10.0))
    figure, ax = _axes(side + 1.2, side + 0.8)
    ax.imshow(_cells(shares), interpolation="nearest")
    if size <= _NUMBERED:
        for (i, j), count in np.ndenumerate(counts):
            if count:
                color = "white" if shares[i, j] > 0.3 else TEXT
                ax.text(j, i, str(count), ha="center", va="center", fontsize=8, color=color)
    small = 8 if size <= _NUMBERED else 6
    upright = max(map(len, classes)) <= 2
    ax.set_xticks(range(size), classes, fontsize=small, rotation=0 if upright else 90)
    ax.set_yticks(range(size), classes, fontsize=small)
    ax.set_xticks(np.arange(size - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(size - 1) + 0.5, minor=True)
    ax.grid(visible=False)
    ax.grid(which="minor", color="#e6e8eb", linewidth=0.5)
    ax.tick_params(which="both", length=0)
    ax.set_xlabel("called", fontsize=9, color=TEXT)
    ax.set_ylabel("is", fontsize=9, color=TEXT)
    right, total = int(counts.trace()), int(counts.sum())
    title = f"{right} of {total} right ({100 * right / max(total, 1):.1f} %)"
    ax.set_title(title, fontsize=10, color=TEXT)
    return figure


def class_colors(count: int) -> list[tuple[float, float, float]]:
    """As many colours as there are classes: the house's first, then a wheel in three shades."""
    from matplotlib.colors import hsv_to_rgb, to_rgb

    named = [*SERIES, "#d977b0", "#6b4a2f"]
    if count <= len(named):
        return [to_rgb(color) for color in named[:count]]
    shades = ((0.75, 0.85), (0.5, 0.65), (0.95, 0.6))
    wheel = [(i / count, *shades[i % len(shades)]) for i in range(count)]
    return [tuple(float(c) for c in hsv_to_rgb(color)) for color in wheel]  # type: ignore[misc]


def _cells(shares: np.ndarray) -> np.ndarray:
    """Colours of a confusion picture, ``(C, C, 3)``."""
    from matplotlib.colors import to_rgb

    full = np.broadcast_to(np.array(to_rgb(ROTATED)), (*shares.shape, 3)).copy()
    full[np.diag_indices(len(shares))] = to_rgb(TARGET)
    depth = np.sqrt(shares)[..., None]
    return 1.0 + depth * (full - 1.0)


def _middle(points: np.ndarray) -> np.ndarray:
    """The point of a class nearest to its median: inside the class, however bent it is."""
    return points[np.linalg.norm(points - np.median(points, 0), axis=1).argmin()]


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    """One pair of axes in the house style."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.subplots()
    style_axes(ax)
    return figure, ax


def _legend(ax: Axes, **options: Any) -> None:
    """A legend beside the picture."""
    style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": TEXT}
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), **style, **options)
