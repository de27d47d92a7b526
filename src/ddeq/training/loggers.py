"""Where the figures of a run are written: CSV and TensorBoard always, Weights & Biases if asked."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger, WandbLogger

from ddeq.errors import DdeqError

__all__ = ["RunLog", "make_loggers"]


class RunLog(CSVLogger):
    """``OUT/metrics.csv``: every row is written at once, and a resumed run goes on with the file.

    Args:
        out: Folder of the run.
        resumed_at: Steps that the checkpoint has behind it; later rows of an interrupted run are
            left out, as they come again. 0 begins a new file.
    """

    def __init__(self, out: Path, resumed_at: int = 0) -> None:
        super().__init__(out, "", "", flush_logs_every_n_steps=1)
        self.resumed_at = resumed_at

    @property
    def experiment(self) -> Any:
        """The writer, which begins with the rows that are kept."""
        if self._experiment is None:
            rows = self._kept()  # making a writer deletes the file
            writer = super().experiment
            writer.metrics = rows
            writer.save()
        return super().experiment

    def _kept(self) -> list[dict[str, Any]]:
        path = Path(self.log_dir) / "metrics.csv"
        if not self.resumed_at or not path.exists():
            return []
        with path.open(newline="") as file:
            rows = [{k: v for k, v in row.items() if k and v} for row in csv.DictReader(file)]
        return [row for row in rows if _step(row) < self.resumed_at]


def make_loggers(out: Path, done: int, wandb: bool = False) -> list[Logger]:
    """The loggers of a run.

    Args:
        out: Folder of the run.
        done: Steps behind the checkpoint from which the run is taken up; 0 for a new one.
        wandb: Also log to Weights & Biases, which must be installed.
    """
    loggers: list[Logger] = [
        RunLog(out, done),
        TensorBoardLogger(out, "", "tensorboard", purge_step=done or None),
    ]
    if wandb:
        check_wandb()
        loggers.append(WandbLogger(name=out.name, save_dir=out, project="ddeq"))
    return loggers


def check_wandb() -> None:
    """Raises DdeqError, in one line, if Weights & Biases is not installed."""
    if importlib.util.find_spec("wandb") is None:
        raise DdeqError("--wandb needs Weights & Biases: pip install wandb")


def _step(row: dict[str, Any]) -> float:
    """The step of a row; a row cut off by a kill has none and is not kept."""
    try:
        return int(row["step"])
    except (KeyError, ValueError):
        return float("inf")
