"""Generated shapes: eight classes of furniture and vehicles, 512 points each."""

from __future__ import annotations

from pathlib import Path

from ddeq.data.cache import cached
from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.registry import Entry, register
from ddeq.data.shapes.generator import SIZES, shapes

__all__ = ["load_shapes"]


def load_shapes(root: Path, split: str) -> CloudDataset:
    """The generated shapes, from the cache after the first time; ``root`` is not needed."""
    return cached(f"shapes/{split}", ["shapes", split, SIZES[split]], lambda: shapes(split))


register(
    Entry(
        name="shapes",
        about="generated shapes of the eight classes of modelnet8, 512 points",
        dim=3,
        num_classes=8,
        sizes=dict(SIZES),
        licence="none needed",
        load=load_shapes,
    )
)
