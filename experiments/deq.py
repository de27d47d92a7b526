"""A measure's solver against those of classical equilibrium models, as many training steps each."""

from __future__ import annotations

from typing import Any

from common import digits, shown, split
from short import SMALL, learn, paper_recipe, solvers, thinned

NAME = "deq"
PAPER = "DDEQ against DEQ"

NAMES = ("flow", "Picard", "Anderson", "Broyden")
_COLLAPSED = 0.3  # of the spread that the flow leaves


def run(data: str, budget: float) -> dict[str, Any]:
    """Trains the same network from the same start with each solver, on completion of digits."""
    steps, points, solve = (100, 40, 8) if data == "mini" else (250, 64, 12)
    train, held_out = split(digits(data, "train"), 20_000, 48 if data == "mini" else 256, 0)
    train, held_out = thinned(train, points), thinned(held_out, points)
    found = {}
    for name in NAMES:
        recipe = paper_recipe("paper-mnist-completion", solvers(solve)[name])
        found[name] = learn(recipe, train, held_out, steps=steps, probes=1).metrics
    flow = found["flow"]
    rows = [
        {
            "solver": name,
            "held-out MMD^2": shown(metrics["mmd2"]),
            "times that of the flow": metrics["mmd2"].value / flow["mmd2"].value,
            "W2 of new points": shown(metrics["w2_free"]),
            "W2, times": metrics["w2_free"].value / flow["w2_free"].value,
            "spread of Z*": metrics["spread"].value,
            "collapsed": is_collapsed(metrics["spread"].value, flow["spread"].value),
        }
        for name, metrics in found.items()
    ]
    return {
        "seed": 0,
        "settings": {
            "data": train.name,
            "points per cloud, at most": points,
            "training steps": steps,
            "evaluations per solve": solve,
            "network": f"a small one, {SMALL.features} features",
            "protocol": f"the paper's loss and phantom gradient; {len(held_out)} held-out clouds",
        },
        "rows": rows,
        "shows": _verdict(rows, steps),
    }


def is_collapsed(spread: float, reference: float) -> str:
    """Whether particles have far less spread than those of the flow."""
    return "yes" if spread < _COLLAPSED * reference else "no"


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    rows = {row["solver"]: row for row in result["rows"]}
    return {
        "the flow keeps its particles apart": rows["flow"]["collapsed"] == "no",
        "a collapse by plain iteration is flagged": rows["Picard"]["collapsed"] == "yes",
        "plain iteration loses": rows["Picard"]["times that of the flow"] > 1.5,
    }


def plot(result: dict[str, Any]) -> Any:
    """Held-out squared MMD and W2, over those of the flow."""
    from matplotlib.figure import Figure

    from ddeq.viz.drawing import SERIES, TEXT

    figure = Figure(figsize=(5.6, 3.0), layout="constrained")
    ax = figure.add_subplot()
    rows = result["rows"]
    for shift, key, color, label in (
        (-0.2, "times that of the flow", SERIES[0], "held-out MMD$^2$"),
        (0.2, "W2, times", SERIES[1], "W2 of new points"),
    ):
        where = [i + shift for i in range(len(rows))]
        ax.bar(where, [row[key] for row in rows], width=0.36, color=color, label=label)
    ax.axhline(1.0, color=TEXT, linewidth=0.6, linestyle=":")
    ax.set_xticks(range(len(rows)), [row["solver"] for row in rows], fontsize=9, color=TEXT)
    ax.set_ylabel("times that of the flow", fontsize=9, color=TEXT)
    ax.legend(fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _verdict(rows: list[dict[str, Any]], steps: int) -> str:
    others = rows[1:]
    said = ", ".join(f"{row['solver']} {row['times that of the flow']:.2f}" for row in others)
    collapsed = [row["solver"] for row in rows if row["collapsed"] == "yes"]
    state = (
        f"The particles of {', '.join(collapsed)} have collapsed."
        if collapsed
        else ("No solver's particles have collapsed.")
    )
    return (
        f"After {steps} training steps the held-out loss is, in terms of that of the flow: {said}. "
        f"{state} The paper has 13 times the loss and 4 times the W2, after whole trainings."
    )
