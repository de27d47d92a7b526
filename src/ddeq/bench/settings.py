"""How much is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FULL", "QUICK", "Settings", "Track", "untracked"]

Track = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Passes the items of an iterable on and reports them: ``(items, how many, label) -> items``."""


def untracked(items: Iterable[Any], total: int, label: str) -> Iterable[Any]:
    """A :data:`Track` that reports nothing."""
    return items


def _growth() -> dict[str, tuple[int, ...]]:
    return {
        "points": (100, 200, 500, 1000, 2000, 5000, 10_000),
        "particles": (10, 20, 50, 100, 200, 500, 1000),
        "steps": (5, 10, 20, 40, 80),
        "batch": (4, 8, 16, 32, 64, 128),
    }


def _base() -> dict[str, int]:
    return {"points": 300, "particles": 30, "steps": 8, "batch": 8}


@dataclass(frozen=True)
class Settings:
    """How much is measured; the defaults are those of a whole run.

    Attributes:
        batch: Clouds a batch.
        points: Points of a ModelNet40-s cloud.
        heads: Head sizes; the paper's network has 4.
        repeat: Timed calls after one to warm up; their median counts.
        budget: Seconds after which a call is not repeated again.
        reference_batch: Most clouds the reference is given; its cost is scaled to ``batch``.
        reference_bytes: Most memory of the reference's attention weights.
        flat_steps: Solver steps of the training steps whose memory is compared.
        flat_batch: Clouds in these.
        clouds: Test clouds on which solvers are compared.
        evaluations: Numbers of evaluations at which they are.
        growth: Values of each size that grows, ascending.
        base: Its value while another grows.
        threads: Of torch; 0 leaves its own choice.
        seed: Of batches, weights and particles.
        root: Folder with data; ``$DDEQ_DATA`` if not given.
    """

    batch: int = 64
    points: int = 800
    heads: tuple[int, ...] = (4, 32)
    repeat: int = 5
    budget: float = 20.0
    reference_batch: int = 64
    reference_bytes: float = 6e9
    flat_steps: tuple[int, ...] = (5, 30, 100)
    flat_batch: int = 64
    clouds: int = 64
    evaluations: tuple[int, ...] = (4, 8, 12, 30, 100)
    growth: dict[str, tuple[int, ...]] = field(default_factory=_growth)
    base: dict[str, int] = field(default_factory=_base)
    threads: int = 0
    seed: int = 0
    root: str | None = None


FULL = Settings()
"""Everything; takes a quarter of an hour or more."""

QUICK = Settings(
    heads=(32,),
    repeat=1,
    budget=0.5,
    reference_batch=4,
    flat_batch=8,
    clouds=16,
    evaluations=(4, 12, 30),
    growth={
        "points": (100, 300, 1000),
        "particles": (10, 30, 100),
        "steps": (4, 12, 36),
        "batch": (2, 6, 18),
    },
    base={"points": 100, "particles": 10, "steps": 4, "batch": 2},
)
"""A look at everything in under a minute."""
