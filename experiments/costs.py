"""CPU time of a training step of completion, for the tables of costs."""

from __future__ import annotations

import time

import numpy as np
import torch
from common import digits

from ddeq.data import CloudDataset, collate_partial
from ddeq.measures.divergences import mmd2
from ddeq.models import Completer
from ddeq.solvers import Solver
from ddeq.tasks.completion import partial_tasks
from ddeq.training.presets import PRESETS

__all__ = ["DIGITS", "STEPS", "hours", "line", "paper_flow", "seconds", "training_batch"]

DIGITS = 60_000
"""Clouds of an epoch."""
STEPS = (2, 4, 6)
"""Solver steps that are timed; the time of more follows from the straight line through these."""


def paper_flow(steps: int) -> Solver:
    """The paper's flow with so many steps."""
    from dataclasses import replace

    return replace(PRESETS["paper-mnist-completion"].solver, max_steps=steps, tol=0.0)


def training_batch(data: str, size: int, share: float = 1.0, seed: int = 0) -> CloudDataset:
    """Training digits of which a share of the points is left."""
    clouds = digits(data, "train").subset(range(size))
    rng = np.random.default_rng(seed)
    thin = [c[np.sort(rng.permutation(len(c))[: round(share * len(c))])] for c in clouds.clouds]
    return CloudDataset.from_list(thin, clouds.labels, clouds.classes, clouds.name)


def seconds(batch: CloudDataset, solver: Solver, seed: int = 0) -> float:
    """CPU seconds of one training step: the best of two, after one that is not counted."""
    recipe = PRESETS["paper-mnist-completion"]
    torch.manual_seed(seed)
    model = Completer(batch.dim, network=recipe.network, solver=solver, adjoint=recipe.adjoint)
    tasks = partial_tasks(batch, seed=seed)
    items = collate_partial([tasks[i] for i in range(len(batch))])
    model.train()
    taken = []
    for _ in range(3):
        begin = time.process_time()
        new = model(items.partial, seed)
        mmd2(items.partial.cat(new), items.target).mean().backward()
        model.zero_grad(set_to_none=True)
        taken.append(time.process_time() - begin)
    return min(taken[1:])


def line(batch: CloudDataset) -> tuple[float, float]:
    """Seconds before the first step of the paper's flow, and for each step."""
    taken = [seconds(batch, paper_flow(steps)) for steps in STEPS]
    slope, start = np.polyfit(STEPS, taken, 1)
    return max(float(start), 0.0), float(slope)


def hours(batch_seconds: float, size: int) -> float:
    """Hours of an epoch of 60,000 digits."""
    return batch_seconds * DIGITS / size / 3600
