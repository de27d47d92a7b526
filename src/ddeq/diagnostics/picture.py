"""A report in one picture: residual, drift, spectral radius, and an answer that stays or drifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ddeq.diagnostics.checks import applied
from ddeq.diagnostics.problem import Problem
from ddeq.diagnostics.report import EquilibriumReport
from ddeq.solvers.base import Selectable
from ddeq.viz.drawing import INPUT, RESULT, ROTATED, TARGET, TEXT, overlay, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["picture"]

_FACTORS = ("1x", "3x", "10x", "100x")


def picture(report: EquilibriumReport, problem: Problem, seed: int = 0) -> Figure:
    """The report as a figure of four panels.

    Args:
        report: Of ``problem``.
        problem: Of which the first cloud is shown.
        seed: Of the start.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 3.0), layout="constrained")
    axes = figure.subplots(1, 4)
    _residual(axes[0], report)
    _drift(axes[1], report)
    _radius(axes[2], report)
    if problem.metric == "W2":
        _answers(axes[3], report, problem, seed)
    else:
        _counts(axes[3], report)
    return figure


def _residual(ax: Axes, report: EquilibriumReport) -> None:
    residual = report.found["residual"]
    curve = np.maximum(residual["by evaluation"], 1e-12)
    ax.semilogy(np.arange(1, len(curve) + 1), curve, color=RESULT)
    ax.axhline(1e-6, color=INPUT, linestyle=":")
    ax.axvline(report.found["evaluations"], color=INPUT, linewidth=0.8)
    _label(
        ax, "evaluations", f"residual over {residual['over']}", "grey line: the answer; dotted: bar"
    )


def _drift(ax: Axes, report: EquilibriumReport) -> None:
    drift = report.found["drift"]
    moved = [drift[factor]["over unit"] for factor in _FACTORS]
    ax.bar(_FACTORS, moved, color=RESULT, width=0.6)
    ax.axhline(0.05, color=INPUT, linestyle=":")
    ax.set_ylim(0, max(0.1, 1.1 * max(moved)))
    _label(ax, "evaluations", f"W2 over {drift['over']}", "drift from the answer; dotted: bar")


def _radius(ax: Axes, report: EquilibriumReport) -> None:
    radii = report.found["spectral radius"]
    both = np.concatenate([radii["at the answer"], radii["at 10x"]])
    bins = np.linspace(min(0.3, both.min()), max(1.2, both.max()), 31).tolist()
    ax.hist(radii["at the answer"], bins, color=RESULT, alpha=0.8, label="at the answer")
    ax.hist(radii["at 10x"], bins, histtype="step", color=TARGET, label="at 10x")
    ax.axvline(0.97, color=INPUT, linestyle=":")
    ax.axvline(1.0, color=ROTATED, linewidth=0.8)
    ax.set_ylim(top=1.35 * ax.get_ylim()[1])  # room for the legend
    ax.legend(frameon=False, fontsize=7.5, labelcolor=TEXT, loc="upper left")
    _label(ax, "spectral radius of dF/dz", "clouds", "dotted: bar; red: 1")


def _answers(ax: Axes, report: EquilibriumReport, problem: Problem, seed: int) -> None:
    """The first cloud's answer, and where it is at 100x evaluations."""
    answer, f = problem.solve(problem.start(seed))[0], problem.f
    if isinstance(f, Selectable):  # the other clouds need not go on
        answer, f = answer[0], f.select(torch.tensor([0]))
    late = applied(f, answer, 99 * report.found["evaluations"])
    first, last = (problem.read(z).to_list()[0] for z in (answer, late))
    overlay(ax, [(first, RESULT), (last, TARGET)], size=14)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title("one answer: 1x orange, 100x blue", fontsize=9, color=TEXT)


def _counts(ax: Axes, report: EquilibriumReport) -> None:
    scores = report.found["particles"].get("score by number", {})
    ax.plot([int(count) for count in scores], list(scores.values()), "o-", color=RESULT)
    ax.set_xscale("log")
    metric = report.found["metric"]
    if metric == "accuracy":
        ax.set_ylim(min(0.9, *scores.values()) - 0.02, 1.01)
    _label(ax, "particles at use", metric, f"{metric} by number of particles")


def _label(ax: Axes, x: str, y: str, title: str) -> None:
    ax.set_xlabel(x, fontsize=9, color=TEXT)
    ax.set_ylabel(y, fontsize=9, color=TEXT)
    ax.set_title(title, fontsize=9, color=TEXT)
    style_axes(ax)
