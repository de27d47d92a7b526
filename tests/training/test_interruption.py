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


def options(data: Path, out: Path) -> list[str]:
    recipe = {
        "--data": str(data),
        "--epochs": "3",
        "--batch-size": "4",
        "--validation": "0.25",
        "--warmup": "2",
        "--train-steps": "[2,3]",
        "--solver-steps": "3",
        "--visits": "2",
        "--dropout": "0.1",
        "--save-every": "5",
        "--log-every": "1",
        "-o": str(out),
    }
    return ["train", "mini-classification", *(word for pair in recipe.items() for word in pair)]


def test_a_killed_training_resumes_exactly(tmp_path: Path) -> None:
    data = write_clouds(tmp_path / "clouds")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert finish(start(options(data, whole))) == 0
    moment = random.SystemRandom().randrange(6, STEPS - 4)
    process = start(options(data, killed))
    _wait_for(killed, moment)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    assert finish(process) == -signal.SIGKILL
    assert not (killed / "model").exists(), "it was killed too late"
    assert finish(start([*options(data, killed), "--resume"])) == 0

    curve, resumed = logged(whole, "train/loss"), logged(killed, "train/loss")
    assert sorted(curve) == list(range(STEPS))
    different = {k: (v, curve[k]) for k, v in resumed.items() if v != curve[k]}
    assert not different, f"killed after step {moment}"
    # a step's figures are written right after its checkpoint: a kill in between takes one row
    assert len(curve) - len(resumed) <= 1
    assert logged(killed, "val/loss") == logged(whole, "val/loss")
    weights = [(run / "model" / "model.safetensors").read_bytes() for run in (whole, killed)]
    assert weights[0] == weights[1]


def _wait_for(run: Path, step: int) -> None:
    """Until a run has a checkpoint and has logged a step."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        checkpoint = run / "checkpoints" / "last.ckpt"
        if checkpoint.exists() and max(logged(run, "train/loss"), default=-1) >= step:
            return
        time.sleep(0.002)
    raise TimeoutError(f"no step {step}")
