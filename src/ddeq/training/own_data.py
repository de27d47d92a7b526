"""A recipe for a user's own clouds, fitted to how many there are and of which dimension."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

from ddeq.data import CloudDataset, load
from ddeq.errors import DdeqError
from ddeq.inference.weights import default_weights
from ddeq.tasks import Task
from ddeq.training.plan import Plan
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["OwnData", "own_recipe"]

_STEPS, _STEPS_AFTER = 1200, 400  # from scratch, and after a transfer
_BATCHES = 8  # per epoch, where there are clouds enough for batches of four


class OwnData(NamedTuple):
    """How to train on a user's clouds.

    Attributes:
        recipe: The run.
        clouds: The clouds it trains on.
        init: Shipped weights to start from, if there are any for the task and the dimension.
    """

    recipe: Recipe
    clouds: CloudDataset
    init: str | None


def own_recipe(
    data: str,
    task: str | None = None,
    root: str | Path | None = None,
    surface: int = 0,
    transfer: bool = True,
) -> OwnData:
    """A recipe for a folder of clouds or a CSV file.

    Args:
        data: The folder or the file.
        task: Its name; by default classification, or regression where clouds have numbers.
        root: Folder with the data sets.
        surface: See :class:`Recipe`.
        transfer: Start from the shipped weights of the dimension, with a new head where the
            classes are others.
    """
    clouds = load(data, "train", root, surface or None)
    name = task or ("classification" if clouds.classes else "regression")
    kind = Task.of(name.lower())
    if kind.has_classes and len(clouds.classes) < 2:
        raise DdeqError(f"{data} has one class: add sub-folders, or --task completion")
    init = default_weights(kind.model_type.kind, clouds.dim) if transfer else None
    names = (f"mini-{kind.name}", f"{kind.name}-mini", "mini-classification")
    recipe = next(PRESETS[name] for name in names if name in PRESETS)
    recipe = replace(
        recipe,
        task=recipe.task if isinstance(recipe.task, kind) else kind(),
        data=data,
        surface=surface,
        augment=True,
        validation=0.2 if len(clouds) < 500 else 0.1,
        max_points=128 if clouds.dim == 2 else 256,
    )
    if init is not None:
        source = kind.model_type.from_pretrained(init)
        config = source.config()
        same = {f.name: config[f.name] for f in fields(kind) if f.name in config}
        task_like = replace(recipe.task, **same)  # its particles, its frame, ...
        recipe = replace(recipe, task=task_like, network=source.network_config, learning_rate=1e-3)
    return OwnData(_fitted(recipe, len(clouds), init is not None), clouds, init)


def _fitted(recipe: Recipe, clouds: int, transfer: bool) -> Recipe:
    """Batches and epochs that suit so many clouds."""
    trained = max(1, clouds - round(recipe.validation * clouds))
    size = min(max(trained // _BATCHES, 4), 32)
    plan = Plan(replace(recipe, batch_size=size), trained)
    epochs = math.ceil((_STEPS_AFTER if transfer else _STEPS) / plan.per_epoch)
    return replace(recipe, batch_size=size, epochs=max(10, 10 * round(epochs / 10)))
