"""The library's figures. Colours and the drawing of a cloud are in :mod:`ddeq.viz.drawing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ddeq.viz.drawing import (
    FREE,
    INPUT,
    RESULT,
    ROTATED,
    SERIES,
    TARGET,
    TEXT,
    Cloud,
    as_points,
    frame,
    marker_area,
    overlay,
    panels,
    save,
    scatter,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FREE",
    "INPUT",
    "RESULT",
    "ROTATED",
    "SERIES",
    "TARGET",
    "TEXT",
    "Completion",
    "classification_grid",
    "completion_grid",
    "completion_picture",
    "curves",
    "frame",
    "overlay",
    "panels",
    "save",
    "scatter",
    "tour",
]


@dataclass(frozen=True, eq=False)
class Completion:
    """One row of :func:`completion_grid`; all clouds in one frame of coordinates.

    Attributes:
        input: The partial cloud, ``(M, d)``.
        start: The free particles before the solve, ``(K, d)``.
        result: The free particles at equilibrium, the new points alone, ``(K, d)``.
        target: The whole cloud, ``(T, d)``.
        title: Stands left of the row.
    """

    input: Cloud
    start: Cloud
    result: Cloud
    target: Cloud
    title: str = ""


def completion_grid(rows: Sequence[Completion]) -> Figure:
    """Input | free particles at the start | input with the new points | target, a row a cloud."""
    if not rows:
        raise ValueError("a grid needs at least one completion")
    figure, axes = panels(len(rows), 4)
    heads = ("input", "free particles at the start", "completed", "target")
    for i, (row, line) in enumerate(zip(rows, axes, strict=True)):
        scenes = (
            [(row.input, INPUT)],
            [(row.input, INPUT), (row.start, FREE)],
            [(row.input, INPUT), (row.result, RESULT)],
            [(row.target, TARGET)],
        )
        area = marker_area(len(row.target))
        for ax, layers, head in zip(line, scenes, heads, strict=True):
            overlay(ax, layers, head if i == 0 else None, area)
        # free particles may start far out: the picture is framed by what counts
        frame(line, [row.input, row.result, row.target])
        if row.title:
            line[0].set_ylabel(row.title, fontsize=9, color=TEXT)
    return figure


def completion_picture(original: Cloud, new: Cloud) -> Figure:
    """A cloud, ``(M, d)`` in grey, and beside it the same with its new points, ``(K, d)``."""
    figure, axes = panels(1, 2, size=3.2)
    area = 2 * marker_area(len(original) + len(new))
    scatter(axes[0, 0], original, INPUT, f"input, {len(original)} points", area)
    overlay(axes[0, 1], [(original, INPUT), (new, RESULT)], f"{len(new)} points added", area)
    frame(axes, [original, new])
    return figure


def classification_grid(
    clouds: Sequence[Cloud],
    titles: Sequence[str],
    correct: Sequence[bool] | None = None,
    columns: int = 8,
) -> Figure:
    """Clouds with their predicted classes; a wrong one is red.

    Args:
        clouds: ``B`` clouds ``(N_i, d)``.
        titles: What stands above each.
        correct: Whether each prediction is right; without it no cloud is marked.
        columns: Panels in a row.
    """
    if not len(clouds):
        raise ValueError("a grid needs at least one cloud")
    if len(titles) != len(clouds) or (correct is not None and len(correct) != len(clouds)):
        raise ValueError(f"{len(clouds)} clouds need as many titles and flags")
    columns = min(columns, len(clouds))
    figure, axes = panels(-(-len(clouds) // columns), columns, size=1.4)
    for i, (ax, cloud) in enumerate(zip(axes.flat, clouds, strict=False)):
        right = correct is None or bool(correct[i])
        _classified(ax, cloud, titles[i], right)
        frame([ax], [cloud])
    return figure


def tour(
    clouds: Sequence[Cloud],
    guesses: Sequence[int],
    partial: Sequence[Cloud],
    full: Sequence[Cloud],
) -> Figure:
    """Both tasks in one picture: the digits with their classes, their parts, the completions.

    Args:
        clouds: Whole clouds, one of each class: cloud ``i`` is of class ``i``.
        guesses: Predicted class of each.
        partial: What was left of each, ``(M_i, d)``.
        full: The completions: the points of ``partial`` first, then the new ones.
    """
    figure, axes = panels(3, len(clouds), size=1.4)
    for i, (cloud, guess, part, whole) in enumerate(
        zip(clouds, guesses, partial, full, strict=True)
    ):
        _classified(axes[0, i], cloud, f"it is a {guess}", guess == i)
        area = 0.5 * marker_area(len(cloud))
        scatter(axes[1, i], part, INPUT, size=area)
        overlay(axes[2, i], [(part, INPUT), (whole[len(part) :], RESULT)], size=area)
        frame(axes[:, i], [cloud, whole])
    for ax, text in zip(axes[:, 0], ("classified", "partial", "completed"), strict=True):
        ax.set_ylabel(text, fontsize=9, color=TEXT)
    return figure


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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    ax = figure.subplots()
    for i, (name, values) in enumerate(series.items()):
        data = np.asarray(values, dtype=float)
        steps, height = (np.arange(len(data)), data) if data.ndim == 1 else data.T
        height = np.where(height > 0, height, np.nan) if log else height
        ax.plot(steps, height, color=SERIES[i % len(SERIES)], label=name, linewidth=1.6)
    ax.set_yscale("log" if log else "linear")
    ax.set_xlabel(xlabel, fontsize=9, color=TEXT)
    ax.set_ylabel(ylabel, fontsize=9, color=TEXT)
    ax.set_title(title, fontsize=10, color=TEXT)
    style_axes(ax)
    if len(series) > 1:
        ax.legend(
            frameon=False, fontsize=8, labelcolor=TEXT, loc="upper left", bbox_to_anchor=(1.01, 1)
        )
    return figure


def _classified(ax: Any, cloud: Cloud, title: str, right: bool) -> None:
    """A cloud under its predicted class, red where that is wrong."""
    cloud = as_points(cloud)
    scatter(ax, cloud, TARGET if right else ROTATED, size=0.5 * marker_area(len(cloud)))
    ax.set_title(title, fontsize=8, color=TEXT if right else ROTATED, pad=3)
