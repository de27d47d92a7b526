"""One interface for all solvers, and the one loop that drives them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import MMD, Divergence
from ddeq.registry import Registered
from ddeq.solvers.solution import Solution

__all__ = ["Map", "Selectable", "Solver", "State", "Step"]

Map = Callable[[PointClouds], PointClouds]
State = dict[str, Tensor]  # every tensor has the batch as its first dimension


@runtime_checkable
class Selectable(Protocol):
    """A map that can be narrowed to some clouds of its batch, so that finished ones leave."""

    def __call__(self, z: PointClouds) -> PointClouds: ...

    def select(self, index: Tensor) -> Map: ...


class Step(NamedTuple):
    """One step of a solver at ``z``.

    Attributes:
        image: ``F(z)``, evaluated once.
        residual: ``D(z, F(z))``, ``(B,)``.
        points: The next iterate, ``(B, N, p)``.
        state: What the solver carries to the next step.
    """

    image: PointClouds
    residual: Tensor
    points: Tensor
    state: State


@dataclass(frozen=True)
class Solver(Registered, ABC):
    """Finds ``z = F(z)`` as a measure. Subclasses say how to step; :meth:`solve` owns the loop.

    Attributes:
        max_steps: Largest number of evaluations of ``F``.
        tol: A cloud stops when ``D(z, F(z)) <= tol * D(z_0, F(z_0))``, or is as small as rounding
            lets it get.
        divergence: ``D``, the squared MMD with the Riesz kernel by default.
    """

    max_steps: int = 200
    tol: float = 1e-4
    divergence: Divergence = field(default_factory=MMD)

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {self.max_steps}")
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, got {self.tol}")

    def init(self, z: PointClouds) -> State:
        """The state before the first step."""
        return {}

    @abstractmethod
    def step(self, f: Map, z: PointClouds, state: State, k: int) -> Step:
        """Step number ``k`` from ``z``, with exactly one evaluation of ``f``."""

    def residual(self, z: PointClouds, image: PointClouds) -> Tensor:
        """``D(z, F(z))``, without a graph, ``(B,)``."""
        return self.divergence.evaluate(z, image)

    def solve(self, f: Map, z0: PointClouds, *, save_every: int | None = None) -> Solution:
        """Runs the solver from ``z0``.

        Every cloud has its own stop: when it is done it is frozen, so its result does not depend
        on the others of the batch. If ``f`` has a method ``select(index)``, finished clouds leave
        the batch and cost nothing. No autograd graph is kept: memory does not grow with steps.
        To hold some particles still, solve for :class:`ddeq.solvers.FreeParticles`.

        Args:
            f: The map, from clouds to clouds of the same sizes.
            z0: Where to start.
            save_every: Keep every so many iterates in ``Solution.trajectory``.

        Returns:
            The best iterate by residual, with its residual, steps and status.
        """
        # Inference tensors cannot enter a graph, and a flow needs one: leave that mode.
        with torch.inference_mode(False), torch.no_grad():
            z0 = z0.fresh()
            return _Loop(self, f, z0, save_every).run()


class _Loop:
    """The state of one solve. ``active`` are the clouds still moving, as indices of the batch."""

    def __init__(self, solver: Solver, f: Map, z0: PointClouds, save_every: int | None) -> None:
        if save_every is not None and save_every < 1:
            raise ValueError(f"save_every must be at least 1, got {save_every}")
        self.solver, self.f, self.z0, self.save_every = solver, f, z0, save_every
        size, device = len(z0), z0.points.device
        self.active = torch.arange(size, device=device)
        self.value, self.image = z0.points.clone(), z0.points.clone()
        self.current = z0.points.clone()
        self.floor = solver.divergence.rounding(z0)
        self.best = z0.points.new_full((size,), torch.inf)
        self.first = self.best.clone()
        self.last = self.best.clone()
        self.steps = torch.zeros(size, dtype=torch.long, device=device)
        self.converged = torch.zeros(size, dtype=torch.bool, device=device)
        self.failed = self.converged.clone()
        self.residuals: list[Tensor] = []
        self.trajectory: list[PointClouds] = []

    def run(self) -> Solution:
        solver, z, f = self.solver, self.z0, self.f
        state = solver.init(z)
        for k in range(solver.max_steps):
            step = solver.step(f, z, state, k)
            self._record(k, z, step)
            going = ~(self.converged | self.failed)[self.active]
            if not going.any() or k + 1 == solver.max_steps:
                break
            points, state = step.points, step.state
            if going.all():
                z = z.with_points(points)
            elif isinstance(f, Selectable):
                keep = going.nonzero()[:, 0]
                f, self.active = f.select(keep), self.active[keep]
                state = {name: value[keep] for name, value in state.items()}
                z = z[keep].with_points(points[keep])
            else:
                z = z.with_points(torch.where(going[:, None, None], points, z.points))
        return self._solution()

    def _record(self, k: int, z: PointClouds, step: Step) -> None:
        """Books a step: residuals, stops, the best iterate, what is to be saved."""
        residual = step.residual.clamp(min=0)  # a value of rounding size may fall below 0
        finite = residual.isfinite() & step.image.points.isfinite().flatten(1).all(1)
        moving = ~(self.converged | self.failed)[self.active]
        index = self.active[moving]
        residual, finite = residual[moving], finite[moving]
        self.steps[index] += 1
        self.failed[index] = ~finite
        if k == 0:
            self.first[index] = residual
        else:  # of diverged particles, rounding is all that is left
            lost = self.solver.divergence.rounding(z)[moving] > self.first[index]
            residual = residual.masked_fill(lost, torch.inf)
        self.last[index] = residual
        self.converged[index] = finite & (
            residual <= self.solver.tol * self.first[index] + self.floor[index]
        )
        better = finite & (residual < self.best[index])
        at, source = index[better], moving.nonzero()[better, 0]
        self.best[at] = residual[better]
        self.value[at] = z.points[source]
        self.image[at] = step.image.points[source]
        self.residuals.append(self.last.clone())
        self.current[index] = z.points[moving]
        if self.save_every and (k % self.save_every == 0):
            self.trajectory.append(self.z0.with_points(self.current))

    def _solution(self) -> Solution:
        if self.save_every:
            self.trajectory.append(self.z0.with_points(self.value))
        return Solution(
            value=self.z0.with_points(self.value),
            image=self.z0.with_points(self.image),
            residual=self.best,
            initial_residual=self.first,
            steps=self.steps,
            converged=self.converged,
            failed=self.failed,
            residuals=torch.stack(self.residuals),
            trajectory=tuple(self.trajectory),
        )
