"""What ``ddeq data list``, ``ddeq data info`` and ``ddeq data fetch`` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ddeq.data.cache import data_root
from ddeq.data.dataset import CloudDataset
from ddeq.data.fetch import fetch_mnist
from ddeq.data.sets.modelnet import modelnet_source
from ddeq.data.sets.registry import DATASETS, load

__all__ = ["fetch", "info", "list_data"]


def list_data(root: str | Path | None = None) -> None:
    """Prints a table of the data sets that have a name, and whether each is at hand."""
    folder = data_root(root)
    rows = [("name", "dim", "classes", "train", "test", "at hand", "what")]
    for name, entry in DATASETS.items():
        train, test = (f"{size:,}" for size in entry.sizes)
        there = "yes" if entry.present(folder) else "no"
        counts = (str(entry.dim), str(entry.num_classes), train, test)
        rows.append((name, *counts, there, entry.about))
    _print_table(rows, right=(1, 2, 3, 4))
    print(f"\ndata folder: {folder}")


def info(name: str, root: str | Path | None = None) -> None:
    """Prints sizes, points per cloud and clouds per class of a data set or a folder.

    Raises:
        ValueError: for an unknown name or a damaged file.
        FileNotFoundError: when the files are missing; says what to put where.
    """
    parts = {split: load(name, split, root) for split in ("train", "test")}
    train = parts["train"]
    if name in DATASETS:
        print(f"{name}: {DATASETS[name].about} ({DATASETS[name].licence})")
    print(f"points in {train.dim} dimensions, {len(train.classes)} classes\n")
    rows: list[tuple[str, ...]] = [("split", "clouds", "fewest", "mean", "most points")]
    rows += [_sizes(split, data) for split, data in parts.items()]
    _print_table(rows, right=(1, 2, 3, 4))
    counts = [np.bincount(data.labels, minlength=len(data.classes)) for data in parts.values()]
    print()
    per_class = zip(train.classes, *counts, strict=True)
    _print_table(
        [("class", "train", "test"), *((c, f"{a:,}", f"{b:,}") for c, a, b in per_class)],
        right=(1, 2),
    )


def fetch(name: str, root: str | Path | None = None) -> None:
    """Downloads a data set to the data folder, or says what has to be done by hand.

    Raises:
        ValueError: for an unknown name.
        ConnectionError: when no mirror answers; says what to put where.
        FileNotFoundError: for a set that is not downloaded automatically and is not there.
    """
    if name not in DATASETS:
        raise ValueError(f"no data set {name!r}: choose from {', '.join(DATASETS)}")
    folder = data_root(root)
    if name == "mnist-pc":
        fetch_mnist(folder, report=print)
    elif name.startswith("modelnet"):
        # Princeton asks for academic use, and no checksum is published: a person should decide.
        source = modelnet_source(folder, "train")
        print(f"{name} is in {folder} ({source.kind})")
    else:
        print(f"{name} comes with the package, nothing to fetch")


def _sizes(split: str, data: CloudDataset) -> tuple[str, ...]:
    """Row of the table of sizes."""
    lengths = data.lengths
    spread = (f"{lengths.min():,}", f"{lengths.mean():.1f}", f"{lengths.max():,}")
    return (split, f"{len(data):,}", *spread)


def _print_table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Prints rows in columns, the numbered ones set flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
