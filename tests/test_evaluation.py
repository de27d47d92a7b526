"""Processes that evaluate together: the figures of the whole, from those of the parts."""

import json
import multiprocessing
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq.data import CloudDataset
from ddeq.errors import DdeqError
from ddeq.evaluation import Mean, Report, evaluate, merged, process_group
from ddeq.models import Classifier

SIZES = (7, 1, 12)


def part(rng: np.random.Generator, size: int) -> tuple[torch.Tensor, np.ndarray]:
    counts = np.zeros((3, 3), dtype=np.int64)
    np.add.at(counts, (rng.integers(0, 2, size), rng.integers(0, 3, size)), 1)
    return torch.from_numpy(rng.normal(2.0, 3.0, size)), counts


def report(values: torch.Tensor, counts: np.ndarray) -> Report:
    return Report("its own", {"error": Mean.of(values)}, dict.fromkeys("abc", 0.0), counts)


def test_the_report_of_the_parts_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    parts = [part(rng, size) for size in SIZES]
    together = merged([(len(values), report(values, counts)) for values, counts in parts])
    whole = Mean.of(torch.cat([values for values, _ in parts]))
    assert together.metrics["error"].value == pytest.approx(whole.value, rel=1e-12)
    assert together.metrics["error"].error == pytest.approx(whole.error, rel=1e-12)
    confusion = sum(counts for _, counts in parts)
    assert (together.confusion == confusion).all()
    assert together.per_class["a"] == confusion[0, 0] / confusion[0].sum()
    assert np.isnan(together.per_class["c"])  # no cloud of it


def measured(size: int = 6, batch_size: int = 2) -> Report:
    """A small model on a small data set, the same in every process."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Classifier(2, 2, features=8, bilinear=4, head_size=4, classes=["a", "b"])
    rng = np.random.default_rng(1)
    clouds = [rng.normal(size=(5 + i % 3, 2)) for i in range(size)]
    data = CloudDataset.from_list(clouds, [i % 2 for i in range(size)], ("a", "b"), "six")
    return evaluate(model, data, batch_size)


def plain(found: Report) -> dict[str, list[float]]:
    return {name: [mean.value, mean.error] for name, mean in found.metrics.items()}


def test_the_command_alone_and_in_another_rank(monkeypatch, capsys, tmp_path: Path) -> None:
    """Of several processes the first prints and writes."""
    from contextlib import contextmanager

    from ddeq import evaluation
    from ddeq.cli import main

    words = ["eval", "mini-classification", "--weights", "mnist-pc", "--limit", "2"]
    for rank in (1, 0):

        @contextmanager
        def group(rank: int = rank) -> Iterator[int]:
            yield rank

        monkeypatch.setattr(evaluation, "process_group", group)
        assert main([*words, "--confusion", str(tmp_path / "c.svg")]) == 0
        assert bool(capsys.readouterr().out) == (rank == 0)
        assert (tmp_path / "c.svg").exists() == (rank == 0)


def measure_in_a_process(place: dict[str, str], file: Path) -> None:
    import os

    os.environ.update(place)
    with process_group():
        found = measured()
        with pytest.raises(DdeqError, match="1 batches cannot be shared among 2 processes"):
            measured(batch_size=64)
    file.write_text(json.dumps([plain(found), np.asarray(found.confusion).tolist()]))


def test_two_processes_find_what_one_does(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ddeq.evaluation"])
    files = [tmp_path / f"{rank}.json" for rank in range(2)]
    processes = [
        context.Process(target=measure_in_a_process, args=({**place, "RANK": str(rank)}, file))
        for rank, file in enumerate(files)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(600)
        assert process.exitcode == 0
    alone = measured()
    for file in files:  # each process returns the whole
        metrics, confusion = json.loads(file.read_text())
        assert confusion == np.asarray(alone.confusion).tolist()
        assert metrics.keys() == plain(alone).keys()
        for name, found in metrics.items():
            assert found == pytest.approx(plain(alone)[name], rel=1e-4, abs=1e-6), name
