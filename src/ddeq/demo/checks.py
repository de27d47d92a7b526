"""What the page may send: anything else is refused with a sentence for the person before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ddeq.errors import DdeqError

__all__ = [
    "LARGEST",
    "MAX_POINTS",
    "RefusedError",
    "choice",
    "cloud",
    "direction",
    "json_object",
    "size",
    "strokes",
]

MAX_POINTS = 1024
"""Of a cloud on the page; more than a network sees would only slow it down."""

LARGEST = 1e12
"""Coordinates beyond are a slip, and their squares leave float32."""

_MAX_SIZE = 10**9
_MAX_STROKES = 500
_MAX_CORNERS = 50_000


class RefusedError(DdeqError):
    """A request that cannot be met; the message is a sentence, ``status`` that of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a request carries."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RefusedError("The request is not JSON.") from None
    if not isinstance(value, dict):
        raise RefusedError("The request must be a JSON object.")
    return value


def cloud(value: Any, what: str = "The cloud", least: int = 1) -> np.ndarray:
    """Points ``(N, d)``, ``d`` = 2 or 3; float32 where that holds them exactly, else float64.

    Args:
        value: A list of points, each a list of numbers.
        what: Begins the sentence if it is something else.
        least: Fewest points.
    """
    if not isinstance(value, list):
        raise RefusedError(f"{what} must be a list of points.")
    if len(value) > MAX_POINTS:
        raise RefusedError(f"{what} has {len(value):,} points; at most {MAX_POINTS:,} fit.", 413)
    if len(value) < least:
        raise RefusedError(f"{what} has no points: draw or pick one first.")
    if not value:
        return np.empty((0, 2), dtype=np.float32)
    points = _numbers(value, what)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise RefusedError(f"{what} must have points of two or three numbers each.")
    single = points.astype(np.float32)
    return single if (single == points).all() else points


def direction(value: Any) -> np.ndarray:
    """Three numbers, not all 0, ``(3,)``."""
    found = _numbers(value, "The camera") if isinstance(value, list) else np.empty(0)
    if found.shape != (3,) or not np.abs(found).max() > 1e-9:
        raise RefusedError("The camera must be a direction: three numbers, not all 0.")
    return found


def size(value: Any, least: int) -> int:
    """How many points a cloud has of which at least so many are on the page."""
    if value is None:
        return least
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MAX_SIZE:
        raise RefusedError(f"The size must be a whole number from {least} to {_MAX_SIZE}.")
    return value


def strokes(value: Any) -> list[np.ndarray]:
    """Lines of a drawing, each ``(n, 2)`` with ``n >= 1``, kept on the canvas."""
    from ddeq.demo.strokes import CANVAS

    if not isinstance(value, list) or not all(isinstance(line, list) for line in value):
        raise RefusedError("The drawing must be a list of strokes.")
    lines = [line for line in value if line]
    if not lines:
        raise RefusedError("The drawing is empty: draw a digit first.")
    if len(lines) > _MAX_STROKES or sum(map(len, lines)) > _MAX_CORNERS:
        raise RefusedError("The drawing has too many strokes: clear it and draw again.", 413)
    arrays = [_numbers(line, "The drawing") for line in lines]
    if any(line.ndim != 2 or line.shape[1] != 2 for line in arrays):
        raise RefusedError("The drawing must have points of two numbers each.")
    return [np.clip(line, 0.0, CANVAS) for line in arrays]


def choice(value: Any, known: Sequence[str], what: str) -> str:
    """One of the names that are known."""
    if not isinstance(value, str) or value not in known:
        raise RefusedError(f"{what} must be one of {', '.join(known)}.")
    return value


def _numbers(value: list[Any], what: str) -> np.ndarray:
    """A list of lists of finite numbers as float64; neither text nor truth values are numbers."""
    try:
        array = np.array(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        raise RefusedError(f"{what} must hold numbers only, equally many for each point.") from None
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise RefusedError(f"{what} has a coordinate that is not a finite number.")
    if (np.abs(array) > LARGEST).any():
        raise RefusedError(f"{what} has a coordinate beyond {LARGEST:g}.")
    return array
