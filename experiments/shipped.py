"""The shipped weights on test clouds, beside guesses where the frame is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from common import digits, shown, some

from ddeq.data import CloudDataset, load
from ddeq.data.shapes.generator import shapes as generated
from ddeq.models import Classifier, Completer
from ddeq.models.baselines.completers import guess_completers
from ddeq.protocol import evaluate
from ddeq.tasks.classification import Classification
from ddeq.tasks.completion import Completion
from ddeq.tasks.report import Mean

NAME = "shipped"


@dataclass(frozen=True)
class Setting:
    """One measurement.

    Attributes:
        weights: Name of the weights.
        told: How the clouds are shown.
        paper: What the paper has, where its setting is the same.
        options: Of the evaluation.
        ratio: New points per visible point; None if the network estimates their number.
    """

    weights: str
    told: str
    paper: str | None = None
    options: tuple[tuple[str, bool], ...] = ()
    ratio: float | None = None


_CLASSES = (
    Setting("mnist-pc", "unit variance per coordinate", "98.1 %", (("even", True),)),
    Setting("mnist-pc", "own proportions"),
    Setting("modelnet40", "own proportions, points of the surface"),
)
_WHOLES = (
    Setting("mnist-pc", "told frame, always 27.5 % new", "MMD^2 0.0033", ratio=0.275),
    Setting("mnist-pc", "told frame, number estimated"),
    Setting("mnist-pc", "own frame, number estimated", None, (("own_frame", True),)),
    Setting("modelnet8", "told frame, number estimated"),
    Setting("modelnet8", "own frame, number estimated", None, (("own_frame", True),)),
)


def run(data: str, budget: float) -> dict[str, Any]:
    """Measures each on as many clouds as the budget allows."""
    seed, few = 0, data == "mini"
    rows, values = [], {}
    for setting in _CLASSES[:2] if few else _CLASSES:
        test = some(_test(setting.weights, data), 100 if few else min(2000, 8 * budget), seed)
        model = Classifier.from_pretrained(setting.weights)
        found = Classification.evaluate(model, test, seed=seed, **dict(setting.options)).metrics
        rows.append(_row(setting, "classifier", test, found))
        values[f"{setting.weights}, {setting.told}"] = found["accuracy"].value
    for setting in _WHOLES[:3] if few else _WHOLES:
        test = some(_test(setting.weights, data), 40 if few else min(1000, 2 * budget), seed)
        completer = Completer.from_pretrained(setting.weights)
        if setting.ratio is not None:
            completer.missing, completer.ratio = None, setting.ratio
        found = Completion.evaluate(completer, test, seed=seed, **dict(setting.options)).metrics
        rows.append(_row(setting, "completer", test, found))
        values[f"{setting.weights}, {setting.told}"] = found["W2 free"].value
    test = some(digits(data), 40 if few else min(1000, 2 * budget), seed)
    values |= _guesses(test, digits(data, "train"), rows)
    return {
        "seed": seed,
        "settings": {
            "weights": "as shipped",
            "protocol": "test clouds drawn at random, cut 'balls'; guesses are told the frame and "
            "how many points are missing",
        },
        "rows": rows,
        "values": values,
        "shows": (
            "Told the frame, the completer's new points have a W2 of "
            f"{values['mnist-pc, told frame, number estimated']:.3f} on digits, the Gaussian of "
            f"the moments that the frame gives away {values['moment Gaussian']:.3f}, and retrieval "
            f"{values['retrieval']:.3f}; in the frame of the visible part the completer has "
            f"{values['mnist-pc, own frame, number estimated']:.3f}."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    values = result["values"]
    told = values["mnist-pc, told frame, number estimated"]
    return {
        "digits are recognised": values["mnist-pc, own proportions"] > 0.95,
        "the network beats the Gaussian of the moments": told < values["moment Gaussian"],
        "not to know the frame is harder": values["mnist-pc, own frame, number estimated"] > told,
    }


def _test(weights: str, data: str) -> CloudDataset:
    if weights == "mnist-pc":
        return digits(data)
    return generated("test", 160, n_points=256) if data == "mini" else load(weights, "test")


def _guesses(
    test: CloudDataset, train: CloudDataset, rows: list[dict[str, Any]]
) -> dict[str, float]:
    """W2 of what completes digits without a network."""
    guesses, found = guess_completers(some(train, 2000, 0), "balls", 0, True), {}
    for name in ("moment Gaussian", "retrieval"):
        metrics = evaluate(guesses[name], test, "balls", 0, told=True, counts=True).metrics
        found[name] = metrics["W2 new"].value
        rows.append(
            {
                "weights": name,
                "shown": "told frame, told number",
                "clouds": f"{len(test)} of {test.name}",
                "W2 new": shown(metrics["W2 new"]),
                "OT new": shown(metrics["OT new"]),
                "MMD^2 whole": _precise(metrics["MMD2 whole"]),
            }
        )
    return found


def _row(setting: Setting, kind: str, test: CloudDataset, found: dict[str, Mean]) -> dict[str, Any]:
    names = {
        "accuracy": "accuracy",
        "cross entropy": "cross entropy",
        "W2 free": "W2 new",
        "OT free": "OT new",
        "OT whole": "OT whole",
    }
    row: dict[str, Any] = {
        "weights": f"{kind}-{setting.weights}",
        "shown": setting.told,
        "clouds": f"{len(test)} of {test.name}",
    }
    row |= {label: shown(found[name]) for name, label in names.items() if name in found}
    if "mmd2 whole" in found:
        row["MMD^2 whole"] = _precise(found["mmd2 whole"])
    return row | {"evaluations": f"{found['solver steps'].value:.1f}", "paper": setting.paper}


def _precise(mean: Mean) -> str:
    return f"{mean.value:.5f} ± {mean.error:.5f}"
