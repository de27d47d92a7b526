"""A film of a completion, for files of its own: a GIF, an MP4, or a page with a slider."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ddeq.errors import DdeqError
from ddeq.viz.animation import write_animation, write_frames
from ddeq.viz.drawing import as_points
from ddeq.viz.gliding import glide
from ddeq.viz.moving import MOVING, check_moving
from ddeq.viz.turning import Film, write_turning

__all__ = ["FILMS", "ready_films", "write_film"]

FILMS = (".html", *MOVING)
"""Endings of the files."""


def ready_films() -> tuple[str, ...]:
    """Those of :data:`FILMS` for which nothing has to be installed."""
    ready = []
    for ending in FILMS:
        with suppress(DdeqError):
            check_moving(f"film{ending}")
            ready.append(ending)
    return tuple(ready)


def write_film(
    path: str | Path,
    film: Film,
    title: str = "",
    residuals: Sequence[float] | None = None,
    spread: Sequence[float] | None = None,
) -> None:
    """Writes how particles came to a cloud, smoothly; the ending of ``path`` says as what.

    A GIF or MP4 of a solid cloud turns it once. A page has a slider, and a solid cloud turns
    under the finger.

    Args:
        path: A file of :data:`FILMS`.
        film: The cloud and the solve.
        title: Stands above a page.
        residuals: Residual of each frame, for a page.
        spread: Spread of the particles in each frame, for a page.
    """
    if Path(path).suffix.lower() == ".html":
        write_animation(path, film.frames, film.input, residuals, title, spread, smooth=True)
    elif as_points(film.input).shape[1] == 3:
        write_turning(path, film)
    else:
        frames, steps = glide(film.frames)
        write_frames(path, frames, film.input, steps=[round(step) for step in steps.tolist()])
