"""Accuracy against the number of latent particles: a training for each number, two data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from common import digits, measured, shown, some, vertices
from equal_time import Budget, Learned, learn, remembered, store
from recipes import small, thinned

from ddeq.data import CloudDataset
from ddeq.nn import Network
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

NAME = "particles"
PAPER = "figure: number of particles"

_PARTICLES = {"mini": (1, 10), "full": (1, 4, 10, 16, 64)}
_SETS: dict[str, Callable[[str, str], CloudDataset]] = {"digits": digits, "shapes": vertices}
_PRESETS = {"digits": "mnist-classification", "shapes": "modelnet40-s-classification"}


def run(data: str, budget: float) -> Iterator[dict[str, Any]]:
    """Trains a network for each number for the same time; gives what is known after each."""
    counts = _PARTICLES[data]
    mini = Budget(0, 120, 80, 1)
    time = (
        mini
        if data == "mini"
        else Budget(budget / len(counts) / len(_SETS), held_out=150, probes=3)
    )
    rows: list[dict[str, Any]] = []
    values: dict[str, list[tuple[int, float]]] = {kind: [] for kind in _SETS}
    for kind in _SETS:
        clouds, test = _clouds(kind, data)
        for count in counts:
            learned = learn(_recipe(kind, data, count), clouds, time, store(data))
            path = learned.folder / "particles.json"
            rows.append(remembered(path, lambda: _row(kind, count, learned, test)))  # noqa: B023
            values[kind].append((count, float(rows[-1]["accuracy"].split()[0])))
            print(rows[-1], flush=True)
            yield _result(rows, values, time, data)


def _result(
    rows: list[dict[str, Any]],
    values: dict[str, list[tuple[int, float]]],
    time: Budget,
    data: str,
) -> dict[str, Any]:
    """What is known so far."""
    known = {kind: line for kind, line in values.items() if line}
    return {
        "seed": 0,
        "settings": {
            "training": f"{time.words} each, one core",
            "network": "the paper's with heads of 32" if data == "full" else "a small one",
            "protocol": "equal time, our recipes and solver; unit variance per coordinate; best "
            f"weights by {time.held_out} held-out training clouds; one seed",
        },
        "rows": rows,
        "values": known,
        "shows": _verdict(known),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out; trainings of seconds are asked for little."""
    digits = [accuracy for _, accuracy in result["values"]["digits"]]
    return {
        "every number has its own training": len(result["rows"])
        == sum(map(len, result["values"].values())),
        "digits are recognised better than by chance with any number": min(digits) > 0.15,
    }


def plot(result: dict[str, Any]) -> Any:
    """Accuracy over particles."""
    from ddeq.viz.diagrams import curves

    figure = curves(result["values"], "latent particles, one training each", "test accuracy")
    figure.axes[0].set_xscale("log")
    counts = [count for count, _ in result["values"]["digits"]]
    figure.axes[0].set_xticks(counts, counts, minor=False)
    figure.axes[0].minorticks_off()
    return figure


def _clouds(kind: str, data: str) -> tuple[CloudDataset, CloudDataset]:
    """Training and test clouds."""
    train, test = _SETS[kind](data, "train"), _SETS[kind](data, "test")
    if data == "mini":
        return thinned(train, 40), thinned(some(test, 100, 0), 40)
    return train, some(test, 1000, 0)


def _recipe(kind: str, data: str, count: int) -> Recipe:
    recipe = PRESETS[_PRESETS[kind]]
    depth = 1 if kind == "digits" else 3
    task = replace(recipe.task, particles=count, proportions=False)  # type: ignore[type-var]
    network = Network(head_size=32, cross_layers=depth, dropout=0.0)
    recipe = replace(recipe, task=task, network=network, batch_size=32, max_points=256)
    return small(recipe, 5) if data == "mini" else recipe


def _row(kind: str, count: int, learned: Learned, test: CloudDataset) -> dict[str, Any]:
    found = measured(learned.model, test, even=True)[0].metrics
    return {
        "data": f"{len(test)} of {test.name}",
        "particles": count,
        "training steps": learned.steps,
        "accuracy": shown(found["accuracy"]),
        "cross entropy": shown(found["cross entropy"]),
        "spread of Z*": shown(found["spread"]),
        "evaluations": shown(found["solver steps"]),
    }


def _verdict(values: dict[str, list[tuple[int, float]]]) -> str:
    said = []
    for kind, line in values.items():
        best = max(line, key=lambda point: point[1])
        (one, first), (most, last) = line[0], line[-1]
        said.append(
            f"{kind}: {100 * first:.1f} % right with {one} particle, {100 * best[1]:.1f} % with "
            f"{best[0]}, the best, and {100 * last:.1f} % with {most}"
        )
    return "; ".join(said) + ". More particles cost time, of which all networks had the same."
