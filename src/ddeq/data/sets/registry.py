"""The data sets by name: what an entry holds, how one is registered, how one is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ddeq.data.cache import data_root
from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.folder import load_folder
from ddeq.data.sets.table import load_table
from ddeq.errors import DdeqError

__all__ = ["DATASETS", "Entry", "embedded", "load", "register"]


def embedded(root: Path) -> bool:
    """``present`` of a set that comes with the package."""
    return True


@dataclass(frozen=True)
class Entry:
    """What is known of a data set before it is loaded.

    Attributes:
        name: What it is called.
        about: One line.
        dim: Dimension of the points.
        num_classes: Number of classes.
        sizes: Clouds of each split, by name; ``train`` and ``test`` are always there.
        licence: Under what terms it may be used.
        load: ``(root, split) -> CloudDataset``.
        present: ``root -> bool``: whether it can be loaded from that folder.
    """

    name: str
    about: str
    dim: int
    num_classes: int
    sizes: dict[str, int]
    licence: str
    load: Callable[[Path, str], CloudDataset]
    present: Callable[[Path], bool] = embedded


DATASETS: dict[str, Entry] = {}
"""All data sets that have a name."""


def register(entry: Entry) -> None:
    """Gives a data set its name; one that is registered again replaces the former.

    A module of :mod:`ddeq.data.sets` that calls this is all that a new data set takes. Code
    outside the package calls it before the name is used.
    """
    missing = [split for split in ("train", "test") if split not in entry.sizes]
    if missing:
        raise DdeqError(f"{entry.name}: a data set needs a size for {missing[0]!r}")
    DATASETS[entry.name] = entry


def load(
    name: str | os.PathLike[str],
    split: str,
    root: str | Path | None = None,
    surface: int | None = None,
) -> CloudDataset:
    """A data set by name, or from a user's cloud files.

    Args:
        name: A name in :data:`DATASETS`, or the path of a folder with a sub-folder for each class
            (see :func:`ddeq.data.sets.folder.load_folder`), or of a CSV file that lists clouds
            (see :func:`ddeq.data.sets.table.load_table`).
        split: ``"train"`` or ``"test"``; for a set that has one, ``"validation"``.
        root: The folder with the downloaded sets; if not given ``$DDEQ_DATA``, else the folder
            that ``ddeq data fetch`` fills.
        surface: Of a user's meshes: points to sample from the surface, instead of the vertices.

    Raises:
        DdeqError: for an unknown name or split, or a damaged file.
        FileNotFoundError: when the files are missing; says what to put where.

    Example:
        >>> data = load("mnist-mini", "test")
        >>> len(data), data.dim, len(data.classes)
        (1000, 2, 10)
    """
    if isinstance(name, str) and name in DATASETS:
        entry = DATASETS[name]
        if split not in entry.sizes:
            raise DdeqError(f"{name}: split must be one of {list(entry.sizes)}, got {split!r}")
        return entry.load(data_root(root), split)
    path = Path(name).expanduser()
    if path.is_dir():
        return load_folder(path, split, surface)
    if path.suffix.lower() == ".csv" and path.is_file():
        return load_table(path, split, surface)
    names = ", ".join(sorted(DATASETS))
    raise DdeqError(f"no data set or folder {str(name)!r}: choose from {names}, or name a folder")
