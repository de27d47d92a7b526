"""What a classifier says of itself, fitted on clouds of the training set.

Weights that tell upright clouds from lying ones are fitted on clouds that the network was trained
on; temperature, threshold of the energy and what is assumed of the up axis on held-out ones, the
295 of ModelNet40 that training did not see. See ``recognition.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from common import some
from recognition_views import (
    BATCH,
    Change,
    Looked,
    energy,
    entropy,
    four_poses,
    labels_of,
    look,
    percent,
    to_y_up,
    turned,
    upright,
)
from torch import Tensor

from ddeq.data import CloudDataset, load
from ddeq.inference.calibration import auroc, calibration_error, fit_temperature, fit_upright
from ddeq.measures.clouds import PointClouds
from ddeq.models import Classifier
from ddeq.nn.pose import from_y_up, turn
from ddeq.training import PRESETS
from ddeq.training.data import CloudData

__all__ = ["calibrate", "choose"]

FLAGGED = 0.05
PRICE = 2.0
"""Points of accuracy that not knowing the up axis may cost for ``auto`` to be the default."""


def choose(folder: Path, shapes: int, scans: int, seed: int) -> dict[str, Any]:
    """Fits all of it and writes it into the weights.

    Args:
        folder: A classifier of ModelNet40.
        shapes: Training shapes that tell upright from lying.
        scans: Scanned objects beside the held-out shapes.
        seed: Of both choices and of azimuths.
    """
    data = CloudData(PRESETS["modelnet40-classification"])
    model = with_upright(Classifier.from_pretrained(folder), some(data.train, shapes, seed), seed)
    labels = labels_of(data.validation)
    views = [look(model, data.validation, turned(360 * k / 4 + 20)).logits for k in range(4)]
    every, each = torch.cat(views), labels.repeat(4)
    model.temperature = round(fit_temperature(every, each), 4)
    model.unfamiliar = round(float(energy(every).quantile(1 - FLAGGED)), 4)
    up = _up_axis(model, data.validation, labels)
    model.up = "auto" if up["aligned"] - up["z up, not told"] <= PRICE else "z"
    model.save_pretrained(folder)
    objects = some(load("scans", "train").in_proportion(), scans, seed)
    others = look(model, objects).logits
    return {
        "held-out clouds": len(labels),
        "temperature": model.temperature,
        "unfamiliar": model.unfamiliar,
        "up": model.up,
        **up,
        "turned": percent(every, each),
        "four poses": percent(four_poses(views), labels),
        "calibration error before": calibration_error(every.softmax(1), each),
        "calibration error": calibration_error((every / model.temperature).softmax(1), each),
        "auroc of energy, scans of training": auroc(energy(every), energy(others)),
        "auroc of entropy, scans of training": auroc(entropy(every), entropy(others)),
    }


def calibrate(folder: Path, recipe: str) -> dict[str, Any]:
    """Fits temperature and threshold only, for clouds as the data set of a recipe has them."""
    model, held_out = Classifier.from_pretrained(folder), CloudData(PRESETS[recipe]).validation
    labels, found = labels_of(held_out), look(model, held_out).logits
    model.temperature = round(fit_temperature(found, labels), 4)
    model.unfamiliar = round(float(energy(found).quantile(1 - FLAGGED)), 4)
    model.save_pretrained(folder)
    return {
        "held-out clouds": len(labels),
        "temperature": model.temperature,
        "unfamiliar": model.unfamiliar,
        "aligned": percent(found, labels),
        "calibration error before": calibration_error(found.softmax(1), labels),
        "calibration error": calibration_error((found / model.temperature).softmax(1), labels),
    }


def with_upright(model: Classifier, data: CloudDataset, seed: int) -> Classifier:
    """The classifier with weights that tell upright clouds from lying ones.

    Lying are clouds with z up that are taken to have y up, and the reverse.
    """
    drawn = np.random.default_rng(seed).uniform(0, 4, BATCH)
    drawn[::2] = drawn[::2].round()  # files often stand along their axes
    angles = torch.as_tensor(drawn * np.pi / 2)

    def peaks(change: Change | None = None) -> Tensor:
        def anyhow(x: PointClouds) -> PointClouds:
            x = turn(x, angles[: len(x)].to(x.points))
            return x if change is None else change(x)

        return look(model, data, anyhow).peaks

    weights = fit_upright(peaks(), torch.stack([peaks(from_y_up), peaks(to_y_up)]))
    found = cast(Classifier, Classifier.from_config({**model.config(), "upright": True}))
    found.load_state_dict({**model.state_dict(), "upright.weight": weights[None]})
    return found


def _up_axis(model: Classifier, data: CloudDataset, labels: Tensor) -> dict[str, Any]:
    """Accuracy if the up axis is told, and if it is not."""
    poses: list[Looked] = [look(model, data, change) for change in (None, from_y_up, to_y_up)]
    return {
        "aligned": percent(poses[0].logits, labels),
        "z up, not told": percent(upright(poses[0], poses[1]), labels),
        "y up, not told": percent(upright(poses[0], poses[2]), labels),
    }
