"""Pictures of the gallery: the answer, and every solver's error on the way to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddeq.gallery import Equation, equations
from ddeq.measures.clouds import PointClouds
from ddeq.viz.drawing import FREE, INPUT, RESULT, SERIES, TARGET, TEXT, frame, panels, style_axes

_MANY = 20_000  # particles of the pictures of iterated function systems
_MOMENTS = (0, 1, 2, 4, 8, 40)  # applications of F that they show


def draw(equation: Equation, z: PointClouds, row: dict[str, Any], path: Path) -> None:
    """Answer and particles, error over evaluations, error over seconds.

    Args:
        equation: Of the gallery.
        z: Its equilibrium.
        row: Its entry in the results.
        path: Of the picture.
    """
    figure = Figure(figsize=(10.5, 3.1), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(1, 1.2, 1.2))
    _answer(axes[0], equation, z)
    for i, (label, found) in enumerate(row["solvers"].items()):
        errors = np.array(found["errors"], dtype=float)
        errors = errors.clip(0.5 * max(row["least"], 1e-6))  # less is rounding
        count = np.arange(1, len(errors) + 1)
        style = {"color": SERIES[i % len(SERIES)], "linewidth": 1.4}
        style["linestyle"] = "-" if i < len(SERIES) else "--"
        axes[1].plot(count, errors, label=label, **style)
        axes[2].plot(count * found["seconds"], errors, **style)
    floor = max(row["least"], 1e-6)
    for ax, label in zip(axes[1:], ("evaluations of F", "seconds"), strict=True):
        ax.axhline(row["least"], color=TEXT, linewidth=0.8, linestyle=":")
        ax.set(xscale="log", yscale="log", ylim=(0.5 * floor, 3 * max(row["start"], 1)))
        ax.set_xlabel(label, fontsize=9, color=TEXT)
        style_axes(ax)
    axes[1].set_ylabel("error over spread", fontsize=9, color=TEXT)
    figure.legend(
        handles=axes[1].get_legend_handles_labels()[0],
        loc="outside right center",
        frameon=False,
        fontsize=7.5,
        labelcolor=TEXT,
        handlelength=1.6,
    )
    _save(figure, path)


def _answer(ax: Axes, equation: Equation, z: PointClouds) -> None:
    """The law by other means in grey or as a line, and the particles in colour."""
    drawn = equation.sample(4000)
    ax.set_title(equation.title, fontsize=10, color=TEXT)
    if z.dim == 1:
        bins = np.linspace(*np.quantile(drawn.points[0, :, 0], (0.0, 0.9995)), 50)
        ax.hist(z.points[0, :, 0], bins, density=True, color=FREE, label="particles")
        ax.hist(
            drawn.points[0, :, 0], bins, density=True, histtype="step", color=TARGET, label="drawn"
        )
        ax.legend(frameon=False, fontsize=8, labelcolor=TEXT)
        ax.set_yticks([])
        style_axes(ax)
    elif z.dim == 2:
        colors = SERIES if len(z) > 1 else (RESULT,)
        for cloud in drawn.to_list():
            ax.scatter(*cloud.T, s=1.5, color="#d5d8dc", linewidths=0)
        for cloud, color in zip(z.to_list(), colors, strict=False):
            ax.scatter(*cloud.T, s=3, color=color, linewidths=0)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    else:
        times = np.arange(1, z.dim + 1) / z.dim
        ax.plot(times, z.points[0, :60].T, color=RESULT, linewidth=0.5, alpha=0.5)
        ax.plot(times, equation.moments()[0][0], color=TARGET, linewidth=2)
        ax.set_xlabel("time", fontsize=9, color=TEXT)
        style_axes(ax)


def draw_iterated(path: Path) -> None:
    """A round cloud becomes a triangle and a fern, one application of ``F`` after the other."""
    figure, axes = panels(2, len(_MOMENTS), size=1.9)
    for line, name in zip(axes, ("sierpinski", "fern"), strict=True):
        equation = equations()[name](particles=_MANY)
        drawn = equation.sample(2000).points[0]
        size = 0.6 * drawn.std(0).mean()
        z = equation.z0.map(lambda noise: drawn.mean(0) + size * noise)  # noqa: B023
        shown = iter(line)
        for k in range(_MOMENTS[-1] + 1):
            if k in _MOMENTS:
                ax = next(shown)
                color = INPUT if k == 0 else "#2f7d4f" if name == "fern" else RESULT
                ax.scatter(*z.points[0].T, s=0.25, color=color, linewidths=0)
                ax.set(aspect="equal")
                if name == "sierpinski":
                    label = "start" if k == 0 else f"F applied {k}x"
                    ax.set_title(label, fontsize=9, color=TEXT)
            z = equation.f(z)
        frame(line, [drawn])
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    """A small file: few dots, 256 colours."""
    import io

    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, bbox_inches="tight", facecolor="white")
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(buffer).convert("RGB").quantize(256).save(path, optimize=True)
