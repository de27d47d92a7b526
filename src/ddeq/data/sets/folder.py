"""A user's own clouds: a folder of files with a sub-folder for each class."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.data.view import NetworkView
from ddeq.errors import DdeqError
from ddeq.io.files import READABLE, is_readable, read_cloud

__all__ = ["held_out", "load_folder", "read_clouds"]

T = TypeVar("T")

_HELD_OUT = 0.2


def load_folder(
    folder: str | Path, split: str = "train", surface: int | None = None
) -> CloudDataset:
    """The clouds in a folder, labelled by sub-folder.

    Three layouts are understood: ``train/<class>/*`` and ``test/<class>/*``;
    ``<class>/train/*`` and ``<class>/test/*``; and ``<class>/*`` alone, of which a fixed random
    fifth is the test set. Files that lie in the folder itself make up one class. Each cloud is kept
    as a network would see it: a subsample of at most :data:`ddeq.data.view.NETWORK_POINTS` points,
    centred, at unit size.

    Args:
        folder: The folder.
        split: ``"train"``, ``"test"``, or ``"all"`` for both together.
        surface: So many points are sampled from the surface of a mesh; None takes its vertices.

    Raises:
        FileNotFoundError: when there is no such folder or no cloud in it.
        DdeqError: naming the file that cannot be read or has another dimension.
    """
    if split not in ("train", "test", "all"):
        raise DdeqError(f"split must be 'train', 'test' or 'all', got {split!r}")
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}")
    found = [
        (file, *_place(file.relative_to(folder).parts[:-1], folder.resolve().name))
        for file in sorted(folder.rglob("*"))
        if is_readable(file) and not file.name.startswith(".") and file.is_file()
    ]
    classes = tuple(sorted({label for _, label, _ in found}))
    marked = any(part for _, _, part in found)
    wanted = [(f, label) for f, label, part in found if not marked or split in ("all", part)]
    if not wanted:
        raise FileNotFoundError(f"{folder}: no {split} clouds ({', '.join(READABLE)})")
    if not marked and split != "all" and len(wanted) > 1:
        wanted = held_out(wanted, split)
    clouds = read_clouds([file for file, _ in wanted], surface)
    labels = [classes.index(label) for _, label in wanted]
    return CloudDataset.from_list(clouds, labels, classes, f"{folder.name}/{split}")


def _place(parts: tuple[str, ...], default: str) -> tuple[str, str]:
    """Class and split (empty if none) of a file from the folders it lies in."""
    split = next((p for p in parts if p in ("train", "test")), "")
    names = [p for p in parts if p not in ("train", "test")]
    return (names[0] if names else default), split


def held_out(items: list[T], split: str) -> list[T]:
    """The training or test part of what nobody has divided; the same at every call."""
    order = np.random.default_rng(0).permutation(len(items))
    count = max(1, round(_HELD_OUT * len(items)))
    chosen = order[:count] if split == "test" else order[count:]
    return [items[i] for i in np.sort(chosen)]


def read_clouds(files: list[Path], surface: int | None = None) -> list[np.ndarray]:
    """The clouds of some files, all of one dimension, as a network sees them."""
    clouds: list[np.ndarray] = []
    for file in files:
        points = np.asarray(read_cloud(file, surface_points=surface).points)
        if clouds and points.shape[1] != clouds[0].shape[1]:
            raise DdeqError(
                f"{file}: dimension {points.shape[1]}, but {files[0]} has {clouds[0].shape[1]}"
            )
        clouds.append(NetworkView(points).for_network().points[0].numpy())
    return clouds
