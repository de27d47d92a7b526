"""Runs a recipe: fit, keep the best and the last, save the model."""

from __future__ import annotations

import logging
import os
import random
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, WeightAveraging
from lightning.pytorch.loggers import Logger
from torch import Tensor

from ddeq.models.base import EquilibriumModel
from ddeq.training.callbacks import BestModel, EarlyPictures, RecipeFile, export
from ddeq.training.checkpoints import LastCheckpoint, Saved, WholeCheckpoints, find_checkpoint
from ddeq.training.data import CloudData
from ddeq.training.distributed import rank
from ddeq.training.finetune import start_from
from ddeq.training.folder import claimed
from ddeq.training.interruption import Interrupted, Interruption, StoppedError
from ddeq.training.loggers import make_loggers
from ddeq.training.module import EquilibriumModule
from ddeq.training.plan import Plan
from ddeq.training.recipe import Recipe

__all__ = ["train"]


@contextmanager
def own_process_state() -> Iterator[None]:
    """Leaves the caller's random states, warnings, log level and environment as they were.

    Training seeds all random numbers; Lightning sets variables of the environment, and its remarks
    about workers and devices are not for users of this tool.
    """
    logger = logging.getLogger("lightning.pytorch")
    before = random.getstate(), np.random.get_state(), dict(os.environ), logger.level
    logger.setLevel(logging.ERROR)
    os.environ.setdefault("LIGHTNING_DISABLE_TIPS", "1")
    try:
        with torch.random.fork_rng(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        for name in os.environ.keys() - before[2].keys():
            del os.environ[name]
        os.environ.update(before[2])
        logger.setLevel(before[3])


class ProgressLine(Callback):
    """A line of figures now and then: loss, residual, spread, solver steps, time left.

    Args:
        every: Seconds between two lines.
    """

    def __init__(self, every: float = 10.0) -> None:
        self.every = every
        self.begin = self.shown = 0.0
        self.first, self.done = 0, 0.0

    def on_train_start(self, trainer: L.Trainer, module: Any) -> None:
        """Remembers where and when the run began."""
        self.begin = self.shown = time.monotonic()
        self.first, self.done = trainer.global_step, module.progress(trainer.global_step)

    def on_train_batch_end(self, trainer: L.Trainer, module: Any, *_: Any) -> None:
        """Prints if it is time."""
        now = time.monotonic()
        if now - self.shown < self.every or not trainer.is_global_zero:
            return
        self.shown = now
        pace = (now - self.begin) / max(trainer.global_step - self.first, 1)
        done = module.progress(trainer.global_step)
        left = (now - self.begin) * (1.0 - done) / max(done - self.done, 1e-9)
        values = {name: float(value) for name, value in trainer.callback_metrics.items()}
        print(
            f"step {trainer.global_step}  {100 * min(done, 1):.0f} %  "
            f"loss {values['train/loss']:.4f}  {_solved(values)}{pace:.2f} s/step  "
            f"{max(left, 0) / 60:.0f} min left",
            flush=True,
        )

    def on_validation_epoch_end(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Prints what was measured on the held-out clouds."""
        if not trainer.is_global_zero:
            return
        values = {k: float(v) for k, v in trainer.callback_metrics.items() if k.startswith("val/")}
        shown = "  ".join(f"{name[4:]} {value:.4g}" for name, value in values.items())
        print(f"epoch {trainer.current_epoch + 1}  {shown}", flush=True)


def _solved(values: dict[str, float]) -> str:
    """What a line of figures says of the equilibria; nothing of a model that has none."""
    if "train/residual" not in values:
        return ""
    return (
        f"residual {values['train/residual']:.1e}  spread {values['train/spread']:.2f}  "
        f"solver steps {values['train/steps']:.0f}  "
    )


class TimeBudget(Callback):
    """Ends a run when the minutes of its recipe are over; the last weights are validated."""

    def on_train_batch_end(self, trainer: L.Trainer, module: Any, *_: Any) -> None:
        """Stops if it is time."""
        if module.progress(trainer.global_step) >= 1.0:
            trainer.check_val_every_n_epoch = 1
            trainer.should_stop = True


@own_process_state()
def train(
    recipe: Recipe,
    out: str | Path,
    root: str | Path | None = None,
    *,
    data: CloudData | None = None,
    init: str | None = None,
    resume: bool = False,
    force: bool = False,
    verbose: bool = True,
    save_every: int = 200,
    wandb: bool = False,
    trainer_options: dict[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
    pictures: bool = True,
) -> Any:
    """Trains a model and leaves it in ``out/model``, the best one from each validation on.

    ``out`` also gets the recipe, the figures, pictures and a checkpoint to go on from. Nothing is
    written before data, model and weights have been loaded.

    Args:
        recipe: The run.
        out: Its folder.
        root: Folder with the data.
        data: Other batches than those of the set that the recipe names.
        init: Weights to begin with: shipped ones by name, or a folder.
        resume: Go on from the last checkpoint of ``out``, if there is one.
        force: Replace a run that ``out`` holds; it is deleted when the new one is done.
        verbose: Print figures on the way.
        save_every: Steps between checkpoints.
        wandb: Also log to Weights & Biases.
        trainer_options: Passed on to Lightning's ``Trainer``, e.g. devices and nodes. Each batch
            is distributed among the processes, so that the result is that of one process.
        callbacks: What else is to happen, such as :class:`ddeq.training.theory.TheoryLog`.
        pictures: Draw one after each validation.

    Returns:
        The best model by the held-out clouds, in evaluation mode; the last one if
        ``recipe.validation`` is 0, when every cloud is trained on.

    Raises:
        DdeqError: in one line, for data, weights or a folder that cannot be used.
        Interrupted: after Ctrl-C or a request to terminate; a checkpoint is saved by then.
    """
    out = Path(out)
    data = CloudData(recipe, root) if data is None else data
    L.seed_everything(recipe.seed, verbose=False)
    module = EquilibriumModule(recipe.make_model(data.train), recipe)
    if init is not None:
        start_from(module.model, init)
    saved = _checkpoint(out, module) if resume else None
    plan = Plan(recipe, len(data.train), init is not None)
    if verbose and rank() == 0:
        print("\n".join(plan.lines()), flush=True)
    with claimed(out, resume, force) if rank() == 0 else nullcontext():
        best, stop = BestModel(out, recipe), Interruption(out / "checkpoints" / "last.ckpt")
        every: list[Callback] = [
            *callbacks,
            RecipeFile(out, recipe),
            *([EarlyPictures(out)] if pictures else []),
            *_measuring(recipe, best, verbose),
            stop,
            LastCheckpoint(out / "checkpoints", save_every),
        ]
        loggers = make_loggers(out, saved.step if saved else 0, wandb)
        trainer = _trainer(plan, every, loggers, trainer_options)
        _fit(trainer, module, data, saved.path if saved else None, stop, out)
        return _finish(module, best, out)


def _checkpoint(out: Path, module: EquilibriumModule) -> Saved | None:
    """What to go on from, if there is any; says so where the last checkpoint is damaged."""
    saved = find_checkpoint(out / "checkpoints", module)
    if saved and saved.damaged and rank() == 0:
        print(f"{saved.damaged} is damaged: going on from the one before, step {saved.step}")
    return saved


def _measuring(recipe: Recipe, best: BestModel, verbose: bool) -> list[Callback]:
    """What keeps, shows and ends a run; what needs averaged weights comes before they go."""
    return [
        *([best] if recipe.validation else []),
        *_averaging(recipe.average),
        *([ProgressLine()] if verbose else []),
        *([TimeBudget()] if recipe.minutes else []),
    ]


def _fit(
    trainer: L.Trainer,
    module: EquilibriumModule,
    data: CloudData,
    checkpoint: Path | None,
    stop: Interruption,
    out: Path,
) -> None:
    """Trains; a signal ends it with :class:`Interrupted`."""
    try:
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
    except StoppedError:
        step = trainer.global_step
        raise Interrupted(
            f"interrupted after step {step}: go on with ddeq train --resume {out}",
            128 + (stop.signal or signal.SIGTERM),
        ) from None
    except SystemExit:  # Lightning's answer to a second Ctrl-C
        raise KeyboardInterrupt from None


def _trainer(
    plan: Plan,
    callbacks: list[Callback],
    loggers: list[Logger],
    options: dict[str, Any] | None,
) -> L.Trainer:
    """Lightning's trainer: one process on one device, unless the options say otherwise."""
    recipe = plan.recipe
    return L.Trainer(
        max_epochs=-1 if recipe.minutes else recipe.epochs,
        check_val_every_n_epoch=plan.validate_every,
        logger=loggers,
        callbacks=callbacks,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        enable_checkpointing=True,
        plugins=[WholeCheckpoints()],
        use_distributed_sampler=False,  # the buckets deal out their batches themselves
        gradient_clip_val=recipe.clip if recipe.clip != float("inf") else None,
        **{
            "devices": 1,
            "limit_val_batches": 1.0 if recipe.validation else 0,
            **(options or {}),
        },
    )


def _finish(module: EquilibriumModule, best: BestModel, out: Path) -> Any:
    """The best weights, saved for use."""
    recipe = module.recipe
    model = module.model.eval()
    if isinstance(model, EquilibriumModel):
        model.solver = recipe.solver
    weights = best.weights()
    if weights is not None:
        model.load_state_dict(weights)
        return model
    first = module.trainer.is_global_zero
    if recipe.validation and first:
        print(f"{out / 'model'} is not the best model of this run: the last weights replace it")
    if first:
        export(model, out / "model", recipe, None)
    return model


def _averaging(decay: float) -> list[Callback]:
    """A running average of the weights, ``a <- d a + (1 - d) w``; ``d`` grows to ``decay``."""
    if not decay:
        return []

    def average(mean: Tensor, weights: Tensor, count: Tensor | int) -> Tensor:
        if not mean.is_floating_point():  # the steps that a batch norm has counted
            return weights
        return mean.lerp(weights, 1.0 - min(decay, (1.0 + int(count)) / (10.0 + int(count))))

    return [WeightAveraging(avg_fn=average)]
