"""``ddeq data``: which data sets there are, what is in them, how to get them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from ddeq.cli.errors import UsageError
from ddeq.cli.progress import print_line
from ddeq.data.cache import data_root
from ddeq.data.dataset import CloudDataset
from ddeq.data.fetch import fetch_mnist
from ddeq.data.sets.registry import DATASETS, embedded, load

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "data",
        help="list, describe or download data sets",
        description="Data sets by name. mnist-mini, scans and shapes come with the package.",
        epilog="Example: ddeq data info mnist-mini",
    )
    parser.add_argument("action", choices=("list", "info", "fetch"))
    parser.add_argument("name", nargs="?", help="a data set's name, or a folder of cloud files")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.action == "list":
        _list(args.data_root)
        return 0
    if args.name is None:
        raise UsageError(f"data {args.action} needs the name of a data set; see ddeq data list")
    (_info if args.action == "info" else _fetch)(args.name, args.data_root)
    return 0


def _list(root: str | None) -> None:
    """Prints a table of the data sets that have a name, and whether each is at hand."""
    folder = data_root(root)
    rows = [("name", "dim", "classes", "train", "test", "at hand", "what")]
    for name, entry in sorted(DATASETS.items()):
        train, test = (f"{entry.sizes[split]:,}" for split in ("train", "test"))
        there = "yes" if entry.present(folder) else "no"
        counts = (str(entry.dim), str(entry.num_classes), train, test)
        rows.append((name, *counts, there, entry.about))
    _print_table(rows, right=(1, 2, 3, 4))
    print()
    print_line(f"data folder: {folder}")


def _info(name: str, root: str | None) -> None:
    """Prints sizes, points per cloud and clouds per class of a data set or a folder.

    Raises:
        DdeqError: for an unknown name or a damaged file.
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


def _fetch(name: str, root: str | None) -> None:
    """Downloads a data set to the data folder, or says what has to be done by hand.

    Raises:
        DdeqError: for an unknown name.
        ConnectionError: when no mirror answers; says what to put where.
        FileNotFoundError: for a set that is not downloaded automatically and is not there.
    """
    if name not in DATASETS:
        raise UsageError(f"no data set {name!r}: choose from {', '.join(sorted(DATASETS))}")
    folder = data_root(root)
    if name == "mnist-pc":
        fetch_mnist(folder, report=print_line)
    elif DATASETS[name].present is embedded:
        print(f"{name} comes with the package, nothing to fetch")
    else:
        # Princeton asks for academic use, and no checksum is published: a person should decide.
        # A set that is not there says what to put where.
        clouds = len(DATASETS[name].load(folder, "train"))
        print_line(f"{name} is in {folder}: {clouds:,} clouds to train on")


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
        print_line("  ".join(cells).rstrip())
