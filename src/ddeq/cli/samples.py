"""``ddeq samples``: files to try the other commands on."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_parser", "run"]

_SETS = {"digit.ply": ("mnist-mini", "a digit"), "scan.ply": ("scans", "a scanned object")}
_FIRST = {"mnist-mini": 7, "scans": 130}  # with seed 0: a four and a flower pot


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "samples",
        help="write cloud files to try the other commands on",
        description=(
            "Writes two partial clouds of the sets that come with the package: digit.ply, a "
            "handwritten digit, and scan.ply, a scanned object in metres. Parts of both are cut "
            "out; no model was trained on them."
        ),
        epilog="Example: ddeq samples; ddeq classify digit.ply; ddeq complete scan.ply -o full.ply",
    )
    parser.add_argument("folder", nargs="?", default=".", help="where to (default: this folder)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other clouds")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    import numpy as np
    import torch

    from ddeq.cli.errors import UsageError, output_path
    from ddeq.cli.progress import print_line
    from ddeq.data import load
    from ddeq.data.cuts import cut_balls
    from ddeq.io.files import write_cloud

    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, got {args.seed}")
    folder = Path(args.folder)
    paths = [output_path(str(folder / name), (".ply",), args.force) for name in _SETS]
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        name, about = _SETS[path.name]
        data, rng = load(name, "test"), np.random.default_rng(args.seed)
        index = _FIRST[name] if args.seed == 0 else int(rng.integers(len(data)))
        kept, removed = cut_balls(torch.as_tensor(data.raw(index)), rng)
        write_cloud(path, kept.numpy(), force=args.force)
        print_line(f"{path}: {about}, {len(kept):,} points, {len(removed):,} cut out")
    return 0
