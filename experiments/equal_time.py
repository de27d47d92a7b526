"""Trainings that have the same CPU time, with the library's own training; finished ones are kept.

A training that was killed goes on from its last checkpoint, and one that is done is not repeated:
a long experiment can be run in pieces. The folder ``runs/reproduce`` of the clone has both.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import lightning as L
from common import some
from lightning.pytorch.callbacks import Callback

from ddeq.data import CloudDataset
from ddeq.io.atomic import atomic_path
from ddeq.training import train
from ddeq.training.data import CloudData
from ddeq.training.fields import to_yaml
from ddeq.training.recipe import Recipe

__all__ = ["Budget", "Learned", "learn", "remembered", "store", "tuned"]

_KEPT = Path(__file__).resolve().parent.parent / "runs" / "reproduce"
_SEARCH = 1 / 8  # of the time, for each learning rate that is tried
_FACTORS = (1.0, 0.3)


@dataclass(frozen=True)
class Budget:
    """How long a training may take, and how it is watched.

    Attributes:
        seconds: CPU seconds of training; measuring held-out clouds does not count.
        steps: Training steps instead, where it is not 0: the same on any machine.
        held_out: Training clouds that are held out, to choose the best weights and the rate.
        probes: How often they are measured.
    """

    seconds: float
    steps: int = 0
    held_out: int = 500
    probes: int = 6

    @property
    def words(self) -> str:
        """How long a training is, for tables."""
        return f"{self.steps} steps" if self.steps else f"{self.seconds:.0f} CPU seconds"


@dataclass(frozen=True, eq=False)
class Learned:
    """A training that is over.

    Attributes:
        folder: Where it is kept; what is measured of the model may be kept there too.
        model: The best weights by the held-out clouds.
        curve: Step, CPU seconds and held-out metric of the task at each probe.
        rate: The learning rate.
        batch_size: Clouds per step.
    """

    folder: Path
    model: Any
    curve: list[tuple[int, float, float]]
    rate: float
    batch_size: int

    @property
    def steps(self) -> int:
        """Training steps."""
        return self.curve[-1][0]

    @property
    def parameters(self) -> int:
        """Numbers that were learned."""
        return sum(p.numel() for p in self.model.parameters())

    @property
    def ms_per_cloud(self) -> float:
        """CPU milliseconds of training per cloud."""
        return 1000 * self.curve[-1][1] / self.steps / self.batch_size


class CpuTime(Callback):
    """Makes the minutes of a recipe go by CPU time of training, and measures now and then.

    Args:
        metric: Of the task.
        probes: How often.
    """

    def __init__(self, metric: str, probes: int) -> None:
        self.metric, self.probes = metric, probes
        self.curve: list[tuple[int, float, float]] = []
        self.begin = 0.0

    def setup(self, trainer: L.Trainer, module: Any, stage: str) -> None:
        """Takes the clock."""
        module.clock = time.process_time
        module.begin = module.clock()

    def on_train_start(self, trainer: L.Trainer, module: Any) -> None:
        """No measurement but those that are asked for here."""
        trainer.check_val_every_n_epoch = 1
        trainer.val_check_batch = 10**9

    def on_train_batch_end(self, trainer: L.Trainer, module: Any, *_: Any) -> None:
        """Asks for a measurement if it is time."""
        due = module.progress(trainer.global_step) * self.probes >= len(self.curve) + 1
        trainer.val_check_batch = 1 if due else 10**9

    def on_validation_start(self, trainer: L.Trainer, module: Any) -> None:
        """Stops the clock."""
        self.begin = module.clock()

    def on_validation_epoch_end(self, trainer: L.Trainer, module: Any) -> None:
        """Notes what was measured."""
        value = float(trainer.callback_metrics[f"val/{self.metric}"])
        self.curve.append((trainer.global_step, self.begin - module.begin, value))

    def on_validation_end(self, trainer: L.Trainer, module: Any) -> None:
        """Lets the clock go on."""
        module.begin += module.clock() - self.begin

    def state_dict(self) -> dict[str, Any]:
        """The curve, for a checkpoint."""
        return {"curve": self.curve}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes it up again."""
        self.curve = [tuple(point) for point in state_dict["curve"]]  # type: ignore[misc]


def learn(
    recipe: Recipe,
    clouds: CloudDataset,
    budget: Budget,
    root: Path,
    callbacks: tuple[Callback, ...] = (),
) -> Learned:
    """Trains for so many CPU seconds, or takes the training that was done so before.

    Args:
        recipe: The run; its minutes and its share of held-out clouds are those of the budget.
        clouds: Training clouds, those that are held out among them.
        budget: How long.
        root: Where trainings are kept, from :func:`store`.
        callbacks: What else is to happen.
    """
    recipe, clouds = _planned(recipe, clouds, budget)
    folder = root / f"{recipe.task.name}-{_key(recipe, clouds)}"
    done, task = folder / "curve.json", recipe.task
    clock = CpuTime(task.metric, budget.probes)
    if done.is_file():
        model = type(task).model_type.from_pretrained(folder / "model")
        clock.load_state_dict({"curve": json.loads(done.read_text(encoding="utf-8"))})
    else:
        data = CloudData(recipe, whole=clouds)
        model = train(
            recipe,
            folder,
            data=data,
            resume=True,
            verbose=False,
            save_every=100,
            callbacks=[clock, *callbacks],
            pictures=False,
        )
        _write(done, clock.curve)
    return Learned(folder, model.eval(), clock.curve, recipe.learning_rate, recipe.batch_size)


def tuned(recipe: Recipe, clouds: CloudDataset, budget: Budget, root: Path) -> Learned:
    """:func:`learn` with the learning rate that held-out clouds prefer after short trainings.

    The rate of the recipe and 0.3 of it get an eighth of the time each, beyond the budget. A budget
    of steps is for small runs, which keep the rate of the recipe.
    """
    if budget.steps:
        return learn(recipe, clouds, budget, root)
    sign = 1.0 if recipe.task.best_is == "max" else -1.0
    short = replace(budget, seconds=_SEARCH * budget.seconds, probes=1)
    tried = [replace(recipe, learning_rate=f * recipe.learning_rate) for f in _FACTORS]
    scores = [sign * learn(one, clouds, short, root).curve[-1][2] for one in tried]
    return learn(tried[scores.index(max(scores))], clouds, budget, root)


def store(data: str) -> Path:
    """Where trainings and rows are kept: not beyond the process for ``mini``."""
    return _temporary() if data == "mini" else _KEPT


def remembered(path: Path, make: Callable[[], Any]) -> Any:
    """A JSON value that is made once: what a file has, or what ``make`` returns."""
    if not path.is_file():
        _write(path, make())
    return json.loads(path.read_text(encoding="utf-8"))


def _planned(recipe: Recipe, clouds: CloudDataset, budget: Budget) -> tuple[Recipe, CloudDataset]:
    """Recipe and clouds of a run that is as long as the budget says."""
    if not budget.steps:
        share = min(budget.held_out / len(clouds), 0.25)
        minutes = budget.seconds / 60
        return replace(recipe, data=clouds.name, validation=share, minutes=minutes), clouds
    held_out = min(budget.held_out, len(clouds) // 4)
    used = min(len(clouds) - held_out, budget.steps * recipe.batch_size)
    clouds = some(clouds, used + held_out, recipe.seed)
    epochs = max(1, round(budget.steps / max(1, used // recipe.batch_size)))
    share = held_out / len(clouds)
    return replace(recipe, data=clouds.name, validation=share, epochs=epochs), clouds


@lru_cache
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ddeq-reproduce-"))
    atexit.register(shutil.rmtree, folder, True)
    return folder


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as draft:
        draft.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _key(recipe: Recipe, clouds: CloudDataset) -> str:
    """What tells trainings apart."""
    text = f"{to_yaml(recipe)} {len(clouds)} {int(clouds.lengths.sum())}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
