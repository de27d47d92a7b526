"""Completion of digits by completers without a network, beside the shipped one, in both frames."""

from __future__ import annotations

from typing import Any

from common import digits, shown, some

from ddeq.models import Completer
from ddeq.models.baselines.completers import ModelCompleter, guess_completers
from ddeq.protocol import evaluate

NAME = "completion-baselines"

_SHOWN = ("OT new", "W2 new", "MMD2 whole", "Chamfer", "better")


def run(data: str, budget: float) -> dict[str, Any]:
    """Measures all of them on the same partial digits, told the frame and not."""
    seed = 0
    test = some(digits(data), min(100 if data == "mini" else 1000, 5 * budget), seed)
    train = some(digits(data, "train"), 2000 if data == "mini" else 12_000, seed)
    model, rows, values = Completer.from_pretrained("mnist-pc"), [], {}
    for told in (True, False):
        guesses = guess_completers(train, "balls", seed, told)
        methods = {"DDEQ mnist-pc": ModelCompleter(model, seed, told), **guesses}
        for name, method in methods.items():
            counts = told and name in guesses
            found = evaluate(method, test, "balls", seed, told=told, counts=counts).metrics
            cells = {
                m: None if found[m].value != found[m].value else shown(found[m]) for m in _SHOWN
            }
            rows.append({"frame": "told" if told else "own", "completer": name, **cells})
            values[f"{name}, {'told' if told else 'own'}"] = found["W2 new"].value
    told_gap = values["moment Gaussian, told"] / values["DDEQ mnist-pc, told"]
    ours = values["DDEQ mnist-pc, own"]
    own_gap = ours / values["DDEQ mnist-pc, told"]
    others = [n for n, v in values.items() if n.endswith("own") and v == v and "DDEQ" not in n]
    best = min(others, key=lambda name: values[name])
    return {
        "seed": seed,
        "settings": {
            "data": test.name,
            "clouds": len(test),
            "training clouds": len(train),
            "cut": "balls",
            "unit": "deviation of the true cloud",
        },
        "rows": rows,
        "w2": {name: value for name, value in values.items() if value == value},
        "shows": (
            "In the told frame a Gaussian that knows nothing but the moments that the frame gives "
            f"away has {told_gap:.2f} times the W2 of the network. In the frame of the visible "
            f"part, all that a user has, the network has {own_gap:.2f} times its own W2 of the "
            f"told frame, and the best of the others, {best}, has {values[best] / ours:.2f} times "
            "that of the network."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    w2 = result["w2"]
    others = [v for name, v in w2.items() if name.endswith("told") and "DDEQ" not in name]
    own = [v for name, v in w2.items() if name.endswith("own") and "DDEQ" not in name]
    return {
        "the network beats all guesses in the told frame": w2["DDEQ mnist-pc, told"] < min(others),
        "and in the frame of the visible part": w2["DDEQ mnist-pc, own"] < min(own),
    }


def plot(result: dict[str, Any]) -> Any:
    """W2 of each, a bar for either frame."""
    from matplotlib.figure import Figure

    from ddeq.viz.drawing import SERIES, TEXT

    names = list(dict.fromkeys(name.rsplit(", ", 1)[0] for name in result["w2"]))
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    ax = figure.add_subplot()
    for shift, frame in ((-0.2, "told"), (0.2, "own")):
        where = [(i, result["w2"].get(f"{name}, {frame}")) for i, name in enumerate(names)]
        known = [(i + shift, value) for i, value in where if value is not None]
        color = SERIES[0 if frame == "told" else 1]
        ax.barh(*zip(*known, strict=True), height=0.36, color=color, label=f"{frame} frame")
    ax.set_yticks(range(len(names)), names, fontsize=9, color=TEXT)
    ax.invert_yaxis()
    ax.set_xlabel("W2 of new against removed points", fontsize=9, color=TEXT)
    ax.legend(fontsize=8, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure
