"""A film of completions: a solid cloud that turns beside flat ones while their holes are filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ddeq.viz.drawing import (
    INPUT,
    RESULT,
    TEXT,
    VIEW,
    Cloud,
    as_points,
    frame,
    marker_area,
    overlay,
)
from ddeq.viz.gliding import glide
from ddeq.viz.moving import as_picture, write_pictures

__all__ = ["Film", "write_turning"]

_FRAMES = 80  # of a whole turn
_BEFORE, _AFTER = 14, 26  # of them before particles move, and after
_MIDDLE = 0.42  # of the turn: half of the way of the particles is done
_PAUSE = 70  # milliseconds per frame
_SIZE, _DPI = (8.0, 3.7), 100
_CAPTIONS = ("given", "particles flow", "completed")


@dataclass(frozen=True, eq=False)
class Film:
    """A partial cloud and the solve that completes it, in one frame of coordinates.

    Attributes:
        input: The partial cloud, ``(M, d)``.
        frames: The particles after each step of the solver, ``(K, d)`` each.
    """

    input: Cloud
    frames: Sequence[Cloud]


def write_turning(path: str | Path, solid: Film, flats: Sequence[Film] = ()) -> None:
    """Writes a film that repeats without a seam: one turn of the solid cloud, flat ones beside it.

    The holes face the viewer while particles flow into them.

    Args:
        path: A GIF or MP4 file.
        solid: A 3-D cloud, z up.
        flats: Up to four 2-D clouds.
    """
    from matplotlib.figure import Figure

    width, height = _SIZE
    size = (width if flats else 0.5 * width, height)
    figure = Figure(figsize=size, dpi=_DPI, facecolor="white")
    grid = figure.add_gridspec(
        2, 4 if flats else 2, left=0, right=1, bottom=0.09, top=0.98, wspace=0.04, hspace=0.1
    )
    axes = [figure.add_subplot(grid[:, :2])]
    axes += [figure.add_subplot(grid[i // 2, 2 + i % 2]) for i in range(len(flats))]
    films = [_centred(solid), *flats]
    moving = [_shown(film) for film in films]
    for ax, film, frames in zip(axes, films, moving, strict=True):
        ax.set_axis_off()
        frame([ax], [film.input, frames[-1]])
    whole = np.concatenate([films[0].input, moving[0][-1]])
    reach = max(float(np.linalg.norm(whole, axis=1).max()), 1e-9)
    axes[0].set(xlim=(-reach, reach), ylim=(-reach, reach))
    caption = figure.text(0.5, 0.035, "", ha="center", fontsize=12, color=TEXT)
    images = []
    front = _front(films[0].input, moving[0][-1])
    for k in range(_FRAMES):
        view = (front + 360.0 * (k - _MIDDLE * _FRAMES) / _FRAMES, VIEW[1])
        for ax, film, frames in zip(axes, films, moving, strict=True):
            _draw(ax, film.input, frames[k], view)
        caption.set_text(_CAPTIONS[(k >= _BEFORE) + (k >= _FRAMES - _AFTER)])
        images.append(as_picture(figure))
    write_pictures(path, images, [_PAUSE] * len(images))


def _centred(film: Film) -> Film:
    """The film with the middle of its result at the origin."""
    whole = np.concatenate([as_points(film.input), as_points(film.frames[-1])])
    middle = 0.5 * (whole.min(0) + whole.max(0))
    return Film(as_points(film.input) - middle, [as_points(f) - middle for f in film.frames])


def _front(still: np.ndarray, new: np.ndarray) -> float:
    """The azimuth in degrees from which most of the new points are in front of the others."""
    if not len(new):
        return VIEW[0]
    toward = new[:, :2].mean(0) - still[:, :2].mean(0)
    return float(np.degrees(np.arctan2(toward[1], toward[0])))


def _shown(film: Film) -> list[np.ndarray]:
    """The particles of each picture: none before they flow, and the result after."""
    moved, _ = glide(film.frames, _FRAMES - _BEFORE - _AFTER)
    return [moved[0][:0]] * _BEFORE + moved + [moved[-1]] * _AFTER


def _draw(ax: Any, still: Cloud, moving: np.ndarray, view: tuple[float, float]) -> None:
    for old in list(ax.collections):
        old.remove()
    solid = moving.shape[1] == 3
    area = (2.6 if solid else 1.3) * marker_area(len(still))
    overlay(ax, [(still, INPUT), (moving, RESULT)], size=area, view=view)
