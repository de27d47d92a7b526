"""Completed digits and shapes: DDEQ as shipped, DDEQ and PCN after the same time, the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from common import digits, shapes, shown
from completers import POINTS, time_of, trained
from recipes import thinned

from ddeq.data import collate_partial
from ddeq.measures.clouds import PointClouds
from ddeq.measures.metrics import wasserstein2
from ddeq.models import Completer
from ddeq.tasks.completion import partial_tasks
from ddeq.tasks.report import Mean
from ddeq.viz.from_model import choose

NAME = "completed-samples"
PAPER = "figures: completed samples"

_SHIPPED = {"digits": "mnist-pc", "shapes": "modelnet8"}
_ROWS = 6
_HEADS = ("input", "DDEQ, shipped", "DDEQ", "PCN", "truth")


@torch.no_grad()
def run(data: str, budget: float) -> dict[str, Any]:
    """Completes a few clouds of each data set, chosen at random, a class each."""
    seed, time = 0, time_of(data, budget)
    drawn, rows = {}, []
    for kind, load in (("digits", digits), ("shapes", shapes)):
        with torch.enable_grad():
            pair = trained(kind, data, time)
        clouds = thinned(load(data), POINTS[data])
        items = partial_tasks(clouds, seed=seed)
        batch = collate_partial([items[i] for i in choose(clouds, _ROWS, seed)])
        shipped = Completer.from_pretrained(_SHIPPED[kind])
        new = [shipped(batch.partial), pair.ddeq.model(batch.partial)]
        wholes = [batch.partial.cat(n) for n in new] + [pair.pcn.model(batch.partial)]
        for name, whole in zip(_HEADS[1:4], wholes, strict=True):
            w2 = shown(Mean.of(wasserstein2(whole, batch.target)))
            rows.append({"data": kind, "completer": name, "W2 of these wholes": w2})
        parts = (batch.partial, *new, wholes[2], batch.target)
        drawn[kind] = [[_list(c) for c in row] for row in zip(*map(_clouds, parts), strict=True)]
    return {
        "seed": seed,
        "settings": {
            "clouds": f"{_ROWS} of each data set, drawn at random, not chosen by looking",
            "DDEQ and PCN": f"{time.words} of training each",
            "protocol": "the frame of the whole is told",
        },
        "rows": rows,
        "drawn": drawn,
        "shows": (
            "DDEQ keeps the visible points (grey) and adds to them; PCN makes every point anew, "
            f"and after {time.words} of training it draws a blurred average. A few "
            "clouds are an illustration, not a measurement: see table-2 and table-6."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    w2 = [float(row["W2 of these wholes"].split()[0]) for row in result["rows"]]
    return {"the shipped weights are nearer to the truth than PCN": w2[0] < w2[2] and w2[3] < w2[5]}


def plot(result: dict[str, Any]) -> Any:
    """Digits left, shapes right."""
    from ddeq.viz.drawing import INPUT, RESULT, TARGET, frame, marker_area, overlay, panels

    figure, axes = panels(_ROWS, 2 * len(_HEADS), size=1.3)
    for left, rows in zip((0, len(_HEADS)), result["drawn"].values(), strict=True):
        for i, row in enumerate(rows):
            seen, shipped, short, pcn, truth = (np.array(cloud) for cloud in row)
            scenes = (
                [(seen, INPUT)],
                [(seen, INPUT), (shipped, RESULT)],
                [(seen, INPUT), (short, RESULT)],
                [(pcn, RESULT)],
                [(truth, TARGET)],
            )
            line = axes[i, left : left + len(_HEADS)]
            for ax, layers, head in zip(line, scenes, _HEADS, strict=True):
                overlay(ax, layers, head if i == 0 else None, marker_area(len(truth)) / 2)
            frame(line, [seen, truth])
    return figure


def _clouds(clouds: PointClouds) -> list[torch.Tensor]:
    return clouds.to_list()


def _list(points: torch.Tensor) -> list[list[float]]:
    return np.round(points.numpy(), 3).tolist()
