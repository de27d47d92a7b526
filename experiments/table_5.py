"""Cost of an epoch of completion against the share of the points."""

from __future__ import annotations

from typing import Any

from costs import STEPS, hours, line, training_batch

NAME = "table-5"
PAPER = "Table 5"

_SHARES = (20, 40, 60, 80, 100)
_PAPER = ("1:16", "1:29", "1:51", "2:20", "3:01")
_FLOW = 200


def run(data: str, budget: float) -> dict[str, Any]:
    """Times training steps of the paper's network and flow on thinned digits."""
    size = 8 if data == "mini" else 32
    rows = []
    for share, published in zip(_SHARES, _PAPER, strict=True):
        batch = training_batch(data, size, share / 100)
        start, slope = line(batch)
        rows.append(
            {
                "points kept, %": share,
                "points per cloud": round(float(batch.lengths.mean()), 1),
                "hours per epoch here": hours(start + _FLOW * slope, size),
                "paper, H100 (h:mm)": published,
            }
        )
    growth = rows[-1]["hours per epoch here"] / rows[0]["hours per epoch here"]
    return {
        "seed": 0,
        "settings": {
            "data": batch.name,
            "batch": size,
            "solver": f"the paper's flow, {_FLOW} steps, from {list(STEPS)} that were timed",
            "protocol": "CPU time of one core; the paper's network, fresh weights",
        },
        "rows": rows,
        "shows": (
            f"Five times the points cost {growth:.1f} times as much here and 2.4 times as much in "
            "the paper, perhaps because a GPU is not filled by small clouds."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    hours = [row["hours per epoch here"] for row in result["rows"]]
    return {"five times the points cost more": hours[-1] > hours[0]}


def plot(result: dict[str, Any]) -> Any:
    """Hours per epoch over the share of the points."""
    from ddeq.viz.diagrams import curves

    ours = [(row["points kept, %"], row["hours per epoch here"]) for row in result["rows"]]
    paper = [(s, int(t[:-3]) + int(t[-2:]) / 60) for s, t in zip(_SHARES, _PAPER, strict=True)]
    series = {"here, one CPU core": ours, "paper, H100": paper}
    return curves(series, "points kept, %", "hours per epoch", log=True)
