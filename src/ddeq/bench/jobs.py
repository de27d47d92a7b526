"""What the processes of the step section do; each function prepares, and returns what is run."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ddeq.bench.problems import Samples, problem, training_step
from ddeq.bench.reference import load_reference
from ddeq.bench.worker import seconds
from ddeq.data import load
from ddeq.evaluation import partial_tasks
from ddeq.models import Completer
from ddeq.solvers import Solver
from ddeq.solvers.solution import Solution

__all__ = ["completion", "once", "reference_step", "solver_step", "training"]

Timing = tuple[int, float]
"""How often a call is timed, and the seconds after which it is not repeated."""


def solver_step(
    samples: Samples, head_size: int, seed: int, timing: Timing, solver: Solver
) -> Callable[[], float]:
    """Seconds of one step of a solver: a solve over its evaluations, mean over clouds."""
    case = problem(samples, head_size, seed)
    with torch.no_grad():
        f = case.model.network.bind(case.model.network.encode(case.x, case.fixed))

    solutions: list[Solution] = []

    def solve() -> None:
        solutions[:] = [solver.solve(f, case.z0)]

    def measure() -> float:
        elapsed = seconds(solve, *timing)
        return elapsed / float(solutions[0].steps.double().mean())

    return measure


def training(
    samples: Samples, head_size: int, seed: int, timing: Timing, solver: Solver
) -> Callable[[], float]:
    """Seconds of one training step."""
    case = problem(samples, head_size, seed)
    case.model.solver = solver
    return lambda: seconds(lambda: training_step(case, seed), *timing)


def once(samples: Samples, head_size: int, seed: int, solver: Solver) -> Callable[[], int]:
    """One training step, for its memory; gives the evaluations of its solve."""
    case = problem(samples, head_size, seed)
    case.model.solver = solver
    return lambda: training_step(case, seed)


def reference_step(
    samples: Samples, head_size: int, seed: int, timing: Timing
) -> Callable[[], tuple[float, float]]:
    """Seconds of one step of the reference, and of its evaluation with a backward pass."""
    reference = load_reference()
    case = problem(samples, head_size, seed)
    slow = reference.ReferenceMap(case.model.network, case.x, case.fixed)
    repeat = min(timing[0], 2), timing[1]

    def measure() -> tuple[float, float]:
        step = seconds(lambda: reference.ReferenceFlow().step(slow, case.z0), *repeat)
        return step, seconds(lambda: case.loss(slow(case.z0)).backward(), *repeat)

    return measure


def completion(points: int, seed: int, timing: Timing) -> Callable[[], tuple[int, float]]:
    """Points of the embedded partial digit nearest to ``points``, and seconds to complete it."""
    model = Completer.from_pretrained("mnist-pc")
    tasks = partial_tasks(load("mnist-mini", "test"), seed=seed)
    clouds = (tasks[i].partial for i in range(len(tasks)))
    cloud = min(clouds, key=lambda cloud: abs(len(cloud) - points))

    def measure() -> tuple[int, float]:
        return len(cloud), seconds(lambda: model.complete(cloud, seed), 3 * timing[0], timing[1])

    return measure
