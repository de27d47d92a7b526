"""Beside what a user would pick instead: PointNet and PCN on the same batch of the same data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ddeq.adjoints import PhantomGradient
from ddeq.bench.problems import Samples, digits, partial_digits, solids
from ddeq.bench.settings import Settings, Track, untracked
from ddeq.bench.tables import duration, megabytes, render
from ddeq.bench.worker import fresh, seconds
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.models import Classifier, Completer
from ddeq.models.base import EquilibriumModel
from ddeq.models.baselines import PCN, PointNet
from ddeq.training.optimizer import make_optimizer
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["run", "table"]


def run(settings: Settings, track: Track = untracked) -> dict[str, Any]:
    """Measures the section."""
    size, seed, root = settings.batch, settings.seed, settings.root
    tasks = (
        digits(size, seed, root),
        partial_digits(size, seed, root),
        solids(size, settings.points, seed, root),
    )
    jobs = [
        (task, name) for task in tasks for name in ("ddeq", "PCN" if task.targets else "PointNet")
    ]
    timing = (settings.repeat, settings.budget)
    rows = []
    for task, name in track(jobs, len(jobs), "baselines"):
        found = fresh(measure, task, name, seed, timing, threads=settings.threads)
        value = found.value or {"parameters": None, "training": None, "inference": None}
        steps = task.epoch // len(task.clouds)
        rows.append(
            {
                "task": task.task,
                "data": task.source,
                "batch": len(task.clouds),
                "model": name,
                **value,
                "steps": steps,
                "epoch": None if value["training"] is None else steps * value["training"],
                "memory": found.memory,
                "problem": found.problem,
            }
        )
    return {"rows": rows}


def measure(
    samples: Samples, name: str, seed: int, timing: tuple[int, float]
) -> Callable[[], dict[str, float]]:
    """Seconds of a training step with its update, and of inference a cloud."""
    torch.manual_seed(seed)
    recipe = PRESETS[samples.recipe]
    x = PointClouds.from_list([torch.from_numpy(cloud) for cloud in samples.clouds])
    model = _ours(samples, recipe, x.dim) if name == "ddeq" else _theirs(samples, x.dim)
    optimizer = make_optimizer(model, recipe.optimizer if name == "ddeq" else "adamw", 1e-3, 0.0)
    loss = _loss(model, x, samples)

    def train() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    def infer() -> None:
        with torch.no_grad():
            model(x)

    def both() -> dict[str, float]:
        if isinstance(model, EquilibriumModel):
            model.solver = recipe.training_solver(-(-sum(recipe.train_steps) // 2))
        training = seconds(train, *timing)
        model.eval()
        if isinstance(model, EquilibriumModel):
            model.solver = recipe.solver
        inference = seconds(infer, *timing) / len(x)
        count = sum(p.numel() for p in model.parameters())
        return {"parameters": count, "training": training, "inference": inference}

    model.train()
    return both


def _ours(samples: Samples, recipe: Recipe, dim: int) -> nn.Module:
    """The model of our recipe, with fresh weights."""
    parts: dict[str, Any] = {
        "network": recipe.network,
        "solver": recipe.solver,
        "adjoint": PhantomGradient(recipe.applications),
    }
    if samples.targets is not None:
        return Completer(dim, **parts)
    return Classifier(dim, samples.classes, **parts)


def _theirs(samples: Samples, dim: int) -> nn.Module:
    return PCN(dim) if samples.targets is not None else PointNet(dim, samples.classes)


def _loss(model: nn.Module, x: PointClouds, samples: Samples) -> Callable[[], Tensor]:
    """The main term of the loss that the model is trained with."""
    if samples.targets is None:
        labels = torch.arange(len(x)) % samples.classes
        return lambda: torch.nn.functional.cross_entropy(model(x), labels)
    target = PointClouds.from_list([torch.from_numpy(cloud) for cloud in samples.targets[0]])
    if isinstance(model, PCN):
        return lambda: model.loss(x, target).mean()
    return lambda: mmd2(x.cat(model(x)), target).mean()


def table(result: dict[str, Any]) -> str:
    """The section as text."""
    rows = [
        (
            row["task"],
            row["model"],
            "-" if row["parameters"] is None else f"{row['parameters']:,}",
            duration(row["training"]),
            duration(row["epoch"]),
            duration(row["inference"]),
            megabytes(row["memory"]),
        )
        for row in result["rows"]
    ]
    heads = ("against", "model", "parameters", "training step", "epoch", "a cloud", "memory")
    used = sorted({f"{row['data']}, {row['steps']} steps an epoch" for row in result["rows"]})
    notes = [
        f"data: {'; '.join(used)}; batch {result['rows'][0]['batch']}, the same for both",
        "epoch: training step with the optimiser's update, times steps; whole clouds; "
        "ours untrained, with the solver of its recipe (trained weights stop earlier)",
    ]
    notes += [f"problem: {row['problem']}" for row in result["rows"] if row["problem"]]
    return render(heads, rows) + "\n\n" + "\n".join(notes)
