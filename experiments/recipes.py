"""The recipes that several experiments share, and thinned clouds for the small ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ddeq.data import CloudDataset
from ddeq.nn import Network
from ddeq.solvers import Anderson, Broyden, Picard, Solver, WassersteinFlow, Weiszfeld
from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["PAPER_HEADS", "SMALL", "from_paper", "small", "solvers", "thinned"]

SMALL = Network(features=32, bilinear=8, head_size=4, cross_layers=1, dropout=0.0, expansion=2)
"""A network that learns something within seconds, for the data in the package."""
PAPER_HEADS = "the paper's, with heads of 32 in place of 4 and without dropout"
"""What :func:`from_paper` has for a network, in words."""


def solvers(steps: int) -> dict[str, Solver]:
    """The paper's, two that move measures too, and three of classical equilibrium models.

    Args:
        steps: Evaluations of the network in each solve; none stops before.
    """
    return {
        "flow": WassersteinFlow(steps, 0.0, step_size=5.0),
        "momentum flow": WassersteinFlow(steps, 0.0, step_size=1.0, momentum=0.8),
        "Weiszfeld": Weiszfeld(steps, 0.0),
        "Picard": Picard(steps, 0.0),
        "Anderson": Anderson(steps, 0.0),
        "Broyden": Broyden(steps, 0.0),
    }


def from_paper(preset: str, solver: Solver, data: str) -> Recipe:
    """A recipe of the paper that is quick enough for a CPU: small batches, a cosine schedule.

    Heads of 32 take a third of the time of heads of 4, and complete as well.

    Args:
        preset: A name that begins with ``paper``.
        solver: In training and at use.
        data: ``mini`` for the small network.
    """
    recipe = replace(
        PRESETS[preset],
        solver=solver,
        train_steps=(solver.max_steps, solver.max_steps),
        batch_size=16,
        schedule="cosine",
        clip=1.0,
    )
    if data == "mini":
        return replace(recipe, network=SMALL, learning_rate=3e-3)
    return replace(recipe, network=replace(recipe.network, head_size=32, dropout=0.0))


def small(recipe: Recipe, fourier: int = 0) -> Recipe:
    """The recipe for the small network and few steps: nothing is averaged or augmented."""
    network = replace(SMALL, fourier=fourier)
    return replace(recipe, network=network, batch_size=16, average=0.0, augment=False, warmup=5)


def thinned(data: CloudDataset, points: int, seed: int = 0) -> CloudDataset:
    """Clouds of at most so many points, drawn at random."""
    rng = np.random.default_rng(seed)
    clouds = [c[np.sort(rng.permutation(len(c))[:points])] for c in data.clouds]
    return CloudDataset.from_list(clouds, data.labels, data.classes, data.name)
