"""The pictures of ``ddeq bench``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddeq.benchmarks.convergence import METRICS, SOLVERS
from ddeq.drawing import RESULT, SERIES, TARGET, TEXT, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FILES", "convergence", "figures", "growth"]

_NAMES = {"w2": "W2 of the new points", "residual": "relative residual"}

FILES = {"convergence": ("convergence.png", "convergence-seconds.png"), "growth": ("growth.png",)}
"""Pictures of each section."""


def figures(section: str, result: dict[str, Any]) -> dict[str, Figure]:
    """The pictures of a section by file name; none for most."""
    if section == "growth":
        return {"growth.png": growth(result)}
    if section == "convergence":
        return {
            "convergence.png": convergence(result, "evaluations", "evaluations of the network"),
            "convergence-seconds.png": convergence(result, "seconds", "seconds"),
        }
    return {}


def convergence(result: dict[str, Any], key: str, label: str) -> Figure:
    """Residual, spread and metric of every solver, a row a task."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(len(METRICS), 3)
    for line, (task, metrics) in zip(axes, METRICS.items(), strict=True):
        rows = [row for row in result["rows"] if row["task"] == task]
        values = ("residual", "spread", metrics[-1])
        for ax, value in zip(line, values, strict=True):
            for i, name in enumerate(SOLVERS):
                part = [(row[key], row[value]) for row in rows if row["solver"] == name]
                ax.plot(*zip(*part, strict=True), color=SERIES[i], label=name, linewidth=1.5)
            ax.set_xscale("log")
            ax.set_yscale("log" if value == "residual" else "linear")
            if key == "evaluations":
                counts = sorted({row[key] for row in rows})
                ax.set_xticks(counts, [str(count) for count in counts])
                ax.minorticks_off()
            _plain(ax, label, _NAMES.get(value, value), task)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right center", frameon=False, fontsize=8)
    return figure


def growth(result: dict[str, Any]) -> Figure:
    """Time and memory of a training step against each size, doubly logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots(2, 2).flat
    for ax, (axis, found) in zip(axes, result["exponents"].items(), strict=False):
        rows = [row for row in result["rows"] if row["axis"] == axis]
        _line(ax, rows, "seconds", 1.0, RESULT)
        other = ax.twinx()
        _line(other, rows, "memory", 1e-6, TARGET)
        _plain(ax, axis, "seconds", _title(found))
        ax.yaxis.label.set_color(RESULT)
        other.set_ylabel("MB", fontsize=9, color=TARGET)
        other.tick_params(which="both", labelsize=8, colors=TEXT, length=3)
        other.spines["top"].set_visible(False)
        ax.spines["right"].set_visible(True)
    return figure


def _title(found: dict[str, float | None]) -> str:
    shown = {key: "?" if value is None else f"{value:.2f}" for key, value in found.items()}
    return f"time: power {shown['seconds']}, memory: power {shown['memory']}"


def _line(ax: Axes, rows: list[dict[str, Any]], key: str, unit: float, color: str) -> None:
    known = [(row["size"], unit * row[key]) for row in rows if row[key]]
    if known:
        ax.plot(*zip(*known, strict=True), color=color, marker="o", markersize=3, linewidth=1.5)
    ax.set_xscale("log")
    ax.set_yscale("log")


def _plain(ax: Axes, xlabel: str, ylabel: str, title: str) -> None:
    ax.set_xlabel(xlabel, fontsize=9, color=TEXT)
    ax.set_ylabel(ylabel, fontsize=9, color=TEXT)
    ax.set_title(title, fontsize=9, color=TEXT)
    style_axes(ax)
