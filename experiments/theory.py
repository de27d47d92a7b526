"""PL ratio, gap of the gradients and the theorem's bound over short trainings of four tasks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from common import digits, shapes, vertices
from equal_time import Budget, learn, store
from recipes import PAPER_HEADS, SMALL, from_paper, solvers, thinned

from ddeq.training.theory import TheoryLog

NAME = "theory"
PAPER = "figures: Assumption PL, Assumption gradients, Theorem"

QUANTITIES = {
    "pl_ratio": "PL ratio",
    "gradient_gap": "gradient gap / eps_t",
    "bound": "int |grad L|^2 / (sqrt(T) log(T)^2)",
}
_TITLES = {
    "pl_ratio": r"PL ratio, $F(\mu)\,/\,\|\nabla F(\mu)\|^2$",
    "gradient_gap": r"gradient gap$\,/\,\epsilon_t$",
    "bound": r"$\int \|\nabla L\|^2 dt\;/\;(\sqrt{T}\,\log^2 T)$",
}
_TASKS = {
    "digits, class": ("paper-mnist-classification", digits),
    "digits, completion": ("paper-mnist-completion", digits),
    "shapes, class": ("paper-modelnet40-classification", vertices),
    "shapes, completion": ("paper-modelnet8-completion", shapes),
}


def run(data: str, budget: float) -> dict[str, Any]:
    """Trains four networks and follows the three quantities."""
    points, flow = (32, 6) if data == "mini" else (256, 12)
    time = Budget(0, 30, 16, 1) if data == "mini" else Budget(budget / len(_TASKS), 0, 64, 2)
    logs, steps = {}, {}
    for name, (preset, load) in _TASKS.items():
        clouds = thinned(load(data, "train"), points)
        recipe = from_paper(preset, solvers(flow)["flow"], data)
        path = store(data) / f"theory-{time.words}-{name}.json".replace(" ", "-")
        log = TheoryLog(path, every=1 if data == "mini" else 4)
        steps[name] = learn(recipe, clouds, time, store(data), (log,)).steps
        logs[name] = json.loads(path.read_text(encoding="utf-8"))
    rows = [{"training": name, "steps": steps[name], **_row(log)} for name, log in logs.items()]
    return {
        "seed": 0,
        "settings": {
            "training": f"{time.words} each, what is measured on the way included",
            "points per cloud, at most": points,
            "solver": f"the paper's flow, {flow} steps",
            "network": PAPER_HEADS if data == "full" else f"a small one, {SMALL.features} features",
            "protocol": "8 random Gaussian mu per measurement; mu_t = mu*, as in the paper",
        },
        "rows": rows,
        "logs": logs,
        "shows": _verdict(logs),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    values = [row[key] for log in result["logs"].values() for row in log for key in QUANTITIES]
    return {
        "all three quantities are finite": bool(np.isfinite(values).all()),
        "none is negative": min(values) >= 0,
    }


def plot(result: dict[str, Any]) -> Any:
    """The three quantities over training, with an exponential moving average."""
    from matplotlib.figure import Figure

    from ddeq.viz.drawing import SERIES, TEXT

    figure = Figure(figsize=(10.2, 3.4), layout="constrained")
    for i, (key, title) in enumerate(_TITLES.items()):
        ax = figure.add_subplot(1, 3, i + 1)
        for color, (name, log) in zip(SERIES, result["logs"].items(), strict=False):
            steps, values = [row["step"] for row in log], [row[key] for row in log]
            ax.plot(steps, values, color=color, alpha=0.25, linewidth=1)
            ax.plot(steps, smooth(values), color=color, linewidth=1.6, label=name)
        shown = [row[key] for log in result["logs"].values() for row in log]
        ax.set_yscale("log" if max(shown) > 5 * min(shown) else "linear")
        ax.set_title(title, fontsize=11, color=TEXT)
        ax.set_xlabel("training step", fontsize=9, color=TEXT)
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def smooth(values: list[float], decay: float = 0.8) -> np.ndarray:
    """The exponential moving average, without a bias towards where it starts."""
    mean, weight, found = 0.0, 0.0, []
    for value in values:
        mean, weight = decay * mean + (1 - decay) * value, decay * weight + 1 - decay
        found.append(mean / weight)
    return np.array(found)


def growth(log: list[dict[str, float]], key: str) -> float:
    """Mean of the last third of a training over that of the middle third."""
    values = [row[key] for row in log]
    third = len(values) // 3
    return float(np.mean(values[-third:]) / np.mean(values[third:-third]))


def _row(log: list[dict[str, float]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, label in QUANTITIES.items():
        row[f"{label}, largest"] = max(r[key] for r in log)
        row[f"{label}, last third over middle third"] = growth(log, key)
    return row


def _verdict(logs: dict[str, list[dict[str, float]]]) -> str:
    """What stays bounded and what does not, by whether it still grows in the last third."""
    said = []
    for key, label in QUANTITIES.items():
        grown = {name: growth(log, key) for name, log in logs.items()}
        rising = [f"{name} ({value:.2f} times)" for name, value in grown.items() if value > 1.1]
        said.append(
            f"the {label} still grows for {', '.join(rising)}"
            if rising
            else f"the {label} does not grow in any of the four"
        )
    return (
        "From the middle to the last third of the training " + "; ".join(said) + ". A short "
        "training cannot show that anything is bounded for ever, only that it is not seen to "
        "grow. At mu_t = mu*, which the paper chooses, one of the two gradients of the gap is "
        "zero: what is left is how far the solver is from a stationary point, and a gap that "
        "stays the same grows with 1 / eps_t = sqrt(t)."
    )
