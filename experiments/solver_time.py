"""Held-out loss against CPU time for the same network trained with six solvers, and PCN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from common import digits, shown, split
from short import SMALL, Learned, learn, paper_recipe, solvers, thinned

from ddeq.tasks import PCNTask
from ddeq.training.presets import PRESETS

NAME = "solver-time"


def run(data: str, budget: float) -> dict[str, Any]:
    """Gives each the same CPU seconds on completion of digits."""
    seconds, points, solve = (2.0, 40, 8) if data == "mini" else (budget / 7, 64, 20)
    train, held_out = split(digits(data, "train"), 20_000, 48 if data == "mini" else 128, 0)
    train, held_out = thinned(train, points), thinned(held_out, points)
    found = {}
    for name, solver in solvers(solve).items():
        recipe = paper_recipe("paper-mnist-completion", solver)
        found[name] = learn(recipe, train, held_out, seconds=seconds)
    pcn = replace(PRESETS["pcn-mnist"], task=PCNTask(coarse=points))
    found["PCN"] = learn(replace(pcn, batch_size=16), train, held_out, seconds=seconds)
    return {
        "seed": 0,
        "settings": {
            "data": train.name,
            "points per cloud, at most": points,
            "CPU seconds": seconds,
            "evaluations per solve": solve,
            "network": f"a small one, {SMALL.features} features",
            "protocol": f"equal time, one core; {len(held_out)} held-out clouds",
        },
        "rows": [_row(name, learned) for name, learned in found.items()],
        "curves": {name: learned.curve for name, learned in found.items()},
        "shows": _verdict(found),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    steps = {row["trained with"]: row["training steps"] for row in result["rows"]}
    ends = [(curve[0][2], curve[-1][2]) for curve in result["curves"].values()]
    return {
        "steps without a way back through the network cost less": steps["Picard"] > steps["flow"],
        "all learn something": all(last < first for first, last in ends),
    }


def plot(result: dict[str, Any]) -> Any:
    """Held-out squared MMD over CPU seconds."""
    from ddeq.viz.diagrams import curves

    series = {name: [point[1:] for point in curve] for name, curve in result["curves"].items()}
    return curves(series, "CPU seconds of training", "held-out MMD$^2$", log=True)


def _row(name: str, learned: Learned) -> dict[str, Any]:
    steps, seconds, _ = learned.curve[-1]
    spread = learned.metrics.get("spread")
    return {
        "trained with": name,
        "training steps": steps,
        "ms per step": 1000 * seconds / steps,
        "held-out MMD^2": shown(learned.metrics["mmd2"]),
        "spread of Z*": None if spread is None else spread.value,
    }


def _verdict(found: dict[str, Learned]) -> str:
    order = sorted(found, key=lambda name: found[name].metrics["mmd2"].value)
    pace = {name: learned.curve[-1][0] for name, learned in found.items()}
    quickest = max((name for name in pace if name != "PCN"), key=lambda name: pace[name])
    return (
        f"In the same time {quickest} takes {pace[quickest] / pace['flow']:.1f} times as many "
        f"training steps as the flow, which goes back through the network in each of its steps. "
        f"From the lowest held-out loss to the highest: {', '.join(order)}. Neighbours in this "
        "order whose standard errors overlap are not told apart."
    )
