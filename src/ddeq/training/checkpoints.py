"""Checkpoints that are whole or absent, and the one before kept in case."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint
from torch import nn

from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path

__all__ = ["LastCheckpoint", "Saved", "WholeCheckpoints", "find_checkpoint"]

_LAST, _BEFORE = "last.ckpt", "before-last.ckpt"


class WholeCheckpoints(TorchCheckpointIO):
    """Writes beside the target, to the disk, and then renames; keeps the checkpoint before."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Replaces a file as a whole."""
        target = Path(path)
        with atomic_path(target) as draft:
            torch.save(checkpoint, draft)
            if target.exists():
                os.replace(target, target.with_name(_BEFORE))


class LastCheckpoint(Checkpoint):
    """Keeps ``last.ckpt``: every so many steps, and when an epoch is over.

    The last step of an epoch is left out: a run that went on from there would not validate it.

    Args:
        folder: Where.
        every: Steps.
    """

    def __init__(self, folder: Path, every: int) -> None:
        self.path, self.every = folder / _LAST, every

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        """Saves if it is time."""
        if not trainer.is_last_batch and trainer.global_step % self.every == 0:
            trainer.save_checkpoint(self.path)

    def on_train_epoch_end(self, trainer: L.Trainer, *_: Any) -> None:
        """Saves."""
        trainer.save_checkpoint(self.path)


class Saved(NamedTuple):
    """A checkpoint that can be read.

    Attributes:
        path: The file.
        step: Training steps behind it.
        damaged: The newer one that cannot be read, if that is so.
    """

    path: Path
    step: int
    damaged: Path | None = None


def find_checkpoint(folder: Path, module: nn.Module) -> Saved | None:
    """The last checkpoint of a run, or the one before if that is damaged; None if there is none.

    Args:
        folder: With the checkpoints.
        module: That is to go on from it.

    Raises:
        DdeqError: if there are checkpoints and none can be read, or if the weights are of another
            network than that of the module.
    """
    files = [path for path in (folder / _LAST, folder / _BEFORE) if path.exists()]
    for i, path in enumerate(files):
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            step, weights = int(content["global_step"]), content["state_dict"]
        except Exception:  # whatever a damaged archive makes its reader say
            continue
        _check_fit(path, weights, module)
        return Saved(path, step, files[0] if i else None)
    if files:
        raise DdeqError(f"{files[0]} is damaged and there is no other: start over with --force")
    return None


def _check_fit(path: Path, weights: dict[str, Any], module: nn.Module) -> None:
    """Weights of other names or sizes than those of the module are refused."""
    held = {name: tuple(value.shape) for name, value in weights.items()}
    wanted = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    for name in sorted(held.keys() | wanted.keys()):
        if held.get(name) != wanted.get(name):
            raise DdeqError(
                f"{path} is of another network than these options make: {name} is "
                f"{held.get(name, 'absent')} there, {wanted.get(name, 'absent')} here"
            )
