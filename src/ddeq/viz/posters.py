"""Pictures for a page: a few completions, large enough to be seen without zooming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddeq.viz.drawing import (
    INPUT,
    RESULT,
    ROTATED,
    TARGET,
    TEXT,
    VIEW,
    Cloud,
    frame,
    marker_area,
    overlay,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Completed", "scan_sheet", "tour"]

_WIDTH = 9.0  # inches: a page is about 900 pixels wide, so that 100 of them show an inch
_LABEL = 12  # points, as the text around the picture
_SMALL = 10


@dataclass(frozen=True, eq=False)
class Completed:
    """A cloud that lost a part, and what was put there; all in its own units.

    Attributes:
        input: What was left of it, ``(M, d)``.
        new: The new points, ``(K, d)``.
        truth: The whole cloud, ``(T, d)``.
        title: What it shows, such as the class that was found.
        right: Whether that is true; a wrong title is red.
    """

    input: Cloud
    new: Cloud
    truth: Cloud
    title: str = ""
    right: bool = True


def tour(digits: Sequence[Completed], scan: Completed) -> Figure:
    """Digits above, each as it was given and completed, and below a scanned object.

    All panels are drawn in proportion. The title of a digit is the class that was found for the
    whole one, that of the scan says what it is.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, 2 * _WIDTH / len(digits) + 3.9), layout="constrained")
    heights = [2 * _WIDTH / len(digits) + 0.3, 3.6]
    top, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)[:, 0]
    axes = top.subplots(2, len(digits), squeeze=False)
    for (upper, lower), item in zip(axes.T, digits, strict=True):
        area = 1.1 * marker_area(len(item.truth))
        _bare(upper, lower)
        overlay(upper, [(item.input, INPUT)], size=area)
        overlay(lower, [(item.input, INPUT), (item.new, RESULT)], size=area)
        upper.set_title(item.title, fontsize=_LABEL, color=TEXT if item.right else ROTATED)
        frame([upper, lower], [item.truth, item.input, item.new])
    for ax, text in zip(axes[:, 0], ("given", "completed"), strict=True):
        ax.set_ylabel(text, fontsize=_LABEL, color=TEXT)
    panels = below.subplots(1, 3)
    _triptych(panels, scan, 2.6, ("given: a scan with holes", "completed", "the whole object"))
    below.supxlabel(scan.title, fontsize=_SMALL, color=TEXT)
    return figure


def scan_sheet(items: Sequence[Completed], columns: int = 2) -> Figure:
    """Input, result and truth of each cloud side by side, ``columns`` clouds in a row."""
    from matplotlib.figure import Figure

    if not items:
        raise ValueError("a sheet needs at least one completion")
    rows = -(-len(items) // columns)
    side = _WIDTH / (3 * columns)
    figure = Figure(figsize=(_WIDTH, rows * (side + 0.25) + 0.3), layout="constrained")
    blocks = figure.subfigures(rows, columns, squeeze=False, wspace=0.04)
    for i, (block, item) in enumerate(zip(blocks.flat, items, strict=False)):
        heads = ("input", "result", "truth") if i < columns else ("", "", "")
        _triptych(block.subplots(1, 3), item, 0.55 * side, heads)
        block.supxlabel(item.title, fontsize=_SMALL, color=TEXT)
    return figure


def _triptych(axes: Any, item: Completed, scale: float, heads: Sequence[str]) -> None:
    """Input, result and truth in three panels of one frame; ``scale`` is of the markers."""
    _bare(*axes)
    area = scale * marker_area(len(item.truth))
    scenes = (
        [(item.input, INPUT)],
        [(item.input, INPUT), (item.new, RESULT)],
        [(item.truth, TARGET)],
    )
    for ax, layers, head in zip(axes, scenes, heads, strict=True):
        overlay(ax, layers, size=area, view=VIEW)
        ax.set_title(head, fontsize=_LABEL, color=TEXT)
    frame(axes, [item.truth, item.input, item.new])


def _bare(*axes: Any) -> None:
    for ax in axes:
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
