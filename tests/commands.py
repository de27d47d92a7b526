"""Commands in processes of their own, which can be killed."""

import csv
import multiprocessing
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import torch

from ddeq.cli import main

WAIT = 600  # seconds; a busy machine is no failure


def start(argv: list[str], environment: dict[str, str] | None = None) -> BaseProcess:
    """Starts ``ddeq ARGV``. The modules are loaded once, by the server that forks the processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ddeq.training.run", "commands"])
    process = context.Process(target=_run, args=(argv, environment or {}))
    process.start()
    return process


def finish(process: BaseProcess) -> int:
    """Waits for a process and returns its exit status."""
    process.join(WAIT)
    if process.is_alive():
        process.kill()
        raise TimeoutError("the command did not end")
    assert process.exitcode is not None
    return process.exitcode


def write_clouds(folder: Path, count: int = 40, points: int = 24) -> Path:
    """Two classes of clouds in files, ``count`` each, of different sizes."""
    rng = np.random.default_rng(0)
    for name, stretch in (("round", 1.0), ("long", 4.0)):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            cloud = rng.normal(size=(points + i % 5, 2)) * [stretch, 1.0]
            np.save(folder / name / f"{i}.npy", cloud.astype(np.float32))
    return folder


def logged(out: Path, name: str) -> dict[int, float]:
    """The values of a figure by step, from a run's ``metrics.csv``."""
    path = out / "metrics.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get(name) and row.get("step")]
    return {int(row["step"]): float(row[name]) for row in rows}


def _run(argv: list[str], environment: dict[str, str]) -> None:
    import os

    os.environ.update({"CUDA_VISIBLE_DEVICES": "", **environment})
    torch.set_num_threads(1)
    sys.exit(main(argv))
