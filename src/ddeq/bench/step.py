"""One solver step and one training step, beside the reference; memory; latency.

The reference's training step is *extrapolated*: 200 times one timed solver step, plus one
evaluation with its backward pass. Where its attention weights would not fit, it gets fewer clouds
and its figures are scaled linearly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ddeq.bench import jobs
from ddeq.bench.problems import Samples, digits, partial_digits, solids
from ddeq.bench.reference import ABSENT, reference_path
from ddeq.bench.settings import Settings, Track, untracked
from ddeq.bench.tables import duration, megabytes, render, times
from ddeq.bench.worker import Measured, fresh
from ddeq.models import Classifier
from ddeq.solvers import Solver, WassersteinFlow
from ddeq.training.presets import PRESETS

__all__ = ["run", "table"]

PAPER_STEPS = 200
LATENCY_POINTS = 200
_COPIES = 4  # tensors of the size of the attention weights that the reference keeps
_FEATURES = 128


def run(settings: Settings, track: Track = untracked) -> dict[str, Any]:
    """Measures the section."""
    size, seed, root = settings.batch, settings.seed, settings.root
    tasks = [
        digits(size, seed, root),
        partial_digits(size, seed, root),
        solids(size, settings.points, seed, root),
    ]
    work: list[tuple[str, Callable[[], Any]]] = [
        ("rows", partial(_row, task, head, settings)) for head in settings.heads for task in tasks
    ]
    flat = tasks[1].reference(settings.flat_batch)
    head = settings.heads[-1]
    work += [("flat", partial(_flat, flat, head, n, settings)) for n in settings.flat_steps]
    work.append(("latency", partial(_latency, settings)))
    found: dict[str, list[Any]] = defaultdict(list)
    for name, job in track(work, len(work), "step"):
        found[name].append(job())
    return {
        "rows": found["rows"],
        "flat": found["flat"],
        "latency": found["latency"][0],
        "reference": None if reference_path() else ABSENT,
    }


def training_steps(samples: Samples) -> int:
    """Mean number of evaluations in our own training of the task."""
    return -(-sum(PRESETS[samples.recipe].train_steps) // 2)


def reference_size(samples: Samples, head_size: int, settings: Settings) -> int:
    """How many clouds the reference gets: as many as its attention weights leave room for."""
    longest = max(len(cloud) for cloud in samples.plain)
    rows = longest if samples.targets is None else round(1.275 * longest)
    weights = longest * longest + (0 if samples.targets is None else rows * rows)
    weights += samples.layers * longest * (10 if samples.targets is None else rows)
    one = 4 * _COPIES * (_FEATURES // head_size) * weights
    fitting = int(settings.reference_bytes / one)
    return max(1, min(settings.reference_batch, len(samples.plain), fitting))


def _row(samples: Samples, head_size: int, settings: Settings) -> dict[str, Any]:
    """All of one task."""
    kind, steps = type(_default_solver()), training_steps(samples)
    case = (samples, head_size, settings.seed, (settings.repeat, settings.budget))
    flow, ours, train = (
        fresh(job, *case, solver, threads=settings.threads)
        for job, solver in (
            (jobs.solver_step, WassersteinFlow(4, tol=0)),
            (jobs.solver_step, replace(_default_solver(), max_steps=8, tol=0)),
            (jobs.training, replace(_default_solver(), max_steps=steps, tol=0)),
        )
    )
    slow = _reference(samples, head_size, settings)
    return {
        "task": samples.task,
        "data": samples.source,
        "head_size": head_size,
        "batch": len(samples.clouds),
        "points": max(len(cloud) for cloud in samples.clouds),
        **{name: value for name, value in slow.items() if name != "problem"},
        "flow_step": flow.value,
        "flow_ratio": ratio(slow["reference_step"], flow.value),
        "solver": kind.__name__,
        "solver_step": ours.value,
        "solver_ratio": ratio(slow["reference_step"], ours.value),
        "training": train.value,
        "training_steps": steps,
        "training_ratio": ratio(slow["reference_training"], train.value),
        "training_memory": train.memory,
        "training_peak": train.peak,
        "problems": [p for p in (flow.problem, ours.problem, train.problem, slow["problem"]) if p],
    }


def _reference(samples: Samples, head_size: int, settings: Settings) -> dict[str, Any]:
    """The reference on its own batch, scaled to the size of ours."""
    size = reference_size(samples, head_size, settings)
    found = Measured()
    if reference_path():
        part, timing = samples.reference(size), (settings.repeat, settings.budget)
        found = fresh(
            jobs.reference_step, part, head_size, settings.seed, timing, threads=settings.threads
        )
    scale = len(samples.clouds) / size
    step, gradient = found.value or (None, None)
    return {
        "reference_points": max(len(cloud) for cloud in samples.plain),
        "reference_batch": size,
        "reference_step": None if step is None else scale * step,
        "reference_training": None if step is None else scale * (PAPER_STEPS * step + gradient),
        "reference_memory": None if found.memory is None else scale * found.memory,
        "problem": found.problem,
    }


def _default_solver() -> Solver:
    """The solver of a model that is not told otherwise."""
    return Classifier(2, 2, features=4, bilinear=2).solver


def ratio(slow: float | None, quick: float | None) -> float | None:
    """``slow / quick`` where both are known."""
    return None if slow is None or quick is None else slow / quick


def _flat(samples: Samples, head_size: int, steps: int, settings: Settings) -> dict[str, Any]:
    """Memory of a training step with so many solver steps."""
    solver = replace(_default_solver(), max_steps=steps, tol=0)
    found = fresh(jobs.once, samples, head_size, settings.seed, solver, threads=settings.threads)
    return {
        "task": samples.task,
        "head_size": head_size,
        "batch": len(samples.clouds),
        "steps": steps,
        "evaluations": found.value,
        "memory": found.memory,
        "peak": found.peak,
    }


def _latency(settings: Settings) -> dict[str, Any]:
    timing = (settings.repeat, settings.budget)
    found = fresh(jobs.completion, LATENCY_POINTS, settings.seed, timing, threads=settings.threads)
    points, elapsed = found.value or (LATENCY_POINTS, None)
    return {"points": points, "seconds": elapsed, "peak": found.peak}


def table(result: dict[str, Any]) -> str:
    """The section as text."""
    rows = result["rows"]
    steps = [
        (
            row["task"],
            str(row["head_size"]),
            duration(row["reference_step"]),
            duration(row["flow_step"]),
            times(row["flow_ratio"]),
            duration(row["solver_step"]),
            times(row["solver_ratio"]),
        )
        for row in rows
    ]
    heads = ("one solver step", "head", "reference", "flow", "", rows[0]["solver"], "")
    return "\n\n".join([render(heads, steps), _training_table(rows), _notes(result)])


def _training_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        (
            row["task"],
            str(row["head_size"]),
            duration(row["reference_training"]),
            f"{duration(row['training'])}, {row['training_steps']} steps",
            times(row["training_ratio"]),
            megabytes(row["reference_memory"]),
            megabytes(row["training_memory"]),
            megabytes(row["training_peak"]),
        )
        for row in rows
    ]
    heads = ("one training step", "head", "reference", "ours", "", "its memory", "ours", "peak")
    return render(heads, lines)


def _notes(result: dict[str, Any]) -> str:
    """How the figures were made, and memory and latency in words."""
    rows, flat, latency = result["rows"], result["flat"], result["latency"]
    head = rows[0]["head_size"]
    used = [
        f"{row['task'][:3]} {row['data']}, padded to {row['points']} points"
        for row in rows
        if row["head_size"] == head
    ]
    lines = [f"data: {'; '.join(used)}; batches of {rows[0]['batch']}"]
    if result["reference"]:
        lines.append(result["reference"])
    else:
        theirs = [
            f"{row['task'][:3]} {row['reference_batch']} clouds padded to {row['reference_points']}"
            for row in rows
        ]
        lines += [
            f"reference: random batches, scaled linearly from {'; '.join(theirs)}",
            f"its training step is extrapolated: {PAPER_STEPS} times one step, and one gradient; "
            "ours has the mean number of steps of our training, and goes back through as many "
            "applications as that",
        ]
    shown = ", ".join(f"{m['steps']} steps {megabytes(m['memory'])}" for m in flat)
    lines.append(f"memory of training (b), batch {flat[0]['batch']}: {shown}")
    lines.append(
        "memory: peak resident memory of a new process above what it held before; "
        "peak: all of it, with Python and torch"
    )
    lines.append(
        f"completion of a digit of {latency['points']} points: {duration(latency['seconds'])}"
    )
    lines += [f"problem: {problem}" for row in rows for problem in row["problems"]]
    return "\n".join(lines)
