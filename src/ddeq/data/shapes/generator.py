"""Generated 3-D shapes of the paper's eight completion classes, with z up.

Each class is a recipe with random proportions, put together from lofts and sampled evenly over its
surface. The shapes need no download and have any number of points: a stand-in for ModelNet40 in
examples, demonstrations and tests, and a source of endless training data.
"""

from __future__ import annotations

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.data.shapes.builders import RECIPES
from ddeq.data.voxels import voxel_downsample
from ddeq.errors import DdeqError
from ddeq.io.formats.surface import sample

__all__ = ["CLASSES", "SIZES", "shape", "shapes"]

CLASSES = tuple(RECIPES)
"""The eight classes that can be generated."""

_OVERSAMPLING = 4
SIZES = {"train": 4800, "test": 400}
"""Shapes of each split, unless another number is asked for."""


def shape(class_name: str, n_points: int, rng: np.random.Generator) -> np.ndarray:
    """A new shape of a class.

    The surface is sampled by area, ``4 n`` points, and thinned on a voxel grid, so that the points
    are about evenly spread; the few that the grid leaves short are drawn from the samples.

    Args:
        class_name: One of :data:`CLASSES`.
        n_points: How many points, at least 1.
        rng: Source of the proportions and the samples.

    Returns:
        ``(n_points, 3)`` float32, about 1 in size, not normalised.

    Example:
        >>> shape("vase", 300, np.random.default_rng(0)).shape
        (300, 3)
    """
    if class_name not in RECIPES:
        raise DdeqError(f"no shape {class_name!r}: choose from {', '.join(CLASSES)}")
    if n_points < 1:
        raise DdeqError(f"n_points must be at least 1, got {n_points}")
    mesh = RECIPES[class_name](rng)
    samples = sample(*mesh, _OVERSAMPLING * n_points, seed=int(rng.integers(2**32)))
    even = voxel_downsample(samples, n_points)
    extra = samples[rng.choice(len(samples), n_points - len(even), replace=False)]
    return np.concatenate([even, extra]).astype(np.float32)


def shapes(
    split: str = "train", size: int | None = None, seed: int = 0, n_points: int = 512
) -> CloudDataset:
    """A data set of generated shapes, the classes in turn.

    Args:
        split: ``"train"`` or ``"test"``: two different streams of shapes.
        size: Number of shapes; 4,800 or 400 if not given.
        seed: With the split and its index it determines a shape: a larger set begins with the
            shapes of a smaller one.
        n_points: Points of each shape.
    """
    if split not in SIZES:
        raise DdeqError(f"split must be 'train' or 'test', got {split!r}")
    count = SIZES[split] if size is None else size
    labels = np.arange(count) % len(CLASSES)
    stream = list(SIZES).index(split) + 1
    clouds = [
        shape(CLASSES[label], n_points, np.random.default_rng([seed, stream, index + 1]))
        for index, label in enumerate(labels)
    ]
    return CloudDataset.from_list(clouds, labels, CLASSES, f"shapes/{split}")
