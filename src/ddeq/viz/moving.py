"""Pictures one after another in one file: a GIF, or an MP4 where ffmpeg is at hand."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path
from ddeq.viz.drawing import INPUT, RESULT, TEXT

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

__all__ = ["MOVING", "as_picture", "check_moving", "write_pictures"]

MOVING = (".gif", ".mp4")
"""Endings of the files."""

_SHADES = {INPUT: 12, RESULT: 12, TEXT: 7}  # of each colour, from white on: with white 32
_RATE = 25  # pictures per second of an MP4
_EVEN = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white"  # the encoder takes even sizes only


def as_picture(figure: Any) -> Picture:
    """A figure of matplotlib as a picture of Pillow."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def check_moving(path: str | Path) -> None:
    """Says in one line what is missing to write the file; call it before the work."""
    if Path(path).suffix.lower() == ".mp4":
        _ffmpeg()


def write_pictures(path: str | Path, pictures: Sequence[Picture], pauses: Sequence[int]) -> None:
    """Writes pictures of one size as a film.

    A GIF repeats, in the shades of the house's colours: one palette for all pictures, so that none
    flickers, and a colour that few points have is not lost.

    Args:
        path: A file of :data:`MOVING`.
        pictures: In RGB.
        pauses: How long each is shown, in milliseconds.

    Raises:
        DdeqError: for an MP4, if there is no ffmpeg.
    """
    if Path(path).suffix.lower() == ".mp4":
        _write_mp4(path, pictures, pauses)
        return
    from PIL import Image

    palette = Image.new("P", (1, 1))
    palette.putpalette(_palette())
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    with atomic_path(path) as draft:
        few[0].save(draft, save_all=True, append_images=few[1:], duration=list(pauses), loop=0)


def _palette() -> list[int]:
    """White, and shades of the colours from pale to full, as one list of red, green and blue."""
    from matplotlib.colors import to_rgb

    shades = [np.ones((1, 3))]
    for color, count in _SHADES.items():
        share = np.linspace(0, 1, count + 1)[1:, None]
        shades.append(1 - share * (1 - np.array(to_rgb(color))))
    return [int(value) for value in np.round(255 * np.concatenate(shades)).ravel()]


def _write_mp4(path: str | Path, pictures: Sequence[Picture], pauses: Sequence[int]) -> None:
    size = "x".join(map(str, pictures[0].size))
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(_RATE), "-i", "-"]
    made = ["-vf", _EVEN, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    ends = np.round(np.cumsum([0, *pauses]) * _RATE / 1000).astype(int)
    shown = np.maximum(np.diff(ends), 1)
    stream = b"".join(
        picture.tobytes() * int(count) for picture, count in zip(pictures, shown, strict=True)
    )
    with atomic_path(path) as draft:
        words = [_ffmpeg(), "-v", "error", "-y", *given, *made, "-f", "mp4", str(draft)]
        done = subprocess.run(words, input=stream, capture_output=True, check=False)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise DdeqError(f"{path}: ffmpeg failed ({lines[-1] if lines else done.returncode})")


def _ffmpeg() -> str:
    """The program that encodes."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        import imageio_ffmpeg
    except ImportError:
        raise DdeqError(
            "an mp4 needs ffmpeg: install it, or pip install imageio-ffmpeg; gif and html need none"
        ) from None
    program: str = imageio_ffmpeg.get_ffmpeg_exe()
    return program
