"""Whole test sets, measured. Definitions of the metrics are in :mod:`ddeq.measures.metrics`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch.distributed as dist

from ddeq.data import CloudDataset
from ddeq.errors import DdeqError
from ddeq.registry import known
from ddeq.tasks import Mean, Report, Task
from ddeq.tasks.classes import per_class
from ddeq.tasks.completion import partial_tasks
from ddeq.tasks.report import batches

__all__ = ["Mean", "Report", "batches", "evaluate", "merged", "partial_tasks", "process_group"]

_PART: ContextVar[tuple[int, int]] = ContextVar("part", default=(0, 1))
"""Rank and number of the processes that evaluate together; a training shares nothing here."""


def evaluate(
    model: Any,
    data: CloudDataset,
    batch_size: int = 64,
    seed: int = 0,
    progress: Any = iter,
    **options: Any,
) -> Report:
    """Measures a model on every cloud of a data set, as its task does.

    Inside :func:`process_group` each process measures every ``R``-th batch of ``R``, and all return
    the report of the whole.

    Args:
        model: A classifier, a completer, a regressor, a baseline, or the model of any other task.
        data: Clouds as the data set has them.
        batch_size: Clouds per batch.
        seed: Of everything random.
        progress: Wraps the iteration over batches, to show how far it is.
        options: Of the task: ``even`` for classification, ``own_frame`` and ``noise`` for
            completion.

    Raises:
        DdeqError: for a model that does not fit the data, an option that the task has not, or fewer
            batches than processes.
    """
    task = _task(model)
    dim = model.config()["dim"]
    if dim != data.dim:
        raise DdeqError(f"it is for {dim}-D clouds, {data.name} is {data.dim}-D (--data)")
    for name in options:
        if name not in task.evaluation_options:
            raise DdeqError(f"{task.name} has no option {name!r}")
    if _PART.get()[1] > 1:
        return _shared(task, model, data, batch_size, seed, progress, options)
    return task.evaluate(model, data, batch_size, seed, progress, **options)


@contextmanager
def process_group() -> Iterator[int]:
    """Joins the processes that ``torchrun`` has started; the rank of this one, 0 where it is alone.

    Example:
        >>> with process_group() as rank:
        ...     print(rank)
        0
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield 0
        return
    dist.init_process_group("gloo")
    before = _PART.set((dist.get_rank(), dist.get_world_size()))
    try:
        yield dist.get_rank()
    finally:
        _PART.reset(before)
        dist.destroy_process_group()


def merged(parts: list[tuple[int, Report]]) -> Report:
    """One report of several parts of a data set, with the clouds that each has measured.

    ``n = sum n_i``, ``m = sum n_i m_i / n`` and, with the standard errors ``e_i``, a variance of
    ``sum n_i ((n_i - 1) e_i^2 + (m_i - m)^2) / (n - 1)``: what the whole has, up to rounding.
    """
    counts = np.array([count for count, _ in parts], dtype=np.float64)
    first = parts[0][1]
    metrics = {}
    for name in first.metrics:
        means, errors = np.array(
            [(part.metrics[name].value, part.metrics[name].error) for _, part in parts]
        ).T
        whole = counts.sum()
        mean = (counts * means).sum() / whole
        squares = (counts * ((counts - 1) * errors**2 + (means - mean) ** 2)).sum()
        metrics[name] = Mean(float(mean), float((squares / max(whole - 1, 1) / whole) ** 0.5))
    if first.confusion is None:
        return Report(first.frame, metrics)
    confusion = np.sum([np.asarray(part.confusion) for _, part in parts], axis=0)
    return Report(first.frame, metrics, per_class(confusion, list(first.per_class)), confusion)


def _shared(
    task: type[Task],
    model: Any,
    data: CloudDataset,
    batch_size: int,
    seed: int,
    progress: Any,
    options: dict[str, Any],
) -> Report:
    """The report of all processes, each of which measures its batches."""
    rank, count = _PART.get()
    whole = len(batches(data, batch_size))
    if whole < count:
        raise DdeqError(f"{whole} batches cannot be shared among {count} processes (--batch-size)")
    seen = 0

    def own(indices: Iterable[list[int]]) -> Iterator[list[int]]:
        nonlocal seen
        for number, batch in enumerate(progress(indices)):
            if number % count == rank:
                seen += len(batch)
                yield batch

    report = task.evaluate(model, data, batch_size, seed, own, **options)
    parts: list[Any] = [None] * count
    dist.all_gather_object(parts, (seen, report))
    return merged(parts)


def _task(model: Any) -> type[Task]:
    """The task whose models are of this type."""
    for task in known(Task).values():
        if type(model) is task.model_type:
            return task
    raise DdeqError(f"no task has models of type {type(model).__name__}")
