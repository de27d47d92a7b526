"""DDEQ and PCN, trained for the same CPU time on the same partial clouds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from common import digits, shapes
from equal_time import Budget, Learned, store, tuned
from recipes import small, thinned

from ddeq.tasks import PCNTask
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["POINTS", "Pair", "time_of", "trained"]

POINTS = {"mini": 64, "full": 100_000}
"""Most points of a cloud, in training and in tests."""
_OURS = {"digits": "mnist-completion", "shapes": "modelnet8-completion"}
_PCN = {"digits": ("pcn-mnist", 256), "shapes": ("pcn-modelnet8", 768)}
_RUNS = 4 * 1.25  # trainings of both data sets, with the search for their learning rates


@dataclass(frozen=True, eq=False)
class Pair:
    """Two completers that had the same time.

    Attributes:
        ddeq: An equilibrium model.
        pcn: PCN.
    """

    ddeq: Learned
    pcn: Learned


def time_of(data: str, budget: float) -> Budget:
    """What each training may take if those of both data sets share a budget."""
    return (
        Budget(0, 100, 48, 1) if data == "mini" else Budget(budget / _RUNS, held_out=64, probes=4)
    )


def trained(kind: str, data: str, time: Budget) -> Pair:
    """Trains both, in the frame of the whole, or takes those that were trained so before.

    Args:
        kind: ``digits`` or ``shapes``.
        data: ``mini`` or ``full``.
        time: For each, from :func:`time_of`.
    """
    clouds = thinned({"digits": digits, "shapes": shapes}[kind](data, "train"), POINTS[data])
    ours, pcn = _recipes(kind, data)
    return Pair(*(tuned(recipe, clouds, time, store(data)) for recipe in (ours, pcn)))


def _recipes(kind: str, data: str) -> tuple[Recipe, Recipe]:
    """Ours and PCN's: both are told the frame, and neither has augmentation."""
    ours = PRESETS[_OURS[kind]]
    ours = replace(ours, task=replace(ours.task, own_frame=0.0), augment=False)  # type: ignore[type-var]
    preset, coarse = _PCN[kind]
    pcn = replace(PRESETS[preset], augment=False)
    if data == "full":
        return ours, replace(pcn, task=PCNTask(coarse=coarse))
    ours = replace(small(ours), replay=1, train_steps=(6, 8))
    return ours, replace(pcn, task=PCNTask(coarse=POINTS[data]), batch_size=16)
