"""Every solver on the shipped weights: residual, spread and the task's metrics, by evaluations.

A solver is right when all three are: a small residual with no spread, or with a poor metric, is a
collapse.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ddeq.bench.problems import digit_set
from ddeq.bench.settings import Settings, Track, untracked
from ddeq.bench.tables import duration, render
from ddeq.data import CloudDataset, collate, collate_partial
from ddeq.evaluation import partial_tasks
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import accuracy, wasserstein2
from ddeq.models import Classifier, Completer
from ddeq.solvers import Anderson, Broyden, Chain, Picard, Solver, WassersteinFlow, Weiszfeld
from ddeq.solvers.solution import Solution

__all__ = ["METRICS", "SOLVERS", "TARGETS", "run", "table"]

SOLVERS: dict[str, Solver] = {
    "Weiszfeld": Weiszfeld(),
    "Weiszfeld, settling": Chain(Weiszfeld(4), Picard()),
    "Anderson on Weiszfeld": Anderson(of=Weiszfeld()),
    "Picard": Picard(),
    "Anderson": Anderson(),
    "Broyden": Broyden(),
    "flow, step 5 (paper)": WassersteinFlow(step_size=5.0),
    "flow, step 1, momentum 0.8": WassersteinFlow(step_size=1.0, momentum=0.8),
}
METRICS = {"completion": ("mmd2", "w2"), "classification": ("accuracy",)}
TARGETS = (1e-3, 1e-5)
"""Relative residuals whose first evaluation is looked for."""


def run(settings: Settings, track: Track = untracked) -> dict[str, Any]:
    """Measures the section."""
    if settings.threads:
        torch.set_num_threads(settings.threads)
    whole = digit_set("test", settings.root)
    order = np.random.default_rng(settings.seed).permutation(len(whole))
    data = whole.subset(order[: settings.clouds])
    cases: dict[str, _Completion | _Digits] = {
        "completion": _Completion(data, settings),
        "classification": _Digits(data, settings),
    }
    for case in cases.values():
        _solve(case, replace(SOLVERS["Weiszfeld"], max_steps=1))  # to warm up
    jobs = [
        (task, name, count)
        for task in cases
        for name in SOLVERS
        for count in sorted(settings.evaluations)
    ]
    rows: list[dict[str, Any]] = []
    reached: dict[tuple[str, str], Solution] = {}
    for task, name, count in track(jobs, len(jobs), "convergence"):
        solver = replace(SOLVERS[name], max_steps=count, tol=0)
        row, solution = _solve(cases[task], solver)
        rows.append({"task": task, "solver": name, "evaluations": count, **row})
        reached[task, name] = solution  # the last one has gone farthest
    return {
        "data": data.name,
        "clouds": len(data),
        "rows": rows,
        "reached": [
            {"task": task, "solver": name, "target": target, "evaluations": first(found, target)}
            for (task, name), found in reached.items()
            for target in TARGETS
        ],
    }


def first(solution: Solution, target: float) -> int | None:
    """Evaluations until the mean over clouds of the best relative residual is ``<= target``."""
    best = solution.residuals.cummin(0).values / solution.initial_residual
    below = (best.mean(1) <= target).nonzero()
    return int(below[0]) + 1 if len(below) else None


class _Completion:
    """Partial digits in the frame of the whole, as in the paper."""

    def __init__(self, data: CloudDataset, settings: Settings) -> None:
        tasks = partial_tasks(data, seed=settings.seed)
        self.batch = collate_partial([tasks[i] for i in range(len(tasks))])
        self.model, self.seed = Completer.from_pretrained("mnist-pc"), settings.seed

    def latent(self) -> tuple[PointClouds, Solution]:
        return self.model.latent(self.batch.partial, self.seed)

    def metrics(self, z: PointClouds) -> dict[str, float]:
        new = self.model.points(z)
        return {
            "mmd2": float(mmd2(self.batch.partial.cat(new), self.batch.target).mean()),
            "w2": float(wasserstein2(new, self.batch.removed).mean()),
        }


class _Digits:
    """Whole digits and their classes."""

    def __init__(self, data: CloudDataset, settings: Settings) -> None:
        data = data.in_proportion()
        self.x, self.labels = collate([data[i] for i in range(len(data))])
        self.model, self.seed = Classifier.from_pretrained("mnist-pc"), settings.seed

    def latent(self) -> tuple[PointClouds, Solution]:
        return self.model.latent(self.x, self.seed)

    def metrics(self, z: PointClouds) -> dict[str, float]:
        return {"accuracy": float(accuracy(self.model.logits(z), self.labels).mean())}


@torch.no_grad()
def _solve(case: _Completion | _Digits, solver: Solver) -> tuple[dict[str, Any], Solution]:
    """Means over clouds, and the seconds of the solve for all of them together."""
    case.model.solver = solver
    begin = time.perf_counter()
    z, solution = case.latent()
    elapsed = time.perf_counter() - begin
    row = {
        "residual": float(solution.relative_residual.mean()),
        "spread": float(solution.spread.mean()),
        "seconds": elapsed,
        **case.metrics(z),
    }
    return row, solution


def table(result: dict[str, Any]) -> str:
    """The section as text: one table a task, and who reached which residual when."""
    parts = [_task_table(result, task) for task in METRICS]
    parts.append(f"data: {result['data']}, {result['clouds']} clouds; shipped weights mnist-pc")
    return "\n\n".join(parts)


def _task_table(result: dict[str, Any], task: str) -> str:
    reached = {
        (found["solver"], found["target"]): found["evaluations"]
        for found in result["reached"]
        if found["task"] == task
    }
    rows = [
        (
            row["solver"],
            str(row["evaluations"]),
            f"{row['residual']:.1e}",
            f"{row['spread']:.3f}",
            *(f"{row[metric]:.4f}" for metric in METRICS[task]),
            duration(row["seconds"]),
        )
        for row in result["rows"]
        if row["task"] == task
    ]
    heads = (task, "evaluations", "residual", "spread", *METRICS[task], "time")
    targets = render(
        ("evaluations to a relative residual of", *(f"{target:g}" for target in TARGETS)),
        [(name, *(str(reached[name, target] or "-") for target in TARGETS)) for name in SOLVERS],
    )
    return render(heads, rows) + "\n\n" + targets
