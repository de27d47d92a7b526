"""The same network trained with each solver for the same time, on completion of digits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from common import digits, measured, some
from equal_time import Budget, Learned, remembered, store, tuned
from recipes import PAPER_HEADS, SMALL, from_paper, solvers, thinned

from ddeq.data import CloudDataset
from ddeq.tasks import PCNTask
from ddeq.training.presets import PRESETS

__all__ = ["SOLVERS", "Run", "run_of", "settings"]

SOLVERS = tuple(solvers(1))
_RUNS = (len(SOLVERS) + 1) * 1.25  # trainings, with the search for their learning rates
_EVALUATIONS = {"mini": 8, "full": 16}
_POINTS = {"mini": 40, "full": 100_000}
_TESTED = {"mini": 48, "full": 500}


class Run:
    """A training and what its model does on test digits.

    Attributes:
        learned: The training.
        metrics: ``(mean, standard error)`` by name.
    """

    def __init__(self, learned: Learned, metrics: dict[str, tuple[float, float]]) -> None:
        self.learned, self.metrics = learned, metrics

    def shown(self, name: str) -> str:
        """A metric with its standard error."""
        value, error = self.metrics[name]
        return f"{value:.4f} ± {error:.4f}"


def time_of(data: str, budget: float) -> Budget:
    """What each training may take."""
    mini = Budget(0, 100, 48, 5)
    return mini if data == "mini" else Budget(budget / _RUNS, held_out=128, probes=8)


def run_of(name: str, data: str, budget: float) -> Run:
    """The training with a solver of :data:`SOLVERS`, or of ``PCN``, and its test.

    Args:
        name: Of the solver.
        data: ``mini`` or ``full``.
        budget: CPU seconds for all solvers and PCN.
    """
    clouds, time = thinned(digits(data, "train"), _POINTS[data]), time_of(data, budget)
    if name == "PCN":
        recipe = replace(PRESETS["pcn-mnist"], task=PCNTask(coarse=256), batch_size=16)
    else:
        solver = solvers(_EVALUATIONS[data])[name]
        recipe = from_paper("paper-mnist-completion", solver, data)
    learned = tuned(recipe, clouds, time, store(data))
    path = learned.folder / "solvers.json"
    found = remembered(path, lambda: _measure(learned.model, _test(data)))
    return Run(learned, found)


def settings(data: str, budget: float) -> dict[str, Any]:
    """What is the same for all."""
    time = time_of(data, budget)
    test = _test(data)
    return {
        "data": f"{len(test)} of {test.name}",
        "points per cloud": "all" if data == "full" else f"at most {_POINTS[data]}",
        "training": f"{time.words} each, one core",
        "evaluations per solve": _EVALUATIONS[data],
        "network": PAPER_HEADS if data == "full" else f"a small one, {SMALL.features} features",
        "protocol": "the paper's loss, phantom gradient and 27.5 % new points; batches of 16; "
        "the rate 1e-3 or 0.3 of it and the best weights by "
        f"{time.held_out} held-out training clouds; one seed",
    }


def _test(data: str) -> CloudDataset:
    return thinned(some(digits(data), _TESTED[data], 0), _POINTS[data])


def _measure(model: Any, test: CloudDataset) -> dict[str, tuple[float, float]]:
    report, pace = measured(model, test)
    found = {name: (mean.value, mean.error) for name, mean in report.metrics.items()}
    return {**found, "ms per cloud": (pace, 0.0)}
