"""A user's own clouds: a folder of files with a sub-folder for each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.data.view import NetworkView
from ddeq.io.files import READABLE, read_cloud

__all__ = ["load_folder"]

_HELD_OUT = 0.2


def load_folder(folder: str | Path, split: str = "train") -> CloudDataset:
    """The clouds in a folder, labelled by sub-folder.

    Three layouts are understood: ``train/<class>/*`` and ``test/<class>/*``;
    ``<class>/train/*`` and ``<class>/test/*``; and ``<class>/*`` alone, of which a fixed random
    fifth is the test set. Files that lie in the folder itself make up one class. Of a mesh the
    vertices are taken. Each cloud is kept as a network would see it: thinned to at most
    :data:`ddeq.data.view.NETWORK_POINTS` points, centred, at unit size.

    Args:
        folder: The folder.
        split: ``"train"``, ``"test"``, or ``"all"`` for both together.

    Raises:
        FileNotFoundError: when there is no such folder or no cloud in it.
        ValueError: naming the file that cannot be read or has another dimension.
    """
    if split not in ("train", "test", "all"):
        raise ValueError(f"split must be 'train', 'test' or 'all', got {split!r}")
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}")
    found = [
        (file, *_place(file.relative_to(folder).parts[:-1], folder.resolve().name))
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in READABLE and not file.name.startswith(".") and file.is_file()
    ]
    classes = tuple(sorted({label for _, label, _ in found}))
    marked = any(part for _, _, part in found)
    wanted = [(f, label) for f, label, part in found if not marked or split in ("all", part)]
    if not wanted:
        raise FileNotFoundError(f"{folder}: no {split} clouds ({', '.join(READABLE)})")
    if not marked and split != "all" and len(wanted) > 1:
        wanted = _share(wanted, split)
    clouds = _read([file for file, _ in wanted])
    labels = [classes.index(label) for _, label in wanted]
    return CloudDataset.from_list(clouds, labels, classes, f"{folder.name}/{split}")


def _place(parts: tuple[str, ...], default: str) -> tuple[str, str]:
    """Class and split (empty if none) of a file from the folders it lies in."""
    split = next((p for p in parts if p in ("train", "test")), "")
    names = [p for p in parts if p not in ("train", "test")]
    return (names[0] if names else default), split


def _share(files: list[tuple[Path, str]], split: str) -> list[tuple[Path, str]]:
    """The training or test part of a folder without marks; the same at every call."""
    order = np.random.default_rng(0).permutation(len(files))
    held_out = max(1, round(_HELD_OUT * len(files)))
    chosen = order[:held_out] if split == "test" else order[held_out:]
    return [files[i] for i in np.sort(chosen)]


def _read(files: list[Path]) -> list[np.ndarray]:
    """The clouds of some files, all of one dimension."""
    clouds: list[np.ndarray] = []
    for file in files:
        points = np.asarray(read_cloud(file).points)
        if clouds and points.shape[1] != clouds[0].shape[1]:
            raise ValueError(
                f"{file}: dimension {points.shape[1]}, but {files[0]} has {clouds[0].shape[1]}"
            )
        clouds.append(NetworkView(points).for_network().points[0].numpy())
    return clouds
