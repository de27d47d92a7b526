"""Every solver on the shipped weights: residual, spread and the task's metric, by evaluations.

    python benchmarks/convergence.py [--clouds 128] [--plot FILE] [--json FILE]

A solver is right when all three are: a small residual with no spread, or with a poor metric, is a
collapse. The metric is squared MMD of the whole cloud for completion, accuracy for classification.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ddeq import Classifier, Completer, mmd2, plots
from ddeq.data import CloudDataset, collate, collate_partial, load
from ddeq.evaluation import partial_tasks
from ddeq.metrics import accuracy
from ddeq.solvers import Anderson, Broyden, Picard, Solver, WassersteinFlow, Weiszfeld

SOLVERS: dict[str, Solver] = {
    "Weiszfeld": Weiszfeld(),
    "Anderson on Weiszfeld": Anderson(weiszfeld=True),
    "Picard": Picard(),
    "Anderson": Anderson(),
    "Broyden": Broyden(),
    "flow, step 5 (paper)": WassersteinFlow(step_size=5.0),
    "flow, step 1, momentum 0.8": WassersteinFlow(step_size=1.0, momentum=0.8),
}
EVALUATIONS = (4, 8, 12, 20, 30, 60)


@dataclass(frozen=True)
class Row:
    """One solver with one number of evaluations; means over clouds."""

    task: str
    solver: str
    evaluations: int
    residual: float
    spread: float
    metric: float
    seconds: float


def rows(task: str, data: CloudDataset) -> list[Row]:
    """Runs all solvers on one task."""
    found = []
    for name, solver in SOLVERS.items():
        for evaluations in EVALUATIONS:
            begin = time.perf_counter()
            residual, spread, metric = run(
                task, data, replace(solver, max_steps=evaluations, tol=0)
            )
            seconds = time.perf_counter() - begin
            row = Row(task, name, evaluations, residual, spread, metric, seconds)
            print(
                f"{task:15}{name:28}{evaluations:4}{residual:11.1e}{spread:9.3f}{metric:9.4f}"
                f"{seconds:8.2f}",
                flush=True,
            )
            found.append(row)
    return found


@torch.no_grad()
def run(task: str, data: CloudDataset, solver: Solver) -> tuple[float, float, float]:
    """Mean relative residual, spread and metric of one solver."""
    if task == "completion":
        model = Completer.from_pretrained("mnist-pc")
        model.solver = solver
        tasks = partial_tasks(data)
        batch = collate_partial([tasks[i] for i in range(len(tasks))])
        z, solution = model.latent(batch.partial)
        metric = mmd2(batch.partial.cat(model.points(z)), batch.target)
    else:
        classifier = Classifier.from_pretrained("mnist-pc")
        classifier.solver = solver
        x, labels = collate([data[i] for i in range(len(data))])
        z, solution = classifier.latent(x)
        metric = accuracy(classifier.logits(z), labels)
    values = (solution.relative_residual, solution.spread, metric)
    return tuple(float(value.mean()) for value in values)  # type: ignore[return-value]


def main() -> None:
    """Prints the table, and draws it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clouds", type=int, default=128)
    parser.add_argument("--plot")
    parser.add_argument("--json")
    args = parser.parse_args()
    whole = load("mnist-mini", "test")
    order = np.random.default_rng(0).permutation(len(whole))
    data = whole.subset(order[: args.clouds])
    print(
        f"{'task':15}{'solver':28}{'eval':>4}{'residual':>11}{'spread':>9}{'metric':>9}{'seconds':>8}"
    )
    found = rows("completion", data) + rows("classification", data)
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n")
    if args.plot:
        series = {
            name: np.array(
                [(r.evaluations, r.residual) for r in found if (r.solver, r.task) == (name, task)]
            )
            for name in SOLVERS
            for task in ("completion",)
        }
        figure = plots.curves(
            series,
            xlabel="evaluations of the network",
            ylabel="relative residual",
            title="Completion: MMD²(z, F(z)) by evaluations",
            log=True,
        )
        plots.save(figure, args.plot)


if __name__ == "__main__":
    main()
