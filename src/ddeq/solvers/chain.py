"""Solvers one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import Divergence
from ddeq.solvers.base import Map, Solver, State, Step

__all__ = ["Chain"]


@dataclass(frozen=True, init=False)
class Chain(Solver):
    """``Chain(Weiszfeld(4), Picard(26))``: four Weiszfeld steps, then ``z <- F(z)``.

    Each solver takes over where the one before it has used up its ``max_steps``, and starts afresh
    there. One loop runs them all: one stop rule, one residual, the best iterate of the whole.

    Attributes:
        max_steps: Of all together, their sum by default; if there are more the last solver goes on.
        tol: Of the whole, by default that of the last solver.
        divergence: Of the whole and of each solver, by default that of the last.
        parts: The solvers in their order.
    """

    parts: tuple[Solver, ...] = ()

    def __init__(
        self,
        *solvers: Solver,
        max_steps: int | None = None,
        tol: float | None = None,
        divergence: Divergence | None = None,
        parts: Sequence[Solver] = (),
    ) -> None:
        parts = (*solvers, *parts)
        if not parts:
            raise ValueError("a chain must have at least one solver")
        divergence = parts[-1].divergence if divergence is None else divergence
        parts = tuple(replace(part, divergence=divergence) for part in parts)
        steps = sum(part.max_steps for part in parts) if max_steps is None else max_steps
        values = (steps, parts[-1].tol if tol is None else tol, divergence, parts)
        for name, value in zip(("max_steps", "tol", "divergence", "parts"), values, strict=True):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def init(self, z: PointClouds) -> State:
        """The first solver's state before its first step."""
        return self.parts[0].init(z)

    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """A step of the solver whose turn it is."""
        starts = [0, *accumulate(part.max_steps for part in self.parts[:-1])]
        turn = max(i for i, start in enumerate(starts) if k >= start)
        part, own = self.parts[turn], k - starts[turn]
        return part.step(f, z, part.init(z) if own == 0 else state, own)
