"""Seconds a solver step and a training step, beside the reference. Run it alone on the machine.

    python benchmarks/steps.py [--quick] [--json FILE]

Every task is timed with the same network, weights and batch for the library and for the reference
(``benchmarks/reference.py``). The reference's training step is *extrapolated*: 200 times one timed
solver step, plus one evaluation with its backward pass.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from reference import ReferenceFlow, ReferenceMap

from ddeq import Classifier, Completer, PointClouds, mmd2
from ddeq.data import LengthBuckets, PartialDataset, collate, collate_partial, load
from ddeq.data.shapes import shape
from ddeq.models.base import gaussian_particles
from ddeq.solvers import WassersteinFlow, Weiszfeld

BATCH = 64
PAPER_STEPS = 200


@dataclass(frozen=True)
class Row:
    """Seconds of one task."""

    task: str
    head_size: int
    reference_step: float
    flow_step: float
    weiszfeld_step: float
    reference_training: float
    training: float
    training_steps: int


@dataclass(frozen=True, eq=False)
class Task:
    """A model with a batch of real length distribution."""

    name: str
    model: Classifier | Completer
    x: PointClouds
    z0: PointClouds
    fixed: PointClouds | None
    loss: Callable[[PointClouds], torch.Tensor]
    solver_steps: int


def classification(name: str, clouds: PointClouds, classes: int, layers: int, head: int) -> Task:
    """Classification of a batch; ten particles."""
    model = Classifier(clouds.dim, classes, cross_layers=layers, head_size=head, dropout=0.0)
    lengths = torch.full((len(clouds),), model.particles)
    z0 = gaussian_particles(lengths, 128, 0, clouds.points)
    labels = torch.arange(len(clouds)) % classes

    def loss(z: PointClouds) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model.logits(z), labels)

    return Task(name, model, clouds, z0, None, loss, 6)


def completion(name: str, head: int) -> Task:
    """Completion of a batch of partial digits; 27.5 % free particles."""
    data = load("mnist-mini", "train")
    batch = next(iter(LengthBuckets(data.lengths, BATCH, window=10)))
    tasks = PartialDataset(data, 0.6)
    items = collate_partial([tasks[i] for i in batch])
    model = Completer(2, head_size=head, dropout=0.0)
    x = items.partial
    noise = gaussian_particles(model._counts(x, None), 2, 0, x.points)
    with torch.no_grad():
        fixed, z0 = x.map(model.coupling.lift), noise.map(model.coupling.lift)

    def loss(z: PointClouds) -> torch.Tensor:
        return mmd2(x.cat(model.points(z)), items.target).mean()

    return Task(name, model, x, z0, fixed, loss, 9)


def tasks(head: int) -> list[Task]:
    """The three tasks: (a) and (b) with digits, (c) with shapes of 800 points."""
    digits = load("mnist-mini", "train")
    batch = next(iter(LengthBuckets(digits.lengths, BATCH, window=10)))
    solids = [shape("chair", 800, np.random.default_rng(i)) for i in range(BATCH)]
    big = PointClouds.from_list(solids).normalize()[0]
    return [
        classification("(a) digits", collate([digits[i] for i in batch])[0], 10, 1, head),
        completion("(b) partial digits", head),
        classification("(c) 800 points", big, 40, 3, head),
    ]


def seconds(function: Callable[[], object], repeat: int) -> float:
    """Median time of a call, after one to warm up."""
    function()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def measure(task: Task, repeat: int) -> Row:
    """Times one task."""
    network = task.model.network
    slow = ReferenceMap(network, task.x, task.fixed)
    with torch.no_grad():
        fast = network.bind(network.encode(task.x, task.fixed))

    def phantom() -> None:
        task.loss(slow(task.z0)).backward()

    def training() -> None:
        task.model.solver = Weiszfeld(task.solver_steps, tol=0)
        z, _ = task.model.equilibrium(task.x, task.z0, task.fixed)
        task.loss(z).backward()

    def per_step(solver: Weiszfeld | WassersteinFlow) -> float:
        return seconds(lambda: solver.solve(fast, task.z0), repeat) / solver.max_steps

    reference = seconds(lambda: ReferenceFlow().step(slow, task.z0), 1 if repeat < 5 else 2)
    return Row(
        task.name,
        network.x_encoder.attention.head_size,
        reference,
        per_step(WassersteinFlow(4, tol=0)),
        per_step(Weiszfeld(8, tol=0)),
        PAPER_STEPS * reference + seconds(phantom, 1),
        seconds(training, repeat),
        task.solver_steps,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="head size 32 only, fewer repeats")
    parser.add_argument("--json", help="also write the rows to this file")
    args = parser.parse_args()
    rows = []
    print(f"{torch.get_num_threads()} threads, batch {BATCH}; seconds, and how many times quicker")
    print(
        f"{'task':20}{'head':>5} | {'reference step':>15}{'flow':>16}{'Weiszfeld':>16} | "
        f"{'reference training':>19}{'ours':>16}"
    )
    for head in (32,) if args.quick else (4, 32):
        for task in tasks(head):
            row = measure(task, 3 if args.quick else 7)
            rows.append(row)
            print(
                f"{row.task:20}{row.head_size:5} | {row.reference_step:15.2f}"
                f"{_cell(row.flow_step, row.reference_step)}"
                f"{_cell(row.weiszfeld_step, row.reference_step)} | "
                f"{row.reference_training:19.0f}{_cell(row.training, row.reference_training)}",
                flush=True,
            )
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def _cell(ours: float, reference: float) -> str:
    return f"{ours:9.3f} {reference / ours:5.0f}x"


if __name__ == "__main__":
    main()
