"""Pictures of clouds: what was classified, what was completed, how particles flow there.

Colours and the drawing of one cloud are in :mod:`ddeq.viz.drawing`; diagrams with axes are in
:mod:`ddeq.viz.diagrams`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ddeq.viz.drawing import (
    FREE,
    INPUT,
    RESULT,
    ROTATED,
    TARGET,
    TEXT,
    UNSURE,
    Cloud,
    as_points,
    frame,
    marker_area,
    overlay,
    panels,
    scatter,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CompletionRow",
    "FlowRow",
    "classification_grid",
    "completion_grid",
    "completion_picture",
    "flows",
]


@dataclass(frozen=True, eq=False)
class CompletionRow:
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


@dataclass(frozen=True, eq=False)
class FlowRow:
    """One row of :func:`flows`: a partial cloud whose free particles move.

    Attributes:
        input: The partial cloud, ``(M, d)``.
        free: The free particles at equal times from the start to the equilibrium, ``(K, d)`` each.
        residuals: ``MMD^2(z, F(z))`` at the start and at the equilibrium.
        steps: Steps that the solver took.
        target: The whole cloud, ``(T, d)``.
        title: What the cloud is.
    """

    input: Cloud
    free: Sequence[Cloud]
    residuals: tuple[float, float]
    steps: int
    target: Cloud
    title: str = ""


def completion_grid(rows: Sequence[CompletionRow]) -> Figure:
    """Input | free particles at the start | input with the new points | target, a row per cloud."""
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


def completion_picture(
    original: Cloud,
    new: Cloud,
    confidence: np.ndarray | None = None,
    counts: tuple[int, int] | None = None,
) -> Figure:
    """A cloud, ``(M, d)`` in grey, and beside it the same with its new points.

    Args:
        original: The cloud.
        new: The new points, ``(K, d)``.
        confidence: How sure each is, ``(K,)`` from 0 to 1: pale points are unsure, deep ones sure.
        counts: How many points the cloud and the new ones have, where fewer are drawn.
    """
    figure, axes = panels(1, 2, size=3.2)
    area = 2 * marker_area(len(original) + len(new))
    given, added = counts or (len(original), len(new))
    scatter(axes[0, 0], original, INPUT, f"input, {_points(given)}", area)
    label, layers = f"{_points(added)} added", [(new, RESULT)]
    if confidence is not None and len(new):
        label, layers = f"{label}, the deeper the surer", _by_confidence(new, confidence)
    overlay(axes[0, 1], [(original, INPUT), *layers], label, area)
    frame(axes, [original, new])
    return figure


def _points(count: int) -> str:
    return f"{count:,} point{'' if count == 1 else 's'}"


def _by_confidence(new: Cloud, confidence: np.ndarray) -> list[tuple[Cloud, str]]:
    """New points in ten layers from pale to deep, each with the colour of its confidence."""
    from matplotlib.colors import LinearSegmentedColormap, to_hex

    level = np.clip(np.floor(10 * np.asarray(confidence)), 0, 9).astype(int)
    colors = LinearSegmentedColormap.from_list("sure", [UNSURE, RESULT])
    return [(new[level == k], to_hex(colors(k / 9))) for k in range(10)]


def flows(rows: Sequence[FlowRow]) -> Figure:
    """The moments of each flow side by side, a row per cloud, and the target at the end."""
    if not rows:
        raise ValueError("a picture needs at least one flow")
    figure, axes = panels(len(rows), 1 + max(len(row.free) for row in rows), size=1.4)
    for row, line in zip(rows, axes, strict=True):
        area = 0.8 * marker_area(len(row.target))
        last = len(row.free) - 1
        for i, (ax, free) in enumerate(zip(line, row.free, strict=False)):
            layers = [(row.input, INPUT), (free, FREE if i == 0 else RESULT)]
            overlay(ax, layers, {0: "start", last: "equilibrium"}.get(i), area)
        for ax, step, residual in zip(line[[0, last]], (0, row.steps), row.residuals, strict=True):
            text = f"step {step}, residual {residual:.2g}"
            ax.set_xlabel(text, fontsize=8, color=TEXT)
        overlay(line[-1], [(row.target, TARGET)], "target", area)
        frame(line, [row.input, *row.free, row.target])
        line[0].set_ylabel(row.title, fontsize=9, color=TEXT)
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


def _classified(ax: Any, cloud: Cloud, title: str, right: bool) -> None:
    """A cloud under its predicted class, red where that is wrong."""
    cloud = as_points(cloud)
    scatter(ax, cloud, TARGET if right else ROTATED, size=0.5 * marker_area(len(cloud)))
    ax.set_title(title, fontsize=8, color=TEXT if right else ROTATED, pad=3)
