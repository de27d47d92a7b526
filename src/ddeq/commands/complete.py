"""``ddeq complete``: adds the points that a partial cloud lacks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddeq.commands.errors import UsageError, output_path

if TYPE_CHECKING:
    from ddeq.commands.completion import Completion

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "complete",
        help="add the points a partial cloud lacks",
        description=(
            "Completes partial clouds. Every point of a file is in the result unchanged, in its "
            "own units and order; the new points come after, marked where the format can."
        ),
        epilog="Example: ddeq complete scan.ply -o full.ply --show full.png",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="cloud files, or a folder of them")
    parser.add_argument("-o", "--out", required=True, help="file to write; a folder for several")
    parser.add_argument("--points", type=int, help="how many new points (default: 27.5 %%)")
    parser.add_argument("--weights", help="name or folder (default: by the cloud's dimension)")
    parser.add_argument("--show", help="also write a picture: png, svg or pdf (one file only)")
    parser.add_argument("--trajectory", help="also write an HTML animation (one file only)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.commands.clouds import each_file, expand
    from ddeq.data.files import CloudFileError

    files = expand(args.files)
    several = len(files) > 1 or Path(args.files[0]).is_dir()
    _check_options(args, several)
    done = failed = 0
    for path, cloud, error in each_file(args.files):
        try:
            if cloud is None:
                raise CloudFileError(error)
            target = Path(args.out) / path.name if several else Path(args.out)
            print(_complete_one(cloud, target, args))
            done += 1
        except ValueError as problem:
            failed += 1
            print(f"ddeq: {' '.join(str(problem).split())}", file=sys.stderr)
    return (1 if done else 2) if failed else 0


def _check_options(args: argparse.Namespace, several: bool) -> None:
    if args.points is not None and args.points < 1:
        raise UsageError(f"--points must be at least 1, got {args.points}")
    if several and (args.show or args.trajectory):
        raise UsageError("--show and --trajectory take one file at a time")
    if several:
        Path(args.out).mkdir(parents=True, exist_ok=True)
    if args.show:
        output_path(args.show, (".png", ".svg", ".pdf"), args.force)
    if args.trajectory:
        output_path(args.trajectory, (".html",), args.force)


def _complete_one(cloud: Any, target: Path, args: argparse.Namespace) -> str:
    """Completes one cloud, writes what was asked for, and says so in a line."""
    from ddeq.commands.completion import complete_cloud
    from ddeq.commands.weights import completer_for
    from ddeq.data.files import write_cloud

    original = cloud.file.points
    model = completer_for(cloud.dim, args.weights)
    result = complete_cloud(
        cloud, model, seed=args.seed, count=args.points, watch=bool(args.trajectory)
    )
    new = result.new
    write_cloud(target, np.concatenate([original, new]), new_from=len(original), force=args.force)
    if args.show:
        _show(args.show, original, new)
    if args.trajectory:
        _animate(args.trajectory, result, original, cloud.file.path.name)
    return f"{cloud.file.path} -> {target}: {len(original)} points kept, {len(new)} added"


def _show(path: str, original: np.ndarray, new: np.ndarray) -> None:
    from ddeq import plots

    figure = plots.completion_picture(original, new)
    plots.save(figure, path)


def _animate(path: str, result: Completion, fixed: np.ndarray, name: str) -> None:
    from ddeq.animation import write_animation

    write_animation(
        path,
        result.frames,
        fixed=fixed,
        residuals=result.residuals,
        spread=result.spread,
        title=f"Completing {name}",
    )
