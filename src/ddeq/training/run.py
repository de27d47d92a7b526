"""Runs a recipe: fit, keep the best and the last, save the model."""

from __future__ import annotations

import logging
import os
import random
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, WeightAveraging
from lightning.pytorch.loggers import Logger
from torch import Tensor

from ddeq.models import Classifier, Completer
from ddeq.training.callbacks import EarlyPictures, last_checkpoints
from ddeq.training.data import CloudData
from ddeq.training.finetune import start_from
from ddeq.training.loggers import make_loggers
from ddeq.training.module import EquilibriumModule, make_module
from ddeq.training.recipe import Recipe

__all__ = ["train"]


@contextmanager
def own_random_numbers() -> Iterator[None]:
    """Leaves the caller's random states as they were: training seeds all of them."""
    before = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


class ProgressLine(Callback):
    """A line of figures now and then: loss, residual, spread, solver steps, time left.

    Args:
        every: Seconds between two lines.
    """

    def __init__(self, every: float = 10.0) -> None:
        self.every = every
        self.begin = self.shown = 0.0
        self.first = 0

    def on_train_start(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Remembers where and when the run began."""
        self.begin = self.shown = time.monotonic()
        self.first = trainer.global_step

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        """Prints if it is time."""
        now = time.monotonic()
        if now - self.shown < self.every or not trainer.is_global_zero:
            return
        self.shown = now
        total = int(trainer.estimated_stepping_batches)
        pace = (now - self.begin) / max(trainer.global_step - self.first, 1)
        values = {name: float(value) for name, value in trainer.callback_metrics.items()}
        print(
            f"step {trainer.global_step}/{total}  loss {values['train/loss']:.4f}  "
            f"residual {values['train/residual']:.1e}  spread {values['train/spread']:.2f}  "
            f"solver steps {values['train/steps']:.0f}  {pace:.2f} s/step  "
            f"{pace * (total - trainer.global_step) / 60:.0f} min left",
            flush=True,
        )

    def on_validation_epoch_end(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Prints what was measured on the held-out clouds."""
        if not trainer.is_global_zero:
            return
        values = {k: float(v) for k, v in trainer.callback_metrics.items() if k.startswith("val/")}
        shown = "  ".join(f"{name[4:]} {value:.4g}" for name, value in values.items())
        print(f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}  {shown}", flush=True)


@own_random_numbers()
def train(
    recipe: Recipe,
    out: str | Path,
    root: str | Path | None = None,
    *,
    data: CloudData | None = None,
    init: str | None = None,
    resume: bool = False,
    verbose: bool = True,
    save_every: int = 200,
    wandb: bool = False,
    trainer_options: dict[str, Any] | None = None,
) -> Classifier | Completer:
    """Trains a model and leaves it in ``out/model``; ``out/checkpoints`` holds best and last.

    Args:
        recipe: The run.
        out: Its folder.
        root: Folder with the data.
        data: Other batches than those of the set that the recipe names.
        init: Weights to begin with: shipped ones by name, or a folder.
        resume: Go on from the last checkpoint of ``out``, if there is one.
        verbose: Print figures on the way.
        save_every: Steps between checkpoints.
        wandb: Also log to Weights & Biases.
        trainer_options: Passed on to Lightning's ``Trainer``, e.g. devices and nodes. Processes
            share each batch, so that the result is that of one process.

    Returns:
        The best model by the held-out clouds, in evaluation mode; the last one if
        ``recipe.validation`` is 0, when every cloud is trained on.
    """
    _quiet()
    out = Path(out)
    data = CloudData(recipe, root) if data is None else data
    L.seed_everything(recipe.seed, verbose=False)
    module = make_module(recipe.make_model(data.train), recipe)
    if init is not None:
        start_from(module.model, init)
    best = ModelCheckpoint(out / "checkpoints", "best", monitor=module.metric, mode=module.best_is)
    checkpoint = _last(out) if resume else None
    callbacks = [
        EarlyPictures(out),
        *_averaging(recipe.average),
        *([best] if recipe.validation else []),
        *last_checkpoints(out / "checkpoints", save_every),
        *([ProgressLine()] if verbose else []),
    ]
    trainer = _trainer(recipe, callbacks, make_loggers(out, checkpoint, wandb), trainer_options)
    trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
    return _finish(module, best, out)


def _trainer(
    recipe: Recipe,
    callbacks: list[Callback],
    loggers: list[Logger],
    options: dict[str, Any] | None,
) -> L.Trainer:
    """Lightning's trainer: one process on one device, unless the options say otherwise."""
    return L.Trainer(
        max_epochs=recipe.epochs,
        logger=loggers,
        callbacks=callbacks,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,  # the buckets deal out their batches themselves
        gradient_clip_val=recipe.clip if recipe.clip != float("inf") else None,
        **{
            "devices": 1,
            "limit_val_batches": 1.0 if recipe.validation else 0,
            **(options or {}),
        },
    )


def _last(out: Path) -> Path | None:
    """The last checkpoint of a run, if it got that far."""
    path = out / "checkpoints" / "last.ckpt"
    return path if path.exists() else None


def _finish(module: EquilibriumModule, best: ModelCheckpoint, out: Path) -> Classifier | Completer:
    """The best weights, saved for use."""
    recipe = module.recipe
    facts = {
        "data": recipe.data,
        "recipe": f"{recipe.task}, {recipe.epochs} epochs of batch {recipe.batch_size}",
    }
    if best.best_model_path:
        path = best.best_model_path
        state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
        module.load_state_dict(state)
    if best.best_model_score is not None:
        name, value = module.metric.removeprefix("val/"), float(best.best_model_score)
        facts["metric"] = f"{name} {value:.4g} on held-out training clouds"
    model = module.model.eval()
    model.solver = recipe.make_solver()
    if module.trainer.is_global_zero:
        model.save_pretrained(out / "model", facts=facts)
    return model


def _averaging(decay: float) -> list[Callback]:
    """A running average of the weights, ``a <- d a + (1 - d) w``; ``d`` grows to ``decay``."""
    if not decay:
        return []

    def average(mean: Tensor, weights: Tensor, count: Tensor | int) -> Tensor:
        return mean.lerp(weights, 1.0 - min(decay, (1.0 + int(count)) / (10.0 + int(count))))

    return [WeightAveraging(avg_fn=average)]


def _quiet() -> None:
    """Lightning's remarks about workers and devices are not for users of this tool."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    os.environ.setdefault("LIGHTNING_DISABLE_TIPS", "1")
