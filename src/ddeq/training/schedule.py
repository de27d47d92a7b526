"""Learning-rate schedules by name."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["SCHEDULES"]


def cosine(progress: float, warm: float) -> float:
    """To zero along a cosine, times a linear warm-up."""
    return warm * 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))


def paper(progress: float, warm: float) -> float:
    """A tenth after 40 % of the run, a hundredth after 80 %."""
    return 1.0 if progress < 0.4 else 0.1 if progress < 0.8 else 0.01


SCHEDULES: dict[str, Callable[[float, float], float]] = {"cosine": cosine, "paper": paper}
"""``(progress, warm) -> factor`` of the highest rate; progress and warm-up from 0 to 1."""
