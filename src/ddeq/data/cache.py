"""Folders of the data, and a cache of prepared data sets."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.io.atomic import atomic_path

__all__ = ["cache_dir", "cached", "data_root", "fingerprint"]

_VERSION = 1  # of the layout of cached files and of how clouds are prepared


def cache_dir() -> Path:
    """The cache folder: ``$DDEQ_CACHE``, or ``ddeq`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    named = os.environ.get("DDEQ_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "ddeq"


def data_root(root: str | Path | None = None) -> Path:
    """The data folder: ``root`` if given, else ``$DDEQ_DATA``, else ``data`` in the cache."""
    named = root or os.environ.get("DDEQ_DATA")
    return Path(named).expanduser() if named else cache_dir() / "data"


def fingerprint(files: Sequence[Path]) -> list[tuple[str, int, int]]:
    """Path, size and time of change of each file: what a cached result depends on."""
    stats = [(str(file.resolve()), file.stat()) for file in files]
    return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


def cached(name: str, key: object, build: Callable[[], CloudDataset]) -> CloudDataset:
    """The data set built by ``build``, from the cache if it was built before.

    Args:
        name: Name of the set; the start of the name of the file.
        key: Everything the result depends on, as values that JSON can write.
        build: Makes the set when the cache does not hold it or its file is damaged.
    """
    digest = hashlib.sha256(json.dumps([_VERSION, key]).encode()).hexdigest()[:24]
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
    path = cache_dir() / "prepared" / f"{safe}-{digest}.npz"
    stored = _read(path, name)
    if stored is not None:
        return stored
    data = build()
    try:
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez(
                file,
                points=data.points,
                lengths=data.lengths,
                labels=data.labels,
                classes=np.array(data.classes),
            )
    except OSError as error:
        warnings.warn(f"{name} was not cached: {error}", stacklevel=2)
    return data


def _read(path: Path, name: str) -> CloudDataset | None:
    """The data set in a cached file, or None where there is none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return CloudDataset.from_flat(
                file["points"],
                file["lengths"],
                file["labels"],
                [str(c) for c in file["classes"]],
                name,
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
