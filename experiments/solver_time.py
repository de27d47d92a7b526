"""Held-out loss against CPU time for the same network trained with six solvers, and PCN."""

from __future__ import annotations

from typing import Any

from solver_runs import SOLVERS, Run, run_of, settings

NAME = "solver-time"


def run(data: str, budget: float) -> dict[str, Any]:
    """Gives each the same CPU seconds on completion of digits."""
    found = {name: run_of(name, data, budget) for name in (*SOLVERS, "PCN")}
    return {
        "seed": 0,
        "settings": settings(data, budget),
        "rows": [_row(name, one) for name, one in found.items()],
        "curves": {name: one.learned.curve for name, one in found.items()},
        "shows": _verdict(found),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    pace = {row["trained with"]: row["ms per step"] for row in result["rows"]}
    ends = [(curve[0][2], curve[-1][2]) for curve in result["curves"].values()]
    return {
        "steps without a way back through the network cost less": pace["Picard"] < pace["flow"],
        "all learn something": all(last < first for first, last in ends),
    }


def plot(result: dict[str, Any]) -> Any:
    """Held-out squared MMD over CPU seconds."""
    from ddeq.viz.diagrams import curves

    series = {name: [point[1:] for point in curve] for name, curve in result["curves"].items()}
    return curves(series, "CPU seconds of training", "held-out MMD$^2$", log=True)


def _row(name: str, one: Run) -> dict[str, Any]:
    spread = one.metrics.get("spread")
    return {
        "trained with": name,
        "learning rate": one.learned.rate,
        "training steps": one.learned.steps,
        "ms per step": one.learned.ms_per_cloud * one.learned.batch_size,
        "MMD^2 whole": one.shown("mmd2 whole"),
        "W2 new": one.shown("W2 free") if "W2 free" in one.metrics else None,
        "W2 whole": one.shown("W2 whole"),
        "spread of Z*": None if spread is None else spread[0],
    }


def _verdict(found: dict[str, Run]) -> str:
    order = sorted(found, key=lambda name: found[name].metrics["mmd2 whole"][0])
    pace = {name: one.learned.steps for name, one in found.items()}
    quickest = max((name for name in pace if name != "PCN"), key=lambda name: pace[name])
    return (
        f"In the same time {quickest} takes {pace[quickest] / pace['flow']:.1f} times as many "
        "training steps as the flow, which goes back through the network in each of its steps. "
        f"From the lowest squared MMD of test digits to the highest: {', '.join(order)}. "
        "Neighbours in this order whose standard errors overlap are not told apart."
    )
