"""A training that is killed, by a signal that it cannot catch, goes on as if it had not been."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from commands import WAIT, finish, logged, start, write_clouds

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")

STEPS = 36  # 3 epochs of 48 clouds in batches of 4
KILLS = {"short": 1, "long": 20}


def options(data: Path, out: Path) -> list[str]:
    recipe = {
        "--data": str(data),
        "--epochs": "3",
        "--batch-size": "4",
        "--validation": "0.25",
        "--warmup": "2",
        "--train-steps": "[2,3]",
        "--solver.max-steps": "3",
        "--replay": "2",
        "--network.dropout": "0.1",
        "--save-every": "5",
        "--log-every": "1",
        "-o": str(out),
    }
    return ["train", "mini-classification", *(word for pair in recipe.items() for word in pair)]


def test_a_killed_training_resumes_exactly(effort: str, tmp_path: Path, tally) -> None:
    data, whole = write_clouds(tmp_path / "clouds"), tmp_path / "whole"
    assert finish(start(options(data, whole))) == 0
    for number in range(KILLS[effort]):
        killed = tmp_path / f"killed{number}"
        writing = number % 2 == 1  # half of them while a checkpoint is being written
        moment = random.SystemRandom().randrange(6, STEPS - (14 if writing else 4))
        kill(options(data, killed), killed, moment, writing)
        assert finish(start([*options(data, killed), "--resume"])) == 0
        compare(whole, killed, moment)
        tally["resumed to the same weights"] += 1


def kill(argv: list[str], run: Path, moment: int, writing: bool) -> None:
    """Starts a training and ends it after a step, or while it writes the next checkpoint."""
    process = start(argv)
    folder = run / "checkpoints"
    _wait(lambda: (folder / "last.ckpt").exists())
    _wait(lambda: max(logged(run, "train/loss"), default=-1) >= moment)
    if writing:
        _wait(lambda: any(folder.glob(".ddeq-*")) or not process.is_alive())
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert finish(process) == -signal.SIGKILL
    assert max(logged(run, "train/loss")) < STEPS - 1, "it was killed too late"


def compare(whole: Path, killed: Path, moment: int) -> None:
    """The curves and the weights are the same to the last bit."""
    curve, resumed = logged(whole, "train/loss"), logged(killed, "train/loss")
    assert sorted(curve) == list(range(STEPS))
    different = {k: (v, curve[k]) for k, v in resumed.items() if v != curve[k]}
    assert not different, f"killed after step {moment}"
    # a step's figures are written right after its checkpoint: a kill in between takes one row
    assert len(curve) - len(resumed) <= 1
    assert logged(killed, "val/loss") == logged(whole, "val/loss")
    weights = [(run / "model" / "model.safetensors").read_bytes() for run in (whole, killed)]
    assert weights[0] == weights[1]


def _wait(there) -> None:
    end = time.monotonic() + WAIT
    while not there():
        if time.monotonic() > end:
            raise TimeoutError("it did not come")
        time.sleep(0.002)
