"""MMD flow whose target is its own rotation by 2 pi / 5 and by 2 pi / 8."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddeq.gallery.rotation import PARTICLES, rotation_flow

NAME = "rotation-flows"
PAPER = "figures: rotation flows"

_TURNS = (5, 8)


def run(data: str, budget: float) -> dict[str, Any]:
    """Runs both flows with the paper's schedule; a fifth of its length with ``mini``."""
    seed, steps = 0, 400 if data == "mini" else 2000
    flows = [rotation_flow(turn, steps=steps, seed=seed) for turn in _TURNS]
    rows = [
        {
            "rotation": f"2 pi / {flow.turn}",
            "MMD^2(z, Rz) / at the start": flow.relative_residual,
            "asymmetry": flow.asymmetry,
        }
        for flow in flows
    ]
    return {
        "seed": seed,
        "settings": {
            "particles": PARTICLES,
            "steps": steps,
            "step size": "10 * 0.999^k",
            "start": "N((-10, 0), diag(1, 12))",
        },
        "rows": rows,
        "pictures": [
            {
                "turn": flow.turn,
                "steps": list(flow.snapshots),
                "points": [np.round(points, 3).tolist() for points in flow.snapshots.values()],
                "image": np.round(flow.image, 3).tolist(),
            }
            for flow in flows
        ],
        "shows": (
            "The flow finds a measure that the rotation leaves alone: orbits of 5 and of 8 around "
            "the origin. Asymmetry is the largest distance of a particle from the rotated cloud "
            "over the radius; what is left of it is the tremor of a flow with a finite step, and "
            "rings that are no orbits and shrink slowly."
        ),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    return {
        "the rotation leaves what was found alone": all(
            row["asymmetry"] < 0.1 for row in result["rows"]
        )
    }


def plot(result: dict[str, Any]) -> Any:
    """A row per flow: six moments, and the last one rotated."""
    from ddeq.viz import drawing

    pictures = result["pictures"]
    figure, axes = drawing.panels(len(pictures), 1 + max(len(p["steps"]) for p in pictures))
    for picture, line in zip(pictures, axes, strict=True):
        clouds = [np.array(points) for points in picture["points"]]
        image = np.array(picture["image"])
        for ax, step, points in zip(line, picture["steps"], clouds, strict=False):
            drawing.scatter(ax, points, drawing.RESULT if step else drawing.FREE, f"step {step}")
        drawing.scatter(line[-1], image, drawing.ROTATED, "last, rotated")
        drawing.frame(line, [*clouds, image])
        line[0].set_ylabel(f"2π/{picture['turn']:g}", fontsize=9, color=drawing.TEXT)
    return figure
