"""Settings of use of a completer, on held-out training clouds; no test cloud is looked at.

``python experiments/completion_settings.py MODEL OUT --data scans --added 0.02``

- The threshold of "something is missing", and the logit from which the model is sure, such that
  whole clouds get ``--added`` new points per point in the mean, and as many clouds with a hole as
  possible get some.
- The factor of the estimated shares, so that their error has no mean on the logarithmic scale.
- Mean and deviation of the logarithm of true over expected distances, for the confidence.
- The thickness that one cloud in a hundred exceeds.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import cKDTree

from ddeq.data import CloudDataset, load
from ddeq.data.view import FramedClouds
from ddeq.inference.familiar import thickness
from ddeq.models import Completer
from ddeq.models.sampling import Sampling
from ddeq.nn import MissingShare
from ddeq.protocol import Problem, problems
from ddeq.training import PRESETS
from ddeq.training.data import CloudData

CUTS = {2: ("balls", "half", "brush"), 3: ("balls", "view", "half", "brush")}
HELD_OUT = 600  # digits, of the 3,000 that training does not see


def held_out(name: str) -> CloudDataset:
    """Validation families of ``scans``, or held-out training digits."""
    if name == "scans":
        return load("scans", "validation")
    recipe = replace(PRESETS["digits-completion"], data=name)
    return CloudData(recipe).validation.subset(np.arange(HELD_OUT))


def look(model: Completer, problem: Problem) -> tuple[float, float]:
    """Logit of "something is missing" and the share, if it is."""
    framed = FramedClouds.of([problem.shown], next(model.parameters()), model.proportions)
    context = model.encode(framed.x).context
    assert isinstance(model.missing, MissingShare)
    logit, log_share = model.missing(context.summary, context.peak)
    return float(logit), float(log_share.exp())


def thresholds(
    whole: np.ndarray, cut: dict[str, np.ndarray], added: float
) -> tuple[float, float, dict[str, float]]:
    """Threshold and the logit above it from which the model is sure.

    Args:
        whole: Logits and shares of whole clouds, ``(n, 2)``.
        cut: The same of clouds with a hole, by cut.
        added: New points per point that whole clouds may get in the mean.

    Returns:
        Both, and the part of the clouds of each cut that gets new points.
    """
    best: tuple[float, float, float] | None = None
    for low in np.quantile(whole[:, 0], np.linspace(0.7, 0.99, 59)):
        for width in (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0):
            got = [_mean_added(whole, low, width), _mean_part(cut, low, width)]
            if got[0] <= added and (best is None or got[1] > best[0]):
                best = got[1], float(low), width
    assert best is not None, "no threshold leaves whole clouds alone"
    _, low, width = best
    return low, width, {name: float((rows[:, 0] > low).mean()) for name, rows in cut.items()}


def _part(logits: np.ndarray, low: float, width: float) -> np.ndarray:
    above = logits - low
    return np.where(above > 0, np.minimum(above / width, 1.0) if width else 1.0, 0.0)


def _mean_added(rows: np.ndarray, low: float, width: float) -> float:
    return float((_part(rows[:, 0], low, width) * rows[:, 1]).mean())


def _mean_part(cut: dict[str, np.ndarray], low: float, width: float) -> float:
    """A mean of "gets some" and "gets all" over the cuts."""
    values = []
    for rows in cut.values():
        part = _part(rows[:, 0], low, width)
        values.append(0.7 * (part > 0).mean() + 0.3 * part.mean())
    return float(np.mean(values))


def balanced(data: CloudDataset, cut: dict[str, np.ndarray]) -> float:
    """The factor by which the estimated shares are right in the mean of their logarithms."""
    errors = []
    for name, rows in cut.items():
        true = [len(p.removed) / len(p.kept) for p in problems(data, name, 23)]
        errors.append(np.log(rows[:, 1] / np.array(true)))
    return float(np.exp(-np.mean(errors)))


def distances(model: Completer, data: CloudDataset) -> tuple[float, float]:
    """Mean and deviation of the logarithm of true over expected distances."""
    errors = []
    for cut in CUTS[data.dim][:2]:
        for problem in problems(data, cut, 31):
            framed = FramedClouds.of([problem.shown], next(model.parameters()), model.proportions)
            found = model.fill(framed.x, torch.tensor([80]), 0)[0]
            assert found.distances is not None
            expected = found.distances.double().numpy()
            size = float(framed.views[0].scale * framed.frame.scale[0, 0])
            truth = cKDTree((problem.whole - problem.centre) / problem.scale)
            true = truth.query(framed.invert([found.points])[0])[0] / size
            errors.append(np.log((true + 1e-2) / expected))
    every = np.concatenate(errors)
    return float(every.mean()), float(every.std())


def thick(data: CloudDataset) -> float:
    """The 99th percentile of the thickness of partial clouds."""
    values = [
        thickness(problem.shown) for cut in CUTS[data.dim] for problem in problems(data, cut, 31)
    ]
    return float(np.quantile(values, 0.99))


@torch.no_grad()
def main() -> None:
    """Reads the options, fits, saves the model with its settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--added", type=float, default=0.02, help="on whole clouds, per point")
    parser.add_argument("--data", default="scans", help="scans, or digits: mnist-pc, mnist-mini")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = Completer.from_pretrained(args.model)
    data = held_out(args.data)
    model.sampling = Sampling(reads=288, group=80, solved=320) if data.dim == 3 else Sampling()
    whole = np.array([look(model, p) for seed in (21, 22) for p in problems(data, "whole", seed)])
    cuts = CUTS[data.dim]
    cut = {name: np.array([look(model, p) for p in problems(data, name, 23)]) for name in cuts}
    factor = balanced(data, cut)
    for rows in (whole, *cut.values()):
        rows[:, 1] *= factor
    low, width, found = thresholds(whole, cut, args.added)
    assert isinstance(model.missing, MissingShare)
    model.missing.mlp.outer.bias[0] -= low
    model.ratio = model.missing.ratio = factor * model.ratio
    bias, error = distances(model, data.subset(np.arange(0, len(data), 2)))
    assert model.trust is not None
    model.trust.outer.bias += bias
    unfamiliar = thick(data) if data.dim == 3 else None  # strokes of pixels are no curves
    model.sampling = replace(model.sampling, sure=width, error=error, unfamiliar=unfamiliar)
    model.save_pretrained(args.out)
    print(
        json.dumps(
            {
                "factor": factor,
                "threshold": low,
                "sure": width,
                "bias": bias,
                **vars(model.sampling),
            }
        )
    )
    print(json.dumps({"whole": _mean_added(whole, low, width), "found": found}))


if __name__ == "__main__":
    main()
