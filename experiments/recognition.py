"""How well a classifier knows objects, in any pose: ``python experiments/recognition.py STEP ...``.

``choose`` fits what a classifier says of itself on clouds of the training set, see
``recognition_choose.py``, and writes it into the weights. ``measure`` then opens the test set,
once, and writes each part of its report as soon as it is done. ``calibrate`` and ``plain`` do less,
for weights of other data, ``--recipe``:

    python experiments/recognition.py choose src/ddeq/pretrained/classifier-modelnet40
    python experiments/recognition.py measure src/ddeq/pretrained/classifier-modelnet40
    python experiments/recognition_page.py
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import some
from growing_report import Report
from recognition_choose import calibrate, choose
from recognition_views import (
    BATCH,
    Views,
    energy,
    four_poses,
    labels_of,
    look,
    percent,
    to_y_up,
    upright,
)

from ddeq.bench.machine import machine
from ddeq.data import CloudDataset, collate, load
from ddeq.data.dataset import normalize_points
from ddeq.data.robustness import CORRUPTIONS, LEVELS, corrupt
from ddeq.inference.calibration import auroc, calibration_error
from ddeq.models import Classifier
from ddeq.models.base import gaussian_particles
from ddeq.nn.pose import from_y_up
from ddeq.training import PRESETS

ROOT = Path(__file__).resolve().parent.parent
AZIMUTHS = 8


def aligned(views: Views) -> dict[str, Any]:
    """Accuracy of clouds as the data set has them, calibration, and what is taken for what."""
    looked, labels = views(), views.labels
    found = looked.logits
    counts = torch.zeros(found.shape[1], found.shape[1], dtype=torch.long)
    counts.index_put_((labels, found.argmax(1)), torch.ones_like(labels), accumulate=True)
    scaled = (found / views.model.temperature).softmax(1)
    return {
        "clouds": len(labels),
        "accuracy": percent(found, labels),
        "evaluations": looked.evaluations,
        "calibration error at temperature 1": calibration_error(found.softmax(1), labels),
        "calibration error": calibration_error(scaled, labels),
        "confusion": counts.tolist(),
    }


def azimuths(views: Views) -> dict[str, Any]:
    """Accuracy at azimuths, all clouds turned alike, and of the mean over four poses of each."""
    angles = [360 * k / AZIMUTHS for k in range(AZIMUTHS)]
    found = [views(angle).logits for angle in angles]
    each = [percent(one, views.labels) for one in found]
    four = [percent(four_poses(found, k), views.labels) for k in range(AZIMUTHS // 4)]
    return {
        "clouds": len(views.labels),
        "each": each,
        "mean": float(np.mean(each)),
        "spread": max(each) - min(each),
        "four poses": float(np.mean(four)),
    }


def up_axis(views: Views) -> dict[str, Any]:
    """Accuracy for clouds with z and with y up if neither is told."""
    labels, z_as_y, y_as_z = views.labels, views(from_y_up), views(to_y_up)
    return {
        "z up": percent(upright(views(), z_as_y), labels),
        "y up": percent(upright(views(), y_as_z), labels),
        "y up taken for z up": percent(y_as_z.logits, labels),
    }


@torch.no_grad()
def one_application(model: Classifier, test: CloudDataset) -> dict[str, Any]:
    """Accuracy of ``F`` applied once to the first particles, in place of the equilibrium."""
    found = []
    for start in range(0, len(test), BATCH):
        x, _ = collate([test[i] for i in range(start, min(start + BATCH, len(test)))])
        lengths = torch.full_like(x.lengths, model.particles)
        z = gaussian_particles(lengths, model.network.features, 0, model.head.weight)
        found.append(model.logits(model.encode(x).mark(z.points)(z)))
    return {"aligned": percent(torch.cat(found), labels_of(test))}


def unfamiliar(views: Views) -> dict[str, Any]:
    """How well the energy tells household objects that were scanned from the test shapes."""
    scans = energy(look(views.model, load("scans", "test").in_proportion()).logits)
    inside = energy(views().logits)
    limit = math.inf if views.model.unfamiliar is None else views.model.unfamiliar
    return {
        "scans": len(scans),
        "auroc": auroc(inside, scans),
        "flagged test shapes": 100 * float((inside > limit).double().mean()),
        "flagged scans": 100 * float((scans > limit).double().mean()),
    }


def corruptions(model: Classifier, test: CloudDataset, seed: int) -> dict[str, Any]:
    """Accuracy under each kind of corruption at each level."""
    found: dict[str, Any] = {"clouds": len(test)}
    for k, kind in enumerate(CORRUPTIONS):
        found[kind] = []
        for level in range(1, LEVELS + 1):
            rng = np.random.default_rng([seed, k, level])
            clouds = [corrupt(cloud, kind, level, rng) for cloud in test.clouds]
            clouds = [normalize_points(cloud, proportions=True) for cloud in clouds]
            changed = CloudDataset.from_list(clouds, test.labels, test.classes, kind)
            accuracy = percent(look(model, changed.in_proportion()).logits, labels_of(test))
            found[kind].append(accuracy)
    return found


def measure(folder: Path, report: Report, shapes: int, seed: int) -> None:
    """Measures a classifier on the test set, part by part."""
    model, test = Classifier.from_pretrained(folder), load("modelnet40", "test").in_proportion()
    views = Views(model, test)
    report.add("parameters", lambda: sum(p.numel() for p in model.parameters()))
    report.add("aligned", lambda: aligned(views))
    report.add("unfamiliar", lambda: unfamiliar(views))
    report.add("azimuths", lambda: azimuths(views))
    report.add("up", lambda: up_axis(views))
    report.add("one application", lambda: one_application(model, test))
    report.add("corruptions", lambda: corruptions(model, some(test, shapes, seed), seed))


def plain(folder: Path, recipe: str) -> dict[str, Any]:
    """Accuracy on the test set of a recipe, as it stands, in two frames; calibration."""
    model, whole = Classifier.from_pretrained(folder), load(PRESETS[recipe].data, "test")
    found, labels = look(model, whole.in_proportion()), labels_of(whole)
    scaled = (found.logits / model.temperature).softmax(1)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "clouds": len(whole),
        "own proportions": percent(found.logits, labels),
        "unit variance per coordinate": percent(look(model, whole).logits, labels),
        "one application": one_application(model, whole.in_proportion())["aligned"],
        "evaluations": found.evaluations,
        "calibration error": calibration_error(scaled, labels),
    }


def beside(folder: Path, report: Report, shapes: int, seed: int) -> None:
    """The same of other weights, on the seeded subset only."""
    model, test = Classifier.from_pretrained(folder), load("modelnet40", "test").in_proportion()
    test = some(test, shapes, seed)
    report.add("beside: azimuths", lambda: azimuths(Views(model, test)))
    report.add("beside: corruptions", lambda: corruptions(model, test, seed))


def main() -> None:
    """Runs one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("choose", "calibrate", "measure", "plain", "beside"))
    parser.add_argument("weights", type=Path, help="folder of a classifier")
    parser.add_argument("--out", type=Path, default=ROOT / "results/recognition-modelnet40.json")
    parser.add_argument("--recipe", default="mnist-classification", help="of calibrate and plain")
    parser.add_argument("--shapes", type=int, default=400, help="of the corruptions")
    parser.add_argument("--training", type=int, default=1500, help="shapes that tell what is up")
    parser.add_argument("--scans", type=int, default=300, help="of training, in choose")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.step == "calibrate":
        print(calibrate(args.weights, args.recipe))
        return
    settings = {"data": "modelnet40", "seed": args.seed, "batch": BATCH, "machine": machine(1)}
    report = Report(args.out, settings)
    if args.step == "choose":
        counts = args.training, args.scans
        report.add("chosen", lambda: choose(args.weights, *counts, args.seed))
    elif args.step == "plain":
        report.add(args.recipe, lambda: plain(args.weights, args.recipe))
    else:
        step = measure if args.step == "measure" else beside
        step(args.weights, report, args.shapes, args.seed)


if __name__ == "__main__":
    main()
