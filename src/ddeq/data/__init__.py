"""Point-cloud data: MNIST-pc, ModelNet40-s, embedded sets, corruptions and batches."""

from ddeq.data.augmentations import (
    affine,
    distort,
    drop,
    even,
    jitter,
    mirror,
    rotate_z,
    scatter,
    stretch,
    subsample,
)
from ddeq.data.batching import (
    AugmentedDataset,
    LengthBuckets,
    PartialBatch,
    PartialDataset,
    PartialItem,
    collate,
    collate_partial,
)
from ddeq.data.corruptions import PARTIAL_RADIUS, add_noise, item_rng, make_partial
from ddeq.data.dataset import CloudDataset, normalize_points
from ddeq.data.sets.registry import DATASETS, load
from ddeq.data.shapes.generator import shape
from ddeq.data.voxels import voxel_downsample

__all__ = [
    "DATASETS",
    "PARTIAL_RADIUS",
    "AugmentedDataset",
    "CloudDataset",
    "LengthBuckets",
    "PartialBatch",
    "PartialDataset",
    "PartialItem",
    "add_noise",
    "affine",
    "collate",
    "collate_partial",
    "distort",
    "drop",
    "even",
    "item_rng",
    "jitter",
    "load",
    "make_partial",
    "mirror",
    "normalize_points",
    "rotate_z",
    "scatter",
    "shape",
    "stretch",
    "subsample",
    "voxel_downsample",
]
