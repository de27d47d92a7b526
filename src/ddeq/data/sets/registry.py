"""The data sets by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ddeq.data.cache import cached, data_root
from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.folder import load_folder
from ddeq.data.sets.mini import load_mini
from ddeq.data.sets.mnist import load_mnist, mnist_present
from ddeq.data.sets.modelnet import EIGHT, load_modelnet, modelnet_source
from ddeq.data.shapes.generator import SIZES, shapes

__all__ = ["DATASETS", "Entry", "load"]


@dataclass(frozen=True)
class Entry:
    """What is known of a data set before it is loaded.

    Attributes:
        about: One line.
        dim: Dimension of the points.
        num_classes: Number of classes.
        sizes: Clouds for training and for testing.
        licence: Under what terms it may be used.
        load: ``(root, split) -> CloudDataset``.
        present: ``root -> bool``: whether it can be loaded from that folder.
    """

    about: str
    dim: int
    num_classes: int
    sizes: tuple[int, int]
    licence: str
    load: Callable[[Path, str], CloudDataset]
    present: Callable[[Path], bool]


def load(name: str | os.PathLike[str], split: str, root: str | Path | None = None) -> CloudDataset:
    """A data set by name, or from a folder of cloud files.

    Args:
        name: A name in :data:`DATASETS`, or the path of a folder with a sub-folder for each class
            (see :func:`ddeq.data.sets.folder.load_folder`).
        split: ``"train"`` or ``"test"``.
        root: The folder with the downloaded sets; if not given ``$DDEQ_DATA``, else the folder
            that ``ddeq data fetch`` fills.

    Raises:
        ValueError: for an unknown name or split, or a damaged file.
        FileNotFoundError: when the files are missing; says what to put where.

    Example:
        >>> data = load("mnist-mini", "test")
        >>> len(data), data.dim, len(data.classes)
        (1000, 2, 10)
    """
    if isinstance(name, str) and name in DATASETS:
        if split not in ("train", "test"):
            raise ValueError(f"split must be 'train' or 'test', got {split!r}")
        return DATASETS[name].load(data_root(root), split)
    path = Path(name).expanduser()
    if path.is_dir():
        return load_folder(path, split)
    raise ValueError(
        f"no data set or folder {str(name)!r}: choose from {', '.join(DATASETS)}, or name a folder"
    )


def _modelnet8(root: Path, split: str) -> CloudDataset:
    return load_modelnet(root, split).only(EIGHT, f"modelnet8/{split}")


def _shapes(root: Path, split: str) -> CloudDataset:
    return cached(f"shapes/{split}", ["shapes", split, SIZES[split]], lambda: shapes(split))


def _modelnet_present(root: Path) -> bool:
    try:
        return all(modelnet_source(root, split) is not None for split in ("train", "test"))
    except FileNotFoundError:
        return False


def _always(root: Path) -> bool:
    return True


DATASETS: dict[str, Entry] = {
    "mnist-mini": Entry(
        about="handwritten digits, a subset that comes with the package",
        dim=2,
        num_classes=10,
        sizes=(6000, 1000),
        licence="CC BY-SA 3.0",
        load=lambda root, split: load_mini(split),
        present=_always,
    ),
    "mnist-pc": Entry(
        about="handwritten digits, one point per non-zero pixel",
        dim=2,
        num_classes=10,
        sizes=(60000, 10000),
        licence="CC BY-SA 3.0",
        load=load_mnist,
        present=mnist_present,
    ),
    "modelnet40": Entry(
        about="shapes of 40 classes, at most 800 points (ModelNet40-s)",
        dim=3,
        num_classes=40,
        sizes=(9843, 2468),
        licence="academic use",
        load=load_modelnet,
        present=_modelnet_present,
    ),
    "modelnet8": Entry(
        about="the eight classes of ModelNet40-s used for completion",
        dim=3,
        num_classes=8,
        sizes=(2868, 590),
        licence="academic use",
        load=_modelnet8,
        present=_modelnet_present,
    ),
    "shapes": Entry(
        about="generated shapes of the same eight classes, 512 points",
        dim=3,
        num_classes=8,
        sizes=(SIZES["train"], SIZES["test"]),
        licence="none needed",
        load=_shapes,
        present=_always,
    ),
}
"""All data sets that have a name."""
