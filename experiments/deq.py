"""A solver of measures against those of classical equilibrium models, each for the same time."""

from __future__ import annotations

from typing import Any

from solver_runs import Run, run_of, settings

NAME = "deq"
PAPER = "DDEQ against DEQ"

NAMES = ("flow", "Picard", "Anderson", "Broyden")
_COLLAPSED = 0.3  # of the spread that the flow leaves


def run(data: str, budget: float) -> dict[str, Any]:
    """Trains the same network from the same start with each solver, on completion of digits."""
    rows: list[dict[str, Any]] = []
    flow = run_of("flow", data, budget)
    for name in NAMES:
        rows.append(_row(name, run_of(name, data, budget), flow))
        print(rows[-1], flush=True)
    return {
        "seed": 0,
        "settings": settings(data, budget),
        "rows": rows,
        "shows": _verdict(rows),
    }


def _row(name: str, one: Run, flow: Run) -> dict[str, Any]:
    spread, reference = one.metrics["spread"][0], flow.metrics["spread"][0]
    return {
        "solver": name,
        "training steps": one.learned.steps,
        "learning rate": one.learned.rate,
        "MMD^2": one.shown("mmd2 whole"),
        "times that of the flow": one.metrics["mmd2 whole"][0] / flow.metrics["mmd2 whole"][0],
        "W2 of new points": one.shown("W2 free"),
        "W2, times": one.metrics["W2 free"][0] / flow.metrics["W2 free"][0],
        "residual": one.shown("relative residual"),
        "spread of Z*": spread,
        "collapsed": is_collapsed(spread, reference),
    }


def is_collapsed(spread: float, reference: float) -> str:
    """Whether particles have far less spread than those of the flow."""
    return "yes" if spread < _COLLAPSED * reference else "no"


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out; that plain iteration collapses is expected of the small network only."""
    rows = {row["solver"]: row for row in result["rows"]}
    expected = {
        "the flow keeps its particles apart": rows["flow"]["collapsed"] == "no",
        "all solvers are compared": list(rows) == list(NAMES),
    }
    if "small" in result["settings"]["network"]:
        expected |= {
            "a collapse by plain iteration is flagged": rows["Anderson"]["collapsed"] == "yes",
            "plain iteration loses": rows["Anderson"]["times that of the flow"] > 1.2,
        }
    return expected


def plot(result: dict[str, Any]) -> Any:
    """Squared MMD and W2 of test digits, over those of the flow."""
    from matplotlib.figure import Figure

    from ddeq.viz.drawing import SERIES, TEXT

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    ax = figure.add_subplot()
    rows = result["rows"]
    for shift, key, color, label in (
        (-0.2, "times that of the flow", SERIES[0], "MMD$^2$"),
        (0.2, "W2, times", SERIES[1], "W2 of new points"),
    ):
        where = [i + shift for i in range(len(rows))]
        heights = [row[key] for row in rows]
        bars = ax.bar(where, heights, width=0.36, color=color, label=label)
        ax.bar_label(bars, fmt="%.2f", fontsize=9, padding=2, color=TEXT)
    ax.axhline(1.0, color=TEXT, linewidth=0.6, linestyle=":")
    ax.set_xticks(range(len(rows)), [row["solver"] for row in rows], fontsize=11, color=TEXT)
    ax.set_ylabel("times that of the flow", fontsize=11, color=TEXT)
    ax.legend(fontsize=10, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _verdict(rows: list[dict[str, Any]]) -> str:
    said = ", ".join(
        f"{row['solver']} {row['times that of the flow']:.2f} ({row['training steps']} steps)"
        for row in rows[1:]
    )
    collapsed = [row["solver"] for row in rows if row["collapsed"] == "yes"]
    state = (
        f"The particles of {', '.join(collapsed)} have collapsed."
        if collapsed
        else ("No solver's particles have collapsed.")
    )
    return (
        f"Trained for as long as the flow ({rows[0]['training steps']} steps), the squared MMD of "
        f"test digits is, in terms of that of the flow: {said}. {state} The paper has 13 times the "
        "loss and 4 times the W2, after whole trainings."
    )
