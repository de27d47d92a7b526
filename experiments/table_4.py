"""Cost of an epoch of completion against the number of solver steps."""

from __future__ import annotations

from typing import Any

from costs import STEPS, hours, line, seconds, training_batch

from ddeq.models import Completer

NAME = "table-4"
PAPER = "Table 4"

_STEPS = (10, 50, 100, 200, 500, 1000)
_PAPER = ("0:13", "0:47", "1:32", "3:01", "8:12", "14:53")


def run(data: str, budget: float) -> dict[str, Any]:
    """Times training steps of the paper's network with its flow, and with our solver."""
    size = 8 if data == "mini" else 32
    batch = training_batch(data, size)
    start, slope = line(batch)
    rows = [
        {
            "solver": f"paper's flow, {steps} steps",
            "hours per epoch here": hours(start + steps * slope, size),
            "paper, H100 (h:mm)": published,
        }
        for steps, published in zip(_STEPS, _PAPER, strict=True)
    ]
    ours = Completer.from_pretrained("mnist-pc").solver
    rows.append(
        {
            "solver": f"ours, at most {ours.max_steps} steps",
            "hours per epoch here": hours(seconds(batch, ours), size),
        }
    )
    return {
        "seed": 0,
        "settings": {
            "data": batch.name,
            "batch": size,
            "timed steps": list(STEPS),
            "protocol": "CPU time of one core; the paper's network, fresh weights",
        },
        "rows": rows,
        "line": [start, slope],
        "shows": (
            f"A step of the flow costs {slope:.3f} s for {size} clouds and the rest of a training "
            f"step {start:.3f} s: cost grows in proportion to the steps, as in the paper. Figures "
            "for 10 steps and more are the straight line through those that were timed; the "
            "paper's are of a GPU, so only the growth compares."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    hours = [row["hours per epoch here"] for row in result["rows"]]
    return {
        "cost grows with the steps": hours[:6] == sorted(hours[:6]),
        "ours costs less than 50 steps of the paper's flow": hours[-1] < hours[1],
    }


def plot(result: dict[str, Any]) -> Any:
    """Hours per epoch over steps."""
    from ddeq.viz.diagrams import curves

    rows = zip(_STEPS, result["rows"], strict=False)
    ours = [(steps, row["hours per epoch here"]) for steps, row in rows]
    paper = [(s, int(t[:-3]) + int(t[-2:]) / 60) for s, t in zip(_STEPS, _PAPER, strict=True)]
    series = {"here, one CPU core": ours, "paper, H100": paper}
    return curves(series, "solver steps", "hours per epoch", log=True)
