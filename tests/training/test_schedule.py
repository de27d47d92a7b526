"""Learning rates over a run, and how a run measures its progress."""

import pytest
import torch

from ddeq.training import PRESETS
from ddeq.training.module import EquilibriumModule
from ddeq.training.schedule import SCHEDULES


def test_cosine_falls_from_one_to_zero_and_stays_there() -> None:
    rate = SCHEDULES["cosine"]
    assert [rate(p, 1.0) for p in (0.0, 0.5, 1.0, 1.5)] == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert rate(1 / 3, 1.0) == pytest.approx(0.75)
    assert rate(0.0, 0.25) == pytest.approx(0.25)


def test_the_papers_schedule_has_three_stages() -> None:
    rate = SCHEDULES["paper"]
    found = [rate(p, 0.5) for p in (0.0, 0.39, 0.4, 0.79, 0.8, 1.0)]
    assert found == [1.0, 1.0, 0.1, 0.1, 0.01, 0.01]


class _Trainer:
    estimated_stepping_batches = 40


@pytest.mark.parametrize(("warmup", "warm"), [(2, [0.5, 1.0, 1.0]), (0, [1.0, 1.0, 1.0])])
def test_the_warm_up_ends_after_its_steps(
    warmup: int, warm: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = _module(monkeypatch, warmup=warmup)
    assert [module._warm(step) for step in range(3)] == pytest.approx(warm)
    assert module.progress(10) == pytest.approx(0.25)


def test_a_tenth_of_a_run_ends_its_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _module(monkeypatch, warmup=1000)
    assert [module._warm(step) for step in (0, 2, 4, 30)] == pytest.approx([0.001, 0.5, 1.0, 1.0])


def test_progress_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _module(monkeypatch, minutes=2.0)
    module.begin = 100.0
    module.clock = lambda: 130.0
    assert module.progress(7) == pytest.approx(0.25)


def _module(monkeypatch: pytest.MonkeyPatch, **fields: float) -> EquilibriumModule:
    recipe = PRESETS["mini-classification"].changed({**fields, "task.guide": 0.0})
    monkeypatch.setattr(EquilibriumModule, "trainer", _Trainer())
    return EquilibriumModule(torch.nn.Linear(1, 1), recipe)  # type: ignore[arg-type]
