"""Processes that share each batch do what one does."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from commands import finish, logged, start, write_clouds

OPTIONS = [
    *("--epochs", "2", "--batch-size", "4", "--validation", "0.25", "--warmup", "2"),
    *(
        "--train-steps",
        "[2,3]",
        "--solver.max-steps",
        "3",
        "--replay",
        "2",
        "--network.dropout",
        "0.1",
    ),
    *("--task.own-frame", "0.5", "--task.noise", "0.05", "--save-every", "5", "--log-every", "1"),
]


def train_together(argv: list[str], count: int) -> list[int]:
    """Runs one training in several processes, as a cluster would start them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    ranks = [{**place, "LOCAL_RANK": str(rank), "NODE_RANK": "0"} for rank in range(count)]
    processes = [start([*argv, "--devices", str(count)], rank) for rank in ranks]
    return [finish(process) for process in processes]


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_are_as_one(count: int, tmp_path: Path) -> None:
    data = write_clouds(tmp_path / "clouds", count=20)
    argv = ["train", "mini-completion", "--data", str(data), *OPTIONS]
    one, shared = tmp_path / "one", tmp_path / "shared"
    assert finish(start([*argv, "-o", str(one)])) == 0
    assert train_together([*argv, "-o", str(shared)], count) == [0] * count
    assert_same_run(shared, one)


@pytest.mark.slow
def test_torchrun_starts_them(tmp_path: Path) -> None:
    data = write_clouds(tmp_path / "clouds", count=20)
    argv = ["train", "mini-completion", "--data", str(data), *OPTIONS]
    one, shared = tmp_path / "one", tmp_path / "shared"
    assert finish(start([*argv, "-o", str(one)])) == 0
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = ["--nproc-per-node", "2", "-m", "ddeq.cli", *argv, "--devices", "2"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    subprocess.run([*torchrun, *command, "-o", str(shared)], check=True, env=environment)
    assert_same_run(shared, one)


def assert_same_run(shared: Path, one: Path) -> None:
    for name in ("train/loss", "train/spread", "val/mmd2"):
        alone, together = logged(one, name), logged(shared, name)
        assert len(alone) > 1
        assert together == pytest.approx(alone, abs=1e-4, rel=1e-4)
    assert (shared / "model" / "model.safetensors").exists()
    assert len(list((shared / "samples").iterdir())) == 2


def test_a_batch_that_cannot_be_divided_is_refused(tmp_path: Path, capsys) -> None:
    from ddeq.cli import main

    argv = ["train", "mini-completion", "--batch-size", "5", "--devices", "2", "-o", str(tmp_path)]
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "batch_size 5" in error
    assert not list(tmp_path.iterdir())
