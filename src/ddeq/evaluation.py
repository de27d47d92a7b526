"""Whole test sets, measured. Definitions of the metrics are in :mod:`ddeq.measures.metrics`."""

from __future__ import annotations

from typing import Any

from ddeq.data import CloudDataset
from ddeq.errors import DdeqError
from ddeq.registry import known
from ddeq.tasks import Mean, Report, Task
from ddeq.tasks.completion import partial_tasks
from ddeq.tasks.report import batches

__all__ = ["Mean", "Report", "batches", "evaluate", "partial_tasks"]


def evaluate(
    model: Any,
    data: CloudDataset,
    batch_size: int = 64,
    seed: int = 0,
    progress: Any = iter,
    **options: Any,
) -> Report:
    """Measures a model on every cloud of a data set, as its task does.

    Args:
        model: A classifier, a completer, a regressor, a baseline, or the model of any other task.
        data: Clouds as the data set has them.
        batch_size: Clouds per batch.
        seed: Of everything random.
        progress: Wraps the iteration over batches, to show how far it is.
        options: Of the task: ``even`` for classification, ``own_frame`` and ``noise`` for
            completion.

    Raises:
        DdeqError: for a model that does not fit the data, or an option that the task has not.
    """
    task = _task(model)
    dim = model.config()["dim"]
    if dim != data.dim:
        raise DdeqError(f"it is for {dim}-D clouds, {data.name} is {data.dim}-D (--data)")
    for name in options:
        if name not in task.evaluation_options:
            raise DdeqError(f"{task.name} has no option {name!r}")
    return task.evaluate(model, data, batch_size, seed, progress, **options)


def _task(model: Any) -> type[Task]:
    """The task whose models are of this type."""
    for task in known(Task).values():
        if type(model) is task.model_type:
            return task
    raise DdeqError(f"no task has models of type {type(model).__name__}")
