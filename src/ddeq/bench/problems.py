"""The tasks that are timed: real batches, and models of the paper's sizes on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ddeq.adjoints import PhantomGradient
from ddeq.data import (
    PARTIAL_RADIUS,
    CloudDataset,
    LengthBuckets,
    PartialDataset,
    load,
    normalize_points,
    shape,
    voxel_downsample,
)
from ddeq.data.cache import data_root
from ddeq.data.sets.modelnet import modelnet_source
from ddeq.data.sets.registry import DATASETS
from ddeq.data.shapes.generator import CLASSES
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.models import Classifier, Completer
from ddeq.models.base import gaussian_particles
from ddeq.training.presets import PRESETS

__all__ = ["Problem", "Samples", "digits", "partial_digits", "problem", "solids", "training_step"]

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """Two batches of a task, as arrays that can be sent to another process.

    Attributes:
        task: What is done with them.
        source: The data set.
        clouds: What the library is given: clouds of similar length, as its loader makes batches.
        plain: What the reference is given: clouds drawn at random, padded to the longest.
        targets: For completion, the whole clouds of ``clouds`` and of ``plain``.
        classes: For classification, how many.
        layers: Layers of the cross-encoder in the paper.
        epoch: Clouds in an epoch.
        recipe: Name of our own recipe for the task.
    """

    task: str
    source: str
    clouds: Arrays
    plain: Arrays
    targets: tuple[Arrays, Arrays] | None
    classes: int
    layers: int
    epoch: int
    recipe: str

    def reference(self, size: int) -> Samples:
        """The first ``size`` of the reference's clouds, in place of the library's."""
        targets = None if self.targets is None else (self.targets[1][:size], self.targets[1][:size])
        return replace(self, clouds=self.plain[:size], plain=self.plain[:size], targets=targets)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model with a batch: everything a solver or a training step needs."""

    model: Classifier | Completer
    x: PointClouds
    z0: PointClouds
    fixed: PointClouds | None
    loss: Callable[[PointClouds], Tensor]


def digits(batch: int, seed: int, root: str | None) -> Samples:
    """(a) MNIST-pc classification, or the embedded digits."""
    data = digit_set("train", root)
    plain, bucket = draw(data.lengths, batch, seed)
    clouds, other = (tuple(data[i][0].numpy() for i in part) for part in (bucket, plain))
    task, recipe = "(a) digits, classification", "mnist-classification"
    return Samples(task, data.name, clouds, other, None, 10, 1, len(data), recipe)


def partial_digits(batch: int, seed: int, root: str | None) -> Samples:
    """(b) MNIST-pc-partial completion, or that of the embedded digits."""
    data = digit_set("train", root)
    tasks = PartialDataset(data, PARTIAL_RADIUS[2], seed=seed)
    plain, bucket = draw(data.lengths, batch, seed)
    ours, theirs = ([tasks[i] for i in part] for part in (bucket, plain))
    clouds, other = (tuple(item.partial.numpy() for item in part) for part in (ours, theirs))
    whole = tuple(tuple(item.target.numpy() for item in part) for part in (ours, theirs))
    return Samples(
        "(b) partial digits, completion",
        data.name,
        clouds,
        other,
        (whole[0], whole[1]),
        0,
        3,
        len(data),
        "mnist-completion",
    )


def solids(batch: int, points: int, seed: int, root: str | None) -> Samples:
    """(c) ModelNet40-s classification, or generated shapes of as many points."""
    try:
        clouds, labels, _ = modelnet_source(data_root(root), "train", points).read()
        source, epoch = "modelnet40/train", len(labels)
        chosen = [voxel_downsample(cloud, points) for cloud in islice(clouds, batch)]
    except FileNotFoundError:
        source, epoch = f"generated shapes of {points} points", 9843
        rng = np.random.default_rng(seed)
        chosen = [shape(CLASSES[i % len(CLASSES)], points, rng) for i in range(batch)]
    ready = tuple(normalize_points(cloud) for cloud in chosen)
    task, recipe = f"(c) {points} points, classification", "modelnet40-classification"
    return Samples(task, source, ready, ready, None, 40, 3, epoch, recipe)


@lru_cache(maxsize=4)
def digit_set(split: str, root: str | None) -> CloudDataset:
    """MNIST-pc if it is there, else the digits that come with the package."""
    present = DATASETS["mnist-pc"].present(Path(data_root(root)))
    return load("mnist-pc" if present else "mnist-mini", split, root)


def draw(lengths: np.ndarray, batch: int, seed: int) -> tuple[list[int], list[int]]:
    """A random batch, and of all batches bucketed by length one of typical cost.

    Typical is the one whose padded length is nearest to the root mean square over the epoch: the
    cost of a batch grows faster than its length, but no faster than its square.
    """
    buckets = list(LengthBuckets(lengths, batch, seed, window=10, drop_last=True))
    padded = np.array([lengths[bucket].max() for bucket in buckets], dtype=float)
    typical = np.abs(padded - np.sqrt(np.square(padded).mean())).argmin()
    plain = np.random.default_rng(seed).permutation(len(lengths))[:batch]
    return plain.tolist(), buckets[int(typical)]


def problem(samples: Samples, head_size: int, seed: int) -> Problem:
    """The paper's network with fresh weights on the clouds of ``samples``."""
    torch.manual_seed(seed)
    x = _clouds(samples.clouds)
    if samples.targets is None:
        return _classification(samples, x, head_size, seed)
    model = Completer(x.dim, cross_layers=samples.layers, head_size=head_size, dropout=0.0)
    model.adjoint = _adjoint(samples)
    target = _clouds(samples.targets[0])
    counts = (model.ratio * x.lengths).round().long()
    noise = gaussian_particles(counts, x.dim, seed, x.points)
    with torch.no_grad():
        fixed, z0 = x.map(model.coupling.lift), noise.map(model.coupling.lift)
    return Problem(model, x, z0, fixed, lambda z: mmd2(x.cat(model.points(z)), target).mean())


def training_step(case: Problem, seed: int) -> int:
    """Solve, loss and gradient, without the optimiser's update; gives the solve's evaluations."""
    case.model.zero_grad(set_to_none=True)
    z, solution = case.model.latent(case.x, seed)
    case.loss(z).backward()
    return int(solution.steps.max())


def _classification(samples: Samples, x: PointClouds, head_size: int, seed: int) -> Problem:
    model = Classifier(
        x.dim, samples.classes, cross_layers=samples.layers, head_size=head_size, dropout=0.0
    )
    model.adjoint = _adjoint(samples)
    lengths = torch.full((len(x),), model.particles)
    z0 = gaussian_particles(lengths, model.network.features, seed, x.points)
    labels = torch.arange(len(x)) % samples.classes
    return Problem(
        model,
        x,
        z0,
        None,
        lambda z: torch.nn.functional.cross_entropy(model.logits(z), labels),
    )


def _adjoint(samples: Samples) -> PhantomGradient:
    """A gradient through as many applications of the network as our own training has."""
    return PhantomGradient(PRESETS[samples.recipe].applications)


def _clouds(arrays: Sequence[np.ndarray]) -> PointClouds:
    return PointClouds.from_list([torch.from_numpy(array) for array in arrays])
