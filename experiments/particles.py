"""Accuracy of the shipped classifiers for 1 to 64 latent particles at use."""

from __future__ import annotations

from typing import Any

from common import digits, shown, some

from ddeq.data import load
from ddeq.models import Classifier
from ddeq.tasks.classification import Classification

NAME = "particles"
PAPER = "figure: number of particles"

_PARTICLES = {"mini": (1, 10, 64), "full": (1, 4, 10, 16, 64)}


def run(data: str, budget: float) -> dict[str, Any]:
    """Measures the accuracy with each number of particles."""
    seed = 0
    sets = {"mnist-pc": some(digits(data), 200 if data == "mini" else 500, seed)}
    if data == "full":
        sets["modelnet40"] = some(load("modelnet40", "test"), min(300, 2 * budget), seed)
    rows, said = [], []
    values: dict[str, list[tuple[int, float]]] = {}
    for weights, clouds in sets.items():
        model = Classifier.from_pretrained(weights)
        trained = model.particles
        counts = sorted({*_PARTICLES[data], trained})
        for count in counts:
            model.particles = count
            found = Classification.evaluate(model, clouds, seed=seed).metrics
            rows.append(_row(weights, count, found))
            values.setdefault(weights, []).append((count, found["accuracy"].value))
        one, most = values[weights][0][1], values[weights][-1][1]
        same = dict(values[weights])[trained]
        said.append(
            f"{weights}: {100 * one:.1f} % right with one particle, {100 * same:.1f} % with "
            f"{trained} as in training, {100 * most:.1f} % with {counts[-1]}"
        )
    return {
        "seed": seed,
        "settings": {
            "data": ", ".join(f"{len(c)} of {c.name}" for c in sets.values()),
            "weights": "as shipped",
            "protocol": "the number of particles is changed at use, not in training",
        },
        "rows": rows,
        "values": values,
        "shows": (
            "; ".join(said) + ". Where the spread of Z* is near zero the particles gather in one "
            "place, from which the class is read, and how many they are hardly matters at use. "
            "The paper trains a network for each number."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    digits = [accuracy for _, accuracy in result["values"]["mnist-pc"]]
    return {
        "digits are recognised with any number of particles": min(digits) > 0.9,
        "with many at least as well as with one": digits[-1] >= digits[0] - 0.02,
    }


def plot(result: dict[str, Any]) -> Any:
    """Accuracy over particles."""
    from ddeq.viz.diagrams import curves

    figure = curves(result["values"], "particles", "accuracy")
    lowest = min(accuracy for line in result["values"].values() for _, accuracy in line)
    figure.axes[0].set_ylim(0.9 * lowest, 1.005)
    return figure


def _row(weights: str, count: int, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "weights": weights,
        "particles": count,
        "accuracy": shown(found["accuracy"]),
        "cross entropy": shown(found["cross entropy"]),
        "spread of Z*": shown(found["spread"]),
        "solver steps": shown(found["solver steps"]),
    }
