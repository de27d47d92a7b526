"""Checks of single values: one clear line for each that is wrong."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable
from typing import Any

from ddeq.errors import DdeqError

__all__ = ["flag", "number", "whole", "whole_numbers"]


def whole(name: str, value: Any, least: int, most: int) -> int:
    """An integer in ``[least, most]``; neither a boolean nor a float with a whole value."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DdeqError(
            f"{name} must be a whole number from {least} to {most}, got {reprlib.repr(value)}"
        )
    return value


def number(name: str, value: Any, low: float, high: float) -> float:
    """A finite number in ``[low, high)``."""
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or not low <= value < high:
        raise DdeqError(
            f"{name} must be a number from {low:g} to below {high:g}, got {reprlib.repr(value)}"
        )
    return value


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise DdeqError(f"{name} must be true or false, got {reprlib.repr(value)}")
    return value


def whole_numbers(name: str, values: Any, least: int, most: int) -> tuple[int, ...]:
    """A tuple of integers in ``[least, most]``."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise DdeqError(f"{name} must be a list of whole numbers, got {reprlib.repr(values)}")
    return tuple(whole(f"{name}[{i}]", value, least, most) for i, value in enumerate(values))
