"""One user's cloud completed: what ``ddeq complete`` writes and ``ddeq demo`` shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ddeq.cli.clouds import UserCloud
from ddeq.measures.clouds import PointClouds
from ddeq.measures.metrics import spread
from ddeq.models import Completer
from ddeq.solvers.solution import Solution

__all__ = ["Completion", "complete_cloud"]


@dataclass(frozen=True, eq=False)
class Completion:
    """New points and the way they came, in the units of the cloud.

    Attributes:
        new: The new points, ``(M, d)``.
        frames: The particles after each step, the last ones are ``new``; empty if not asked for.
        residuals: ``MMD^2(z, F(z))`` of each frame.
        spread: Spread of the latent particles of each frame.
        solution: What the solver says of the equilibrium.
    """

    new: np.ndarray
    frames: list[np.ndarray]
    residuals: list[float]
    spread: list[float]
    solution: Solution


def complete_cloud(
    cloud: UserCloud,
    model: Completer,
    *,
    seed: int = 0,
    count: int | None = None,
    most: int = 1024,
    kept: int | None = None,
    watch: bool = False,
) -> Completion:
    """Completes a cloud in any units.

    Args:
        cloud: The partial cloud; or the whole one, if ``kept`` says what is left of it.
        model: A completer of its dimension.
        seed: Of the free particles.
        count: How many new points; by default as many as the model says, up to ``most``.
        most: See ``count``.
        kept: Only the first ``kept`` points are completed. The others are not shown to the network,
            but the frame is that of them all: the place and the size of the whole are known.
        watch: Whether to keep the frames.
    """
    x, way = cloud.for_network().normalize()
    size = len(cloud.file.points)
    if kept is not None:
        if x.points.shape[1] != size or not 0 < kept <= size:
            raise ValueError(f"cannot keep {kept} of {size} points")
        x, size = PointClouds.from_tensor(x.points[:, :kept]), kept
    with torch.no_grad():
        f = model.encode(x)
        counts = torch.tensor([count or min(max(1, round(float(model.shares(f)) * size)), most)])
        z, solution = model.latent(x, seed, counts, save_every=1 if watch else None, f=f)
        # the trajectory ends with the best iterate; z is its image, one step on
        steps = [*solution.trajectory[:-1], z] if watch else []
        frames = [cloud.from_network(way.invert(model.points(step)).points[0]) for step in steps]
        new = cloud.from_network(way.invert(model.points(z)).points[0])
    return Completion(
        new,
        frames,
        [*solution.residuals[:, 0].tolist(), float(solution.residual[0])] if watch else [],
        [float(spread(step)[0]) for step in steps],
        solution,
    )
