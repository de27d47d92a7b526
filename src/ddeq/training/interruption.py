"""Signals that end a training: it saves, says how to go on, and ends with the signal's status."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback

__all__ = ["Interrupted", "Interruption", "StoppedError"]


class Interrupted(KeyboardInterrupt):
    """A training was ended by a signal; its folder has a checkpoint to go on from.

    Attributes:
        status: Exit status that says so: 130 after Ctrl-C, 143 after a request to terminate.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class StoppedError(Exception):
    """Leaves Lightning's loop, which would exit at a KeyboardInterrupt."""


class Interruption(Callback):
    """Saves a checkpoint and stops after a signal; a second signal does what it always does.

    An epoch whose last step is done is validated first, as a run that went on from there would not
    validate it.

    Args:
        checkpoint: File to save to.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.signal = 0
        self._before: dict[int, Any] = {}

    def on_train_start(self, *_: Any) -> None:
        """Takes over the signals, where this is the thread that they come to."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)

    def on_train_batch_end(self, trainer: L.Trainer, *_: Any) -> None:
        """Stops here, but for the last step of an epoch."""
        if not trainer.is_last_batch and self._wanted(trainer):
            trainer.save_checkpoint(self.checkpoint)
            raise StoppedError

    def on_train_epoch_start(self, trainer: L.Trainer, *_: Any) -> None:
        """Stops before an epoch: the one before has left its checkpoint."""
        if trainer.global_step and self._wanted(trainer):
            raise StoppedError

    def on_train_end(self, *_: Any) -> None:
        """Gives the signals back."""
        self.restore()

    def on_exception(self, *_: Any) -> None:
        """Gives the signals back, before Lightning does the same."""
        self.restore()

    def restore(self) -> None:
        """Gives the signals back."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self.restore()
        print("stopping after this step ...", flush=True)

    def _wanted(self, trainer: L.Trainer) -> bool:
        """Whether a signal came, to any of the processes."""
        if trainer.world_size == 1:
            return bool(self.signal)
        return bool(trainer.strategy.reduce_boolean_decision(bool(self.signal), all=False))
