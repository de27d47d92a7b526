"""DDEQ and PCN, trained for the same CPU time on the same partial clouds, and kept for others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from common import digits, shapes
from short import SMALL, learn, solvers, thinned

from ddeq.models import Completer
from ddeq.models.baselines import PCN
from ddeq.tasks import PCNTask
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["POINTS", "Pair", "trained"]

POINTS = {"mini": 64, "full": 256}
"""Most points of a cloud, in training and in tests."""
_KEPT = Path(__file__).resolve().parent.parent / "runs" / "experiments"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two completers that had the same time.

    Attributes:
        ddeq: An equilibrium model.
        pcn: PCN.
        seconds: CPU seconds of training of each.
    """

    ddeq: Completer
    pcn: PCN
    seconds: float


@lru_cache
def trained(kind: str, data: str, seconds: float) -> Pair:
    """Trains both, in the frame of the whole, or takes those that were trained so before.

    Args:
        kind: ``digits`` or ``shapes``.
        data: ``mini`` or ``full``.
        seconds: CPU seconds for each.
    """
    clouds = thinned({"digits": digits, "shapes": shapes}[kind](data, "train"), POINTS[data])
    ours = replace(
        PRESETS["mini-completion"],
        task=replace(PRESETS["mini-completion"].task, own_frame=0.0),  # type: ignore[type-var]
        solver=solvers(8)["Weiszfeld"],
        train_steps=(8, 8),
        batch_size=16,
    )
    ours = replace(ours, network=SMALL) if data == "mini" else ours
    pcn = replace(PRESETS["pcn-mnist"], task=PCNTask(coarse=POINTS[data]), batch_size=16)
    name = f"{kind}-{data}-{seconds:.0f}s"
    keep = data == "full"
    return Pair(
        _take(Completer, f"ddeq-{name}", ours, clouds, seconds, keep),
        _take(PCN, f"pcn-{name}", pcn, clouds, seconds, keep),
        seconds,
    )


def _take(kind: Any, name: str, recipe: Recipe, clouds: Any, seconds: float, keep: bool) -> Any:
    folder = _KEPT / name
    if keep and folder.is_dir():
        return kind.from_pretrained(folder)
    model = learn(recipe, clouds, clouds.subset(range(64)), seconds=seconds, probes=1).model
    if keep:
        model.save_pretrained(folder)
    return model.eval()
