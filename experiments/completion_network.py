"""Which network completes scans in the frame of what is visible: short runs, side by side.

``python experiments/completion_network.py --variants plain marks proposals edges --steps 300``

Each variant trains for a few steps on the training families of the embedded scans, by the loss of
``ddeq.tasks.Holes``, and is measured on validation families by the de-biased protocol, told how
many points are missing. ``surface`` is ``edges`` with the distance to the whole surface in the
loss, not to the removed points: new points then lie nearer to the surface, because they lie on
what is visible, and ``fills`` says so. Prints a line per variant and cut and writes the figures as
JSON if ``--out`` is given.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from ddeq.data import AugmentedDataset, CloudDataset, load
from ddeq.measures.clouds import PointClouds
from ddeq.models import Completer
from ddeq.models.baselines.completers import ModelCompleter
from ddeq.protocol import evaluate, problems
from ddeq.solvers import Chain, Picard, Weiszfeld
from ddeq.tasks import Holes
from ddeq.tasks.holes import to_surface
from ddeq.training import PRESETS, Recipe
from ddeq.training.optimizer import make_optimizer


class Surface(Holes):
    """The loss with ``d(new, whole)``."""

    name = "holes-surface"

    def near(self, new: PointClouds, removed: PointClouds, surface: PointClouds) -> Tensor:
        """Distance to whatever is near of the whole surface."""
        return to_surface(new, surface).mean(1)


BASE = PRESETS["scans-completion"]
WITHOUT = replace(BASE.network, rims=False, proposals=0, edges=False)
GAUSSIAN = Chain(Weiszfeld(4), Picard(36), tol=1e-4)  # without proposals particles start far away
VARIANTS: dict[str, Recipe] = {
    "plain": replace(BASE, network=replace(WITHOUT, marks=0), solver=GAUSSIAN),
    "marks": replace(BASE, network=WITHOUT, solver=GAUSSIAN),
    "proposals": replace(BASE, network=replace(BASE.network, edges=False)),
    "edges": BASE,
    "surface": replace(BASE, task=Surface(near_weight=0.8)),
}
SHOWN = ("OT new", "distance", "Chamfer", "better")


def learn(recipe: Recipe, steps: int, size: int, seed: int = 0) -> tuple[Completer, float]:
    """A short training; gives the model and the processor's seconds per step."""
    task = recipe.task
    data = task.prepare(load("scans", "train"))
    torch.manual_seed(seed)
    model = recipe.make_model(data)
    assert isinstance(model, Completer)
    use = model.solver
    optimizer = make_optimizer(model, recipe.optimizer, recipe.learning_rate, recipe.weight_decay)
    begin = time.process_time()
    model.train()
    rng = np.random.default_rng(seed)
    for step in range(steps):
        items = task.items(_changed(task, data, step), True, seed)
        items.set_epoch(step)
        batch = task.collate([items[int(i)] for i in rng.integers(len(data), size=size)])
        warm, left = min(1.0, (step + 1) / 40), 0.5 * (1.0 + np.cos(np.pi * step / steps))
        for group, rate in zip(optimizer.param_groups, _rates(optimizer), strict=True):
            group["lr"] = rate * warm * left
        model.solver = recipe.training_solver(int(rng.integers(2, 7)))
        optimizer.zero_grad()
        task.loss(model, batch, step)[0].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
    model.solver = use
    return model.eval(), (time.process_time() - begin) / steps


def _rates(optimizer: Any) -> list[float]:
    """The rates of the groups at the start, remembered."""
    for group in optimizer.param_groups:
        group.setdefault("first", group["lr"])
    return [group["first"] for group in optimizer.param_groups]


def _changed(task: Any, data: CloudDataset, step: int) -> AugmentedDataset:
    """The clouds with the random changes of a step."""
    changed = AugmentedDataset(data, task.augmentations(data), seed=1)
    changed.set_epoch(step)
    return changed


def fills(model: Completer, data: CloudDataset, cut: str, seed: int) -> float:
    """Share of new points farther from the visible ones than these are from each other."""
    shares = []
    for problem in problems(data, cut, seed):
        count = torch.tensor([max(len(problem.removed), 1)])
        tree = cKDTree(problem.shown)
        typical = np.median(tree.query(problem.shown, k=2)[0][:, 1])
        (new,) = model.new_points([problem.shown], seed, count)
        shares.append(float((tree.query(new)[0] > typical).mean()))
    return float(np.mean(shares))


def measure(model: Completer, data: CloudDataset, cut: str, seed: int = 0) -> dict[str, float]:
    """The protocol's figures and :func:`fills`."""
    found = evaluate(ModelCompleter(model, seed), data, cut, seed, unit="radius", counts=True)
    figures = {name: round(found.metrics[name].value, 4) for name in SHOWN}
    return {**figures, "fills": round(fills(model, data, cut, seed), 4)}


def main() -> None:
    """Runs the variants that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--size", type=int, default=20, help="clouds per step")
    parser.add_argument("--count", type=int, default=40, help="validation objects")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    args = parser.parse_args()
    torch.set_num_threads(1)
    held = load("scans", "validation").subset(np.arange(args.count))
    written: dict[str, Any] = {"steps": args.steps, "size": args.size, "objects": args.count}
    for name in args.variants:
        model, pace = learn(VARIANTS[name], args.steps, args.size)
        written[name] = {cut: measure(model, held, cut) for cut in ("balls", "view")}
        written[name]["seconds per step"] = round(pace, 2)
        for cut in ("balls", "view"):
            print(f"{name:>10} {cut:>6}: {written[name][cut]}", flush=True)
        if args.out:
            args.out.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
