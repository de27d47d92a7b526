"""The pictures of ``ddeq bench``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddeq.bench.convergence import METRICS, SOLVERS
from ddeq.viz.drawing import RESULT, SERIES, TARGET, TEXT, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FILES", "convergence", "figures", "growth"]

_NAMES = {"w2": "W2 of the new points", "residual": "relative residual"}

_GROWING = (("seconds", 1.0, "seconds", RESULT), ("memory", 1e-6, "MB", TARGET))

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
            if value == "accuracy":
                ax.set_ylim(min(0.9, *(row[value] for row in rows)) - 0.01, 1.0)
            if key == "evaluations":
                counts = sorted({row[key] for row in rows})
                ax.set_xticks(counts, [str(count) for count in counts])
                ax.minorticks_off()
            _plain(ax, label, _NAMES.get(value, value), task)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right center", frameon=False, fontsize=8)
    return figure


def growth(result: dict[str, Any]) -> Figure:
    """Time and memory of a training step against each size, doubly logarithmic, a row each."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    exponents = result["exponents"]
    figure = Figure(figsize=(11, 5), layout="constrained")
    axes = figure.subplots(2, len(exponents), sharey="row", sharex="col", squeeze=False)
    for row, (key, unit, label, color) in zip(axes, _GROWING, strict=True):
        for ax, (axis, found) in zip(row, exponents.items(), strict=True):
            known = [
                (r["size"], unit * r[key]) for r in result["rows"] if r["axis"] == axis and r[key]
            ]
            if known:
                ax.plot(*zip(*known, strict=True), color=color, marker="o", markersize=3)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            power = "?" if found[key] is None else f"{found[key]:.2f}"
            last = key == _GROWING[-1][0]
            _plain(ax, axis if last else "", label if ax is row[0] else "", f"power {power}")
            ax.tick_params(which="minor", labelbottom=False, labelleft=False)
    return figure


def _plain(ax: Axes, xlabel: str, ylabel: str, title: str) -> None:
    ax.set_xlabel(xlabel, fontsize=9, color=TEXT)
    ax.set_ylabel(ylabel, fontsize=9, color=TEXT)
    ax.set_title(title, fontsize=9, color=TEXT)
    style_axes(ax)
