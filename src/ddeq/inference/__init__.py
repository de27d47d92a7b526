"""A user's cloud completed or classified: one path for Python, the command line and the demo.

A cloud comes in its own units, precision and size. At most
:data:`ddeq.data.view.NETWORK_POINTS` of its points are shown to the network, in the network's
frame; the new points come back in the cloud's units and precision.

Example:
    >>> rng = np.random.default_rng(0)
    >>> cloud = 5e6 + 20 * rng.normal(size=(300, 2))
    >>> full = complete(cloud)
    >>> bool((full[:300] == cloud).all()), len(full) > 300
    (True, True)
    >>> len(classify(cloud))
    10
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ddeq.data.upsample import upsample_with_sources
from ddeq.data.view import FramedClouds
from ddeq.errors import DdeqError
from ddeq.inference.classification import Classes, Recognition, classify, probabilities, recognise
from ddeq.inference.cloud import check_cloud
from ddeq.inference.familiar import thickness
from ddeq.inference.hints import Hints, mirrored_points
from ddeq.inference.weights import available, classifier_for, completer_for, load, model_for
from ddeq.measures.clouds import PointClouds
from ddeq.models import Completer
from ddeq.models.filling import Filling
from ddeq.solvers.solution import Solution

__all__ = [
    "Classes",
    "Completion",
    "Hints",
    "Recognition",
    "available",
    "check_cloud",
    "classifier_for",
    "classify",
    "complete",
    "complete_cloud",
    "completer_for",
    "load",
    "model_for",
    "probabilities",
    "recognise",
]

Cloud = TypeVar("Cloud", np.ndarray, Tensor)


def complete(
    points: Cloud,
    seed: int = 0,
    count: int | None = None,
    weights: str | os.PathLike[str] | None = None,
    hints: Hints | None = None,
) -> Cloud:
    """Completes a partial cloud in any units: what ``ddeq complete`` writes.

    Args:
        points: ``(N, d)``, an array or a tensor. Integers become float64.
        seed: Of the free particles.
        count: How many new points ``M``; by default as many as the model takes to be missing.
        weights: Name or folder of a completer; by default the one shipped for dimension ``d``.
        hints: What else is known.

    Returns:
        ``(N + M, d)``, of the input's type: the input bit for bit, then the new points.
    """
    cloud = check_cloud(points)
    model = completer_for(cloud.shape[1], weights)
    return append(points, complete_cloud(cloud, model, seed=seed, count=count, hints=hints).new)


def append(points: Cloud, new: np.ndarray) -> Cloud:
    """The points as they are, then the new ones; integers become float64, ``(N + M, d)``."""
    if isinstance(points, Tensor):
        points = points if points.is_floating_point() else points.double()
        return torch.cat([points.detach(), torch.from_numpy(new).to(points)])
    points = np.asarray(points)
    points = points if points.dtype.kind == "f" else points.astype(np.float64)
    return np.concatenate([points, new.astype(points.dtype)])


@dataclass(frozen=True, eq=False)
class Completion:
    """New points and how they came about, in the units of the cloud.

    Attributes:
        new: The new points, ``(M, d)``; those that were solved for come first, then those that
            were filled in between them.
        confidence: How sure each is, ``(M,)`` from 0 to 1; see
            :meth:`ddeq.models.sampling.Sampling.confidence`. None if the model does not tell.
        unlike: Whether the cloud is unlike the training data, so that new points are guesses; None
            if the model does not tell.
        frames: The solved points after each step; empty if not asked for.
        residuals: ``MMD^2(z, F(z))`` of each frame.
        spread: Spread of the latent particles of each frame.
        solution: What the solver says of the equilibrium.
    """

    new: np.ndarray
    confidence: np.ndarray | None
    unlike: bool | None
    frames: list[np.ndarray]
    residuals: list[float]
    spread: list[float]
    solution: Solution


@torch.no_grad()
def complete_cloud(
    cloud: np.ndarray,
    model: Completer,
    *,
    seed: int = 0,
    count: int | None = None,
    size: int | None = None,
    kept: int | None = None,
    watch: bool = False,
    hints: Hints | None = None,
) -> Completion:
    """Completes a cloud in any units.

    Args:
        cloud: The partial cloud, ``(N, d)``; or the whole one, if ``kept`` says what is left of it.
        model: A completer of its dimension.
        seed: Of the free particles.
        count: How many new points; by default as many as the model says.
        size: How many points the cloud has, if ``cloud`` is a subsample of it.
        kept: Only the first ``kept`` points are completed. The others are not shown to the network,
            but the frame is that of them all: the place and the size of the whole are known.
        watch: Whether to keep the frames.
        hints: What else is known.
    """
    hints = Hints() if hints is None else hints
    hints.check(cloud.shape[1])
    seen = hints.upright(cloud)
    mirrored = mirrored_points(seen, seed) if hints.symmetry else seen[:0]
    size = (size or kept or len(cloud)) + len(mirrored)
    framed = _framed(np.concatenate([seen, mirrored]), model, kept, size, hints)
    if count is None:
        count = hints.wanted(cloud, size)
    f = model.encode(framed.x)
    if count is None:
        count = int(model.counts(framed.x, framed.sizes, f))
    f = hints.restrict(f, framed)
    found = model.fill(framed.x, framed.sizes.new_tensor([count]), seed, watch, f)[0]
    inside = hints.inside(hints.back(framed.invert([found.points])[0]))
    found = found.rows(torch.from_numpy(np.flatnonzero(inside)))
    coarse = hints.back(framed.invert([found.points])[0])
    new, sources = upsample_with_sources(coarse, count if len(coarse) else 0, seed)
    confidence = _confidence(found, model, sources)
    limit = model.sampling.unfamiliar
    unlike = None if limit is None else thickness(framed.views[0].subsample) > limit
    if len(mirrored):
        new = np.concatenate([hints.back(mirrored), new])
        if confidence is not None:
            confidence = np.concatenate([np.ones(len(mirrored)), confidence])
    frames = [hints.back(framed.invert([frame])[0]) for frame in found.frames]
    how = found.residuals, found.spread, found.solution
    return Completion(new, confidence, unlike, frames, *how)


def _framed(
    cloud: np.ndarray, model: Completer, kept: int | None, size: int, hints: Hints
) -> FramedClouds:
    """The cloud in the network's frame."""
    framed = FramedClouds.of([cloud], next(model.parameters()), model.proportions)
    if kept is not None:
        if framed.x.points.shape[1] != len(cloud) or not 0 < kept <= len(cloud):
            raise DdeqError(f"cannot keep {kept} of {len(cloud)} points")
        framed = replace(framed, x=PointClouds.from_tensor(framed.x.points[:, :kept]))
    return hints.framed(replace(framed, sizes=framed.sizes.new_tensor([size])))


def _confidence(found: Filling, model: Completer, sources: np.ndarray) -> np.ndarray | None:
    """Confidence of all new points, ``(M,)``, those in between having that of their source."""
    if found.distances is None:
        return None
    return model.sampling.confidence(found.distances.double()).cpu().numpy()[sources]
