"""Fixed points of the shipped models: Z* against F(Z*), residual and spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from common import digits, shown

from ddeq.data import collate, collate_partial
from ddeq.models import Classifier, Completer
from ddeq.solvers.solution import Solution
from ddeq.tasks.completion import partial_tasks
from ddeq.tasks.report import Mean
from ddeq.viz.from_model import choose, match

NAME = "fixed-points"
PAPER = "figures: fixed points"

_SHOWN = 6
_COLLAPSED = 0.05  # of a spread that is about 6 for particles that are apart


@torch.no_grad()
def run(data: str, budget: float) -> dict[str, Any]:
    """Solves for some clouds, and compares Z* with F(Z*)."""
    seed, clouds = 0, digits(data)
    chosen = choose(clouds, min(60 if data == "mini" else 300, int(3 * budget)), seed)
    even = clouds.in_proportion()
    tasks = partial_tasks(clouds, seed=seed)
    inputs = {
        "classifier": collate([even[i] for i in chosen])[0],
        "completer": collate_partial([tasks[i] for i in chosen])[0],
    }
    rows, drawn, spreads = [], {}, {}
    for kind, model in (("classifier", Classifier), ("completer", Completer)):
        solution = model.from_pretrained("mnist-pc").latent(inputs[kind], seed)[1]
        rows.append(_row(f"{kind} mnist-pc", solution))
        spreads[kind] = float(solution.spread.mean())
        if kind == "classifier":
            names = [clouds.classes[int(clouds.labels[i])] for i in chosen]
            drawn = _drawn(solution, names)
    return {
        "seed": seed,
        "settings": {"data": clouds.name, "clouds": len(chosen), "weights": "as shipped"},
        "rows": rows,
        "spread": spreads,
        "drawn": drawn,
        "shows": _shows(spreads),
    }


def _row(name: str, solution: Solution) -> dict[str, Any]:
    return {
        "model": name,
        "MMD^2(Z*, F(Z*)) / at the start": shown(Mean.of(solution.relative_residual)),
        "spread of Z*": shown(Mean.of(solution.spread)),
        "solver steps": shown(Mean.of(solution.steps.double())),
        "converged": f"{100 * float(solution.converged.double().mean()):.0f} %",
    }


def _drawn(solution: Solution, names: list[str]) -> dict[str, Any]:
    """What the picture shows: Z* and F(Z*) in their principal plane."""
    points, shares = match(solution, names)
    clouds = [{"z": _list(p.z), "image": _list(p.image), "title": p.title} for p in points[:_SHOWN]]
    return {"shares": list(shares), "clouds": clouds}


def _shows(spreads: dict[str, float]) -> str:
    found = "; ".join(
        f"those of the {kind} {'have collapsed' if value < _COLLAPSED else 'are apart'} "
        f"(spread {value:.3g})"
        for kind, value in spreads.items()
    )
    return (
        "Z* and F(Z*) agree as measures. A small residual can also be had from particles in one "
        f"place: {found}. The picture is the principal plane of Z* and F(Z*), where the paper has "
        "UMAP."
    )


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    small = [float(row["MMD^2(Z*, F(Z*)) / at the start"].split()[0]) for row in result["rows"]]
    return {
        "Z* and F(Z*) agree as measures": max(small) < 5e-3,
        "the particles of the completer are apart": result["spread"]["completer"] > _COLLAPSED,
    }


def plot(result: dict[str, Any]) -> Any:
    """Z* and F(Z*) of a few clouds."""
    from ddeq.viz.diagrams import FixedPoint, fixed_points

    drawn = result["drawn"]
    clouds = [
        FixedPoint(np.array(c["z"]), np.array(c["image"]), c["title"]) for c in drawn["clouds"]
    ]
    return fixed_points(clouds, (drawn["shares"][0], drawn["shares"][1]))


def _list(points: np.ndarray) -> list[list[float]]:
    return np.round(points, 4).tolist()
