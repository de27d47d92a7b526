"""What happens beside the training: early pictures, checkpoints to go on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint

from ddeq.models import Completer

__all__ = ["EarlyPictures", "last_checkpoints"]

_SHOWN = 8  # completed clouds in a picture


class EarlyPictures(Callback):
    """A picture after every validation, ``OUT/samples/epoch-NNN.png``.

    For completion: the same few held-out clouds each time, completed. For classification: which
    held-out classes are taken for which. Nothing here draws from the random stream of training.

    It must come before a callback that averages the weights, so as to show the weights that were
    measured: that one puts the others back at the end of the validation.

    Args:
        out: Folder of the run.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / "samples"
        self.confusion = np.zeros((0, 0), dtype=np.int64)

    def on_validation_epoch_start(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Begins a new count."""
        size = len(_data(trainer).validation.classes)
        self.confusion = np.zeros((size, size), dtype=np.int64)

    def on_validation_batch_end(
        self,
        trainer: L.Trainer,
        module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Counts predictions, which the step of a classifier returns."""
        if isinstance(outputs, torch.Tensor):
            np.add.at(self.confusion, (batch[1].cpu().numpy(), outputs.cpu().numpy()), 1)

    def on_validation_epoch_end(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Writes the picture."""
        if not trainer.is_global_zero:
            return
        from ddeq.viz import charts, plots
        from ddeq.viz.snapshots import choose, completions

        validation, model = _data(trainer).validation, module.model
        if isinstance(model, Completer):
            tasks = _data(trainer).val_dataloader().dataset
            items = [tasks[i] for i in choose(validation, _SHOWN, seed=0)]
            with torch.random.fork_rng(devices=[]):
                rows = completions(model, items, validation.classes)
            figure = plots.completion_grid(rows)
        elif self.confusion.sum():
            figure = charts.confusion(self.confusion, validation.classes)
        else:
            return
        plots.save(figure, self.folder / f"epoch-{trainer.current_epoch + 1:03}.png")


class _WithinEpochs(ModelCheckpoint):
    """Leaves out the last step of an epoch: a run that went on from there would not validate it."""

    def on_train_batch_end(self, trainer: L.Trainer, *rest: Any) -> None:
        """Saves if it is time."""
        if not trainer.is_last_batch:
            super().on_train_batch_end(trainer, *rest)


def last_checkpoints(folder: Path, every: int) -> list[Callback]:
    """Callbacks that keep ``folder/last.ckpt``: every so many steps, and when an epoch is over.

    Args:
        folder: Where.
        every: Steps.
    """
    # Both write the same file, and one callback of Lightning's cannot do both
    return [
        _WithinEpochs(folder, "last", every_n_train_steps=every, enable_version_counter=False),
        ModelCheckpoint(
            folder,
            "last",
            every_n_epochs=1,
            save_on_train_epoch_end=True,
            enable_version_counter=False,
        ),
    ]


def _data(trainer: L.Trainer) -> Any:
    """The run's :class:`ddeq.training.data.CloudData`."""
    return trainer.datamodule  # type: ignore[attr-defined]
