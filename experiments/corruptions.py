"""Mean corruption error of the shipped classifier of shapes beside PointNet and DGCNN.

The baselines are those that these commands leave in ``runs``, trained on the same clouds:

    ddeq train pointnet-modelnet40
    ddeq train dgcnn-modelnet40

The seven corruptions of ModelNet-C are made in code, at five levels each. As there, the error of a
kind is that of all levels over that of DGCNN, and mCE is the mean over kinds; RmCE does the same
with what accuracy is lost. With ``--data mini`` all three are trained for a few steps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import measured, some, vertices
from equal_time import Budget, learn, remembered, store
from recipes import small, thinned

from ddeq.data import CloudDataset, load
from ddeq.data.dataset import normalize_points
from ddeq.data.robustness import CORRUPTIONS, LEVELS, corrupt
from ddeq.errors import DdeqError
from ddeq.models import Classifier
from ddeq.models.baselines import DGCNN, PointNet
from ddeq.training.presets import PRESETS

NAME = "corruptions"

_RUNS = Path(__file__).resolve().parent.parent / "runs"
_TRAINED = {"PointNet": (PointNet, "pointnet"), "DGCNN": (DGCNN, "dgcnn")}
_SHAPES = {"mini": 40, "full": 400}
_LEVELS = {"mini": (1, LEVELS), "full": tuple(range(1, LEVELS + 1))}


def run(data: str, budget: float) -> dict[str, Any]:
    """Measures the three on the same corrupted test shapes."""
    seed, models = 0, _models(data)
    test = vertices(data) if data == "mini" else load("modelnet40", "test")
    test = some(test, _SHAPES[data], seed)
    found = {
        name: {
            kind: _accuracies(f"{name}-{kind}", model, test, kind, data, seed)
            for kind in ("clean", *CORRUPTIONS)
        }
        for name, model in models.items()
    }
    errors = {name: _errors(one, found["DGCNN"]) for name, one in found.items()}
    return {
        "seed": seed,
        "settings": {
            "data": f"{len(test)} of {test.name}",
            "levels": ", ".join(map(str, _LEVELS[data])),
            "weights": "DDEQ as shipped, PointNet and DGCNN trained here"
            if data == "full"
            else "trained for a few steps",
            "protocol": "corruption errors over those of DGCNN, as in ModelNet-C; every corrupted "
            "cloud is normalised anew",
        },
        "rows": [_row(name, models[name], found[name], errors[name]) for name in found],
        "errors": errors,
        "accuracies": found,
        "shows": _verdict(found, errors),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    errors = result["errors"]["DGCNN"]
    return {
        "DGCNN has 1, to which all is compared": abs(errors["mCE"] - 1.0) < 1e-9,
        "every kind of corruption is there": set(CORRUPTIONS) <= set(errors),
    }


def plot(result: dict[str, Any]) -> Any:
    """Corruption error by kind, a bar for each network."""
    from matplotlib.figure import Figure

    from ddeq.viz.drawing import SERIES, TEXT

    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    ax, kinds = figure.add_subplot(), [*CORRUPTIONS, "mCE"]
    for i, (name, errors) in enumerate(result["errors"].items()):
        where = [k + 0.27 * (i - 1) for k in range(len(kinds))]
        ax.bar(where, [errors[kind] for kind in kinds], 0.25, color=SERIES[i], label=name)
    ax.axhline(1.0, color=TEXT, linewidth=0.6, linestyle=":")
    ax.set_xticks(range(len(kinds)), kinds, fontsize=10, color=TEXT)
    ax.set_ylabel("error over that of DGCNN", fontsize=11, color=TEXT)
    ax.legend(fontsize=10, frameon=False, ncols=3)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _models(data: str) -> dict[str, Any]:
    """DDEQ, PointNet and DGCNN."""
    if data == "mini":
        clouds, time = thinned(vertices(data, "train"), 48), Budget(0, 40, 40, 1)
        recipes = {"DDEQ": small(PRESETS["mini-classification"], 5)}
        recipes |= {name: PRESETS[f"{p}-modelnet40"] for name, (_, p) in _TRAINED.items()}
        return {
            name: learn(replace(recipe, batch_size=16), clouds, time, store(data)).model
            for name, recipe in recipes.items()
        }
    models: dict[str, Any] = {"DDEQ": Classifier.from_pretrained("modelnet40")}
    for name, (kind, preset) in _TRAINED.items():
        folder = _RUNS / f"{preset}-modelnet40" / "model"
        if not folder.is_dir():
            raise DdeqError(f"{folder} is not there: ddeq train {preset}-modelnet40")
        models[name] = kind.from_pretrained(folder)
    return models


def _accuracies(
    name: str, model: Any, test: CloudDataset, kind: str, data: str, seed: int
) -> list[float]:
    """Accuracy at each level, or of clean clouds; what is measured of these weights is kept."""
    mark = sum(float(p.detach().double().abs().sum()) for p in model.parameters())
    path = store(data) / "corruptions" / f"{name}-{len(test)}-{mark:.6e}.json".replace(" ", "-")
    levels = _LEVELS[data] if kind != "clean" else (0,)
    found: list[float] = remembered(
        path, lambda: [_accuracy(model, test, kind, level, seed) for level in levels]
    )
    return found


@torch.no_grad()
def _accuracy(model: Any, test: CloudDataset, kind: str, level: int, seed: int) -> float:
    clouds = [test.raw(i) for i in range(len(test))]
    if level:
        rng = np.random.default_rng([seed, list(CORRUPTIONS).index(kind), level])
        clouds = [corrupt(cloud, kind, level, rng) for cloud in clouds]
    clouds = [normalize_points(cloud, proportions=True) for cloud in clouds]
    changed = CloudDataset.from_list(clouds, test.labels, test.classes, kind)
    return measured(model, changed)[0].metrics["accuracy"].value


def _errors(one: dict[str, list[float]], reference: dict[str, list[float]]) -> dict[str, float]:
    """Corruption error of each kind, their mean, and that of what is lost."""
    found, lost = {}, []
    for kind in CORRUPTIONS:
        found[kind] = _over(1.0 - np.mean(one[kind]), 1.0 - np.mean(reference[kind]))
        fall, most = (
            one["clean"][0] - np.mean(one[kind]),
            reference["clean"][0] - np.mean(reference[kind]),
        )
        lost.append(_over(fall, most))
    return {**found, "mCE": float(np.mean(list(found.values()))), "RmCE": float(np.mean(lost))}


def _over(value: float, reference: float) -> float:
    return float(value / reference) if reference else float(value == reference)


def _row(
    name: str, model: Any, accuracies: dict[str, list[float]], errors: dict[str, float]
) -> dict[str, Any]:
    return {
        "network": name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "clean, %": round(100 * accuracies["clean"][0], 1),
        **{f"{kind}, %": round(100 * float(np.mean(accuracies[kind])), 1) for kind in CORRUPTIONS},
        "mCE": round(errors["mCE"], 3),
        "RmCE": round(errors["RmCE"], 3),
    }


def _verdict(found: dict[str, Any], errors: dict[str, dict[str, float]]) -> str:
    ours = errors["DDEQ"]
    worst = max(CORRUPTIONS, key=lambda kind: ours[kind])
    best = min(CORRUPTIONS, key=lambda kind: ours[kind])
    said = ", ".join(f"{name} {one['mCE']:.3f}" for name, one in errors.items())
    return (
        f"Mean corruption error: {said}; lower is better, DGCNN is 1. In terms of DGCNN, DDEQ is "
        f"at its best under '{best}' ({ours[best]:.2f}) and at its worst under '{worst}' "
        f"({ours[worst]:.2f}). Columns of percent are accuracies, means over the levels."
    )
