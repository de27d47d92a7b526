"""What is checked: a map for held-out clouds, how it is solved, and how its answers are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ddeq.data import CloudDataset, collate, collate_partial
from ddeq.data.holes import HoleDataset, collate_holes
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import Divergence
from ddeq.measures.metrics import accuracy, wasserstein2
from ddeq.models import Classifier, Completer
from ddeq.models.base import EquilibriumModel, ParticleModel, gaussian_particles
from ddeq.solvers import Map, Solver
from ddeq.solvers.solution import Solution
from ddeq.tasks.completion import partial_tasks

__all__ = ["Problem", "pose"]

Value = Callable[[PointClouds], Tensor]


@dataclass(frozen=True, eq=False)
class Problem:
    """``z = F(z)`` for ``B`` clouds.

    Attributes:
        f: ``F(., X)``, with the marks of its particles if it has any.
        solver: How it is solved.
        start: Where the solver starts with a seed, the marks being those of ``f``,
            ``(B, N, p)``.
        finish: The model's answer from a solution; its best iterate by default.
        read: What a user sees of an answer; the particles themselves by default.
        score: The metric of an answer, ``(B,)``, if there is one.
        error: Its error, ``(B,)``, less is better; the metric itself, or the cross entropy.
        metric: What the score is called.
        with_particles: The same problem with another number of particles, where that is free.
    """

    f: Map
    solver: Solver
    start: Callable[[int], PointClouds]
    finish: Callable[[Solution], PointClouds] = lambda solution: solution.value
    read: Callable[[PointClouds], PointClouds] = lambda z: z
    score: Value | None = None
    error: Value | None = None
    metric: str = ""
    with_particles: Callable[[int], Problem] | None = None

    def solve(self, start: PointClouds) -> tuple[PointClouds, Solution]:
        """The answer from a start, and how it was found."""
        with torch.no_grad():
            solution = self.solver.solve(self.f, start)
            return self.finish(solution), solution

    def unstopped(self, steps: int) -> Problem:
        """The same problem with a solver that takes so many steps, whatever the residual.

        By default a solver also stops where rounding may be all that is left of its divergence,
        which in single precision is long before particles come to rest.
        """
        exact = cast(Divergence, _Unrounded(self.solver.divergence))
        solver = replace(self.solver, max_steps=steps, tol=0.0, divergence=exact)
        return replace(self, solver=solver)


class _Unrounded:
    """A divergence of which nothing is taken for rounding."""

    def __init__(self, divergence: Divergence) -> None:
        self.divergence = divergence

    def __getattr__(self, name: str) -> Any:
        return getattr(self.divergence, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.divergence == other)  # solvers ask which one they are given

    def __hash__(self) -> int:
        return hash(self.divergence)

    def rounding(self, z: PointClouds) -> Tensor:
        """0, ``(B,)``."""
        return z.points.new_zeros(len(z))


def pose(model: EquilibriumModel, data: CloudDataset, clouds: int = 64, seed: int = 0) -> Problem:
    """The problem that a model solves on held-out clouds.

    Args:
        model: A classifier, a regressor or a completer; a completer is told how many points are
            missing, and the frame of the whole unless it is made for that of the visible part
            (``proportions``).
        data: Where the clouds are drawn from, without replacement.
        clouds: ``B``.
        seed: Of that draw, of what is removed, and of particles and marks.

    Raises:
        DdeqError: for fewer than two clouds.
    """
    if min(clouds, len(data)) < 2:
        raise DdeqError(
            f"an equilibrium is compared with that of another cloud: 2 clouds at least, not "
            f"{min(clouds, len(data))}"
        )
    order = np.random.default_rng(seed).permutation(len(data))[:clouds]
    with torch.no_grad():
        if isinstance(model, Completer):
            return _completion(model, data.subset(order), seed)
        assert isinstance(model, ParticleModel)
        return _reading(model, data.subset(order), seed, model.particles)


def _completion(model: Completer, data: CloudDataset, seed: int) -> Problem:
    x, removed = _own_frame(data, seed) if model.proportions else _told_frame(data, seed)
    counts = removed.lengths
    if model.sampling.group:
        counts = counts.clamp(max=model.sampling.group)
    f = model.encode(x).mark(model.noise(counts, seed).points)

    def distance(z: PointClouds) -> Tensor:
        return wasserstein2(model.points(z), removed)

    return Problem(
        f,
        model.solver,
        lambda other: model.start(x, model.noise(counts, other)),
        lambda solution: model.adjoint(f, solution),
        model.points,
        distance,
        distance,
        "W2",
    )


def _told_frame(data: CloudDataset, seed: int) -> tuple[PointClouds, PointClouds]:
    """Partial clouds and what was removed, in the frame of the whole."""
    tasks = partial_tasks(data, seed=seed)
    batch = collate_partial([tasks[i] for i in range(len(tasks))])
    return batch.partial, batch.removed


def _own_frame(data: CloudDataset, seed: int) -> tuple[PointClouds, PointClouds]:
    """The same in the frame of the visible part."""
    tasks = HoleDataset(data.in_proportion(), {"balls": 1.0}, seed=seed)
    batch = collate_holes([tasks[i] for i in range(len(tasks))])
    assert batch.removed is not None  # something was, of all
    return batch.partial, batch.removed


def _reading(model: ParticleModel, data: CloudDataset, seed: int, particles: int) -> Problem:
    if not isinstance(model, Classifier) or model.proportions:
        data = data.in_proportion()
    x, labels = collate([data[i] for i in range(len(data))])
    encoded = model.encode(x)
    lengths = torch.full_like(x.lengths, particles)

    def problem(lengths: Tensor) -> Problem:
        def start(other: int) -> PointClouds:
            return gaussian_particles(lengths, model.network.features, other, model.head.weight)

        f = encoded.mark(start(seed).points)
        score, error, metric = _judged(model, labels)
        return Problem(
            f,
            model.solver,
            start,
            lambda solution: model.adjoint(f, solution),
            score=score,
            error=error,
            metric=metric,
            with_particles=lambda count: problem(torch.full_like(lengths, count)),
        )

    return problem(lengths)


def _judged(model: ParticleModel, labels: Tensor) -> tuple[Value, Value, str]:
    """Score, error and name of the score."""
    if isinstance(model, Classifier):
        return (
            lambda z: accuracy(model.logits(z), labels),
            lambda z: F.cross_entropy(model.logits(z), labels, reduction="none"),
            "accuracy",
        )

    def gap(z: PointClouds) -> Tensor:
        return (model.value(z) - labels).abs()  # type: ignore[operator]

    return gap, gap, "absolute error"
