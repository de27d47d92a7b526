"""``ddeq bench`` at tiny sizes: all is measured, written and shown; bad usage is one line."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq import bench as benchmarks
from ddeq.bench import SECTIONS, Settings, reference, step
from ddeq.bench.convergence import METRICS, SOLVERS, first
from ddeq.bench.growth import exponent
from ddeq.bench.problems import draw, partial_digits, problem
from ddeq.bench.worker import fresh, seconds
from ddeq.cli import main

TINY = Settings(
    batch=3,
    points=12,
    heads=(32,),
    repeat=1,
    budget=0.0,
    reference_batch=2,
    flat_steps=(1, 2),
    flat_batch=2,
    clouds=2,
    evaluations=(1, 3),
    growth=dict.fromkeys(("points", "particles", "steps", "batch"), (2, 4)),
    base={"points": 4, "particles": 2, "steps": 1, "batch": 1},
    threads=1,
)


@pytest.fixture
def nowhere(tmp_path: Path) -> str:
    """A folder without data: the embedded digits and generated shapes are used."""
    (tmp_path / "data").mkdir()
    return str(tmp_path / "data")


@pytest.fixture
def report(tmp_path, nowhere, monkeypatch, capsys):
    """What the command wrote and printed."""
    monkeypatch.setattr(benchmarks, "QUICK", TINY)
    out = tmp_path / "plots"
    written = tmp_path / "bench.json"
    options = ["--quick", "--threads", "1", "--data-root", nowhere]
    assert main(["bench", *options, "--json", str(written), "-o", str(out)]) == 0
    return json.loads(written.read_text()), capsys.readouterr().out, out


def test_the_whole_command(report):
    results, text, out = report
    assert set(results) == {"machine", "quick", *SECTIONS}
    assert all(f"=== {name} ===" in text for name in SECTIONS)
    assert f"torch {torch.__version__}" in text
    assert "ruin the timings" in text
    assert "mnist-mini" in text
    assert "generated shapes" in text
    assert sorted(os.listdir(out)) == ["convergence-seconds.png", "convergence.png", "growth.png"]

    rows = results["step"]["rows"]
    assert [row["task"][:3] for row in rows] == ["(a)", "(b)", "(c)"]
    for row in rows:
        assert not row["problems"]
        assert row["reference_batch"] == 2
        assert all(value > 0 for key, value in row.items() if key.endswith(("ratio", "step")))
        assert all(row[key] >= 0 for key in ("training_memory", "reference_memory"))
        assert row["training_peak"] > 1e7
    assert [row["evaluations"] for row in results["step"]["flat"]] == [1, 2]
    assert results["step"]["latency"]["seconds"] > 0

    found = results["convergence"]["rows"]
    assert len(found) == len(METRICS) * len(SOLVERS) * 2
    assert all(row[metric] >= 0 for row in found for metric in METRICS[row["task"]])

    assert set(results["growth"]["exponents"]) == {"points", "particles", "steps", "batch"}
    for row in results["growth"]["rows"]:
        assert row["seconds"] > 0
        assert row["evaluations"] == (row["size"] if row["axis"] == "steps" else 1)

    names = [row["model"] for row in results["baselines"]["rows"]]
    assert names == ["ddeq", "PointNet", "ddeq", "PCN", "ddeq", "PointNet"]
    for row in results["baselines"]["rows"]:
        assert row["problem"] is None
        assert row["epoch"] == pytest.approx(row["steps"] * row["training"])


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_the_exponent_of_a_power_law(power):
    sizes = [1, 3, 10, 30, 100]
    assert exponent(sizes, [0.7 * size**power for size in sizes]) == pytest.approx(power, abs=1e-9)


def test_the_exponent_is_that_of_the_upper_half_and_of_what_is_known():
    assert exponent([1, 2, 4, 8], [9.0, 9.0, 4.0, 16.0]) == pytest.approx(2.0)
    assert exponent([1, 2, 4, 8, 16], [1, 1, 1.0, None, 4.0]) == pytest.approx(1.0)
    assert exponent([1, 2, 4, 8], [1, 1, None, 16]) is None
    assert exponent([1, 2, 4, 8], [1, 1, 0, 16]) is None


@pytest.mark.parametrize(
    "options",
    [
        ["nonsense"],
        ["step", "nonsense"],
        ["--threads", "-1"],
        ["--seed", "-1"],
        ["--json", "figures.txt"],
        ["--json", "here.json"],
        ["-o", "here.json"],
        ["growth", "-o", "pictures"],
    ],
)
def test_bad_arguments_are_one_line(options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    for name in ("here.json", "pictures/growth.png"):
        (tmp_path / name).touch()
    assert main(["bench", *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_without_the_reference_the_rest_is_measured(monkeypatch, nowhere):
    monkeypatch.setattr(step, "reference_path", lambda: None)
    result = step.run(replace(TINY, root=nowhere, flat_steps=(1,)))
    assert all(row["reference_step"] is None for row in result["rows"])
    assert all(row["flow_ratio"] is None for row in result["rows"])
    assert all(row["training"] > 0 for row in result["rows"])
    assert "source checkout" in step.table(result)


def test_an_installed_package_has_no_reference(monkeypatch, tmp_path):
    monkeypatch.setattr(reference, "__file__", str(tmp_path / "site-packages/ddeq/benchmarks/x.py"))
    assert reference.reference_path() is None
    with pytest.raises(FileNotFoundError, match="source checkout"):
        reference.load_reference()


def test_the_reference_gets_fewer_clouds_where_its_attention_would_not_fit(nowhere):
    samples = partial_digits(8, 0, nowhere)
    assert step.reference_size(samples, 32, Settings()) == 8
    few = step.reference_size(samples, 32, Settings(reference_bytes=2e7))
    assert 1 <= step.reference_size(samples, 4, Settings(reference_bytes=2e7)) <= few < 8


def test_the_bucketed_batch_is_of_typical_length():
    lengths = np.random.default_rng(0).integers(20, 300, 2000)
    plain, bucket = draw(lengths, 16, seed=0)
    assert len(set(plain)) == len(set(bucket)) == 16
    assert np.ptp(lengths[bucket]) < np.ptp(lengths[plain])
    assert abs(lengths[bucket].max() - np.sqrt(np.square(lengths).mean())) < 30


def test_both_sides_solve_for_the_same_particles(nowhere):
    samples = partial_digits(3, 0, nowhere)
    case = problem(samples, 32, 0)
    assert len(case.x) == len(case.z0) == len(case.fixed) == 3
    assert case.x.lengths.tolist() == [len(cloud) for cloud in samples.clouds]
    part = problem(samples.reference(2), 32, 0)
    assert part.x.lengths.tolist() == [len(cloud) for cloud in samples.plain[:2]]


def test_first_evaluation_below_a_target():
    class Found:
        residuals = torch.tensor([[1.0, 2.0], [0.1, 0.4], [0.5, 0.002], [0.001, 0.5]])
        initial_residual = residuals[0]

    assert first(Found(), 1.0) == 1
    assert first(Found(), 0.15) == 2
    assert first(Found(), 0.001) == 4
    assert first(Found(), 1e-5) is None


def allocate(size: int):
    """Prepares to hold ``size`` bytes; a negative size ends the process, zero is an error."""

    def run() -> int:
        if size < 0:
            os._exit(9)
        if size == 0:
            raise RuntimeError("not enough\nmemory")
        return int(torch.ones(size // 4).sum())

    return run


def test_memory_is_that_of_the_call():
    small, large = fresh(allocate, 4 * 10**6), fresh(allocate, 2 * 10**8)
    assert large.value == 5 * 10**7
    assert large.memory == pytest.approx(2e8, rel=0.1)
    assert small.memory < 2e7
    assert large.peak > large.memory


@pytest.mark.parametrize(("size", "reason"), [(-1, "status 9"), (0, "not enough memory")])
def test_a_process_that_fails_is_a_problem_not_a_crash(size, reason):
    found = fresh(allocate, size)
    assert found.value is None
    assert reason in found.problem


def test_seconds_calls_once_to_warm_up_and_keeps_its_budget():
    calls = []
    assert seconds(lambda: calls.append(1), repeat=3, budget=60.0) >= 0
    assert len(calls) == 4
    seconds(lambda: calls.append(1), repeat=1000, budget=0.0)
    assert len(calls) == 5
