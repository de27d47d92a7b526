"""Short trainings of a small network, equal in everything but what an experiment compares."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddeq.data import CloudDataset
from ddeq.models.base import EquilibriumModel
from ddeq.nn import Network
from ddeq.solvers import Anderson, Broyden, Picard, Solver, WassersteinFlow, Weiszfeld
from ddeq.tasks.report import Mean
from ddeq.training.optimizer import make_optimizer
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["SMALL", "Learned", "learn", "paper_recipe", "solvers", "thinned"]

SMALL = Network(features=32, bilinear=8, head_size=4, cross_layers=1, dropout=0.0, expansion=2)
"""A network that learns something within seconds."""


def solvers(steps: int) -> dict[str, Solver]:
    """The paper's, two that move measures too, and three of classical equilibrium models.

    Args:
        steps: Evaluations of the network in each solve; none stops before.
    """
    return {
        "flow": WassersteinFlow(steps, 0.0, step_size=5.0),
        "momentum flow": WassersteinFlow(steps, 0.0, step_size=1.0, momentum=0.8),
        "Weiszfeld": Weiszfeld(steps, 0.0),
        "Picard": Picard(steps, 0.0),
        "Anderson": Anderson(steps, 0.0),
        "Broyden": Broyden(steps, 0.0),
    }


def paper_recipe(name: str, solver: Solver) -> Recipe:
    """The paper's loss and gradient of ``name`` for a small network, small batches, a larger rate.

    Args:
        name: Of a preset that begins with ``paper``.
        solver: In training and at use.
    """
    return replace(
        PRESETS[name],
        network=SMALL,
        solver=solver,
        train_steps=(solver.max_steps, solver.max_steps),
        batch_size=16,
        learning_rate=3e-3,
        clip=1.0,
    )


def thinned(data: CloudDataset, points: int, seed: int = 0) -> CloudDataset:
    """Clouds of at most so many points, drawn at random."""
    rng = np.random.default_rng(seed)
    clouds = [c[np.sort(rng.permutation(len(c))[:points])] for c in data.clouds]
    return CloudDataset.from_list(clouds, data.labels, data.classes, data.name)


@dataclass(frozen=True, eq=False)
class Learned:
    """A training that is over.

    Attributes:
        model: As it was left.
        curve: Step, CPU seconds of training and held-out metric of the task, at each probe.
        metrics: Means over the held-out clouds at the end.
        batch_size: Clouds per step.
    """

    model: Any
    curve: list[tuple[int, float, float]]
    metrics: dict[str, Mean]
    batch_size: int


def learn(
    recipe: Recipe,
    train: CloudDataset,
    held_out: CloudDataset,
    *,
    steps: int = 10**9,
    seconds: float = float("inf"),
    probes: int = 5,
) -> Learned:
    """Trains until the steps or the CPU seconds are over; probing does not count.

    Args:
        recipe: Task, network, solver, adjoint, optimiser, batch size and seed.
        train: Training clouds.
        held_out: Clouds to probe.
        steps: Most training steps.
        seconds: Most CPU seconds.
        probes: How often the held-out clouds are measured, the end included.
    """
    torch.manual_seed(recipe.seed)
    task, rng = recipe.task, np.random.default_rng(recipe.seed)
    train, held_out = task.prepare(train), task.prepare(held_out)
    model: Any = recipe.make_model(train)
    items = task.items(train, True, recipe.seed)
    probed = _batches(task, task.items(held_out, False, recipe.seed))
    optimizer = make_optimizer(model, recipe.optimizer, recipe.learning_rate, recipe.weight_decay)
    metrics = _probe(recipe, model, probed)
    curve, spent, step = [(0, 0.0, metrics[task.metric].value)], 0.0, 0
    while step < steps and spent < seconds:
        begin = time.process_time()
        chosen = _batch(task, items, rng.choice(len(train), recipe.batch_size))
        _step(recipe, model, optimizer, chosen, step, max(step / steps, spent / seconds))
        spent, step = spent + time.process_time() - begin, step + 1
        if max(step / steps, spent / seconds) >= len(curve) / probes:
            metrics = _probe(recipe, model, probed)
            curve.append((step, spent, metrics[task.metric].value))
    return Learned(model, curve, metrics, recipe.batch_size)


def _step(
    recipe: Recipe, model: Any, optimizer: Any, batch: Any, step: int, progress: float
) -> None:
    """One training step, at a rate that falls to zero as the training ends."""
    for group in optimizer.param_groups:
        group["lr"] = recipe.learning_rate * 0.5 * (1 + np.cos(np.pi * min(progress, 1.0)))
    model.train()
    if isinstance(model, EquilibriumModel):
        fewest, most = recipe.train_steps
        steps = np.random.default_rng([recipe.seed, step]).integers(fewest, most + 1)
        model.solver = recipe.training_solver(int(steps))
    loss: Tensor = recipe.task.loss(model, batch, step, run_seed=recipe.seed)[0]
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    optimizer.step()


@torch.no_grad()
def _probe(recipe: Recipe, model: Any, batches: list[Any]) -> dict[str, Mean]:
    """Means over the held-out clouds."""
    model.eval()
    if isinstance(model, EquilibriumModel):
        model.solver = recipe.solver
    found: dict[str, list[Tensor]] = {}
    for batch in batches:
        values, solution, _ = recipe.task.validate(model, batch)
        if solution is not None:
            values = {**values, "residual": solution.relative_residual, "spread": solution.spread}
        for name, value in values.items():
            found.setdefault(name, []).append(value)
    return {name: Mean.of(torch.cat(values)) for name, values in found.items()}


def _batches(task: Any, items: Any) -> list[Any]:
    """All items in batches of 64: what a network needs for more would not fit in memory."""
    return [
        _batch(task, items, range(begin, min(begin + 64, len(items))))
        for begin in range(0, len(items), 64)
    ]


def _batch(task: Any, items: Any, chosen: Sequence[int] | range | np.ndarray) -> Any:
    return task.collate([items[int(i)] for i in chosen])
