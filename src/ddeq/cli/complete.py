"""``ddeq complete``: adds the points that a partial cloud lacks."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ddeq.cli.errors import UsageError, output_path, written_whole

if TYPE_CHECKING:
    from ddeq.cli.clouds import UserCloud
    from ddeq.cli.completion import Completion

__all__ = ["add_parser", "run"]

_MOST_BY_DEFAULT, _MOST = 1024, 4096  # new points; time and memory grow with their square


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "complete",
        help="add the points a partial cloud lacks",
        description=(
            "Completes partial clouds. Every point of a file is in the result unchanged, in its "
            "own units and order; the new points come after, marked where the format can. Of "
            "more than 1,024 points the network sees 1,024, spread evenly."
        ),
        epilog="Example: ddeq complete scan.ply -o full.ply --show full.png",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="cloud files, or a folder of them")
    parser.add_argument("-o", "--out", required=True, help="file to write; a folder for several")
    parser.add_argument(
        "--points",
        type=int,
        help=f"how many new points, up to {_MOST} (default: as many as the model takes to be "
        f"missing, up to {_MOST_BY_DEFAULT})",
    )
    parser.add_argument(
        "--surface", type=int, metavar="N", help="of a mesh, N points of its surface, not vertices"
    )
    parser.add_argument("--weights", help="name or folder (default: by the cloud's dimension)")
    parser.add_argument("--show", help="also write a picture: png, svg or pdf (one file only)")
    parser.add_argument("--trajectory", help="also write an HTML animation (one file only)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other new points")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.cli.clouds import expand, for_each_file
    from ddeq.models import Completer

    files = expand(args.files)
    several = len(files) > 1 or Path(args.files[0]).is_dir()
    _check_options(args, several)
    targets = _targets(files, Path(args.out)) if several else {files[0]: Path(args.out)}
    if args.weights:
        Completer.from_pretrained(args.weights)  # one line if they are no good, not one a file
    if several:
        Path(args.out).mkdir(parents=True, exist_ok=True)
    return for_each_file(
        files, lambda cloud: _complete_one(cloud, targets[cloud.file.path], args), args.surface
    )


def _check_options(args: argparse.Namespace, several: bool) -> None:
    if args.points is not None and not 1 <= args.points <= _MOST:
        raise UsageError(f"--points must be 1 to {_MOST}, got {args.points}")
    if several and (args.show or args.trajectory):
        raise UsageError("--show and --trajectory take one file at a time")
    if args.show:
        output_path(args.show, (".png", ".svg", ".pdf"), args.force)
    if args.trajectory:
        output_path(args.trajectory, (".html",), args.force)


def _targets(files: list[Path], folder: Path) -> dict[Path, Path]:
    """Where each file's result goes: the same name, as ply where the format cannot be written."""
    from ddeq.io.files import WRITABLE

    targets = {
        file: folder / (file.name if file.suffix.lower() in WRITABLE else f"{file.stem}.ply")
        for file in files
    }
    name, count = Counter(target.name for target in targets.values()).most_common(1)[0]
    if count > 1:
        raise UsageError(f"{count} of the files would be written to {folder / name}")
    return targets


def _complete_one(cloud: UserCloud, target: Path, args: argparse.Namespace) -> str:
    """Completes one cloud, writes what was asked for, and says so in a line."""
    from ddeq.cli.completion import complete_cloud
    from ddeq.cli.weights import completer_for
    from ddeq.io.files import check_target, write_cloud

    check_target(target, args.force)  # before the work, not after it
    original = cloud.file.points
    model = completer_for(cloud.dim, args.weights)
    result = complete_cloud(
        cloud,
        model,
        seed=args.seed,
        count=args.points,
        most=_MOST_BY_DEFAULT,
        watch=bool(args.trajectory),
    )
    new = result.new
    write_cloud(target, np.concatenate([original, new]), new_from=len(original), force=args.force)
    if args.show:
        _show(args.show, original, new)
    if args.trajectory:
        _animate(args.trajectory, result, cloud)
    kept = f"{len(original):,} points kept, {len(new):,} added"
    return f"{cloud.file.path} ({cloud.file.kind}) -> {target}: {kept}"


def _show(path: str, original: np.ndarray, new: np.ndarray) -> None:
    from ddeq.viz import plots

    figure = plots.completion_picture(_some(original), new)
    written_whole(path, lambda draft: plots.save(figure, draft))


def _animate(path: str, result: Completion, cloud: UserCloud) -> None:
    from ddeq.viz.animation import write_animation

    written_whole(
        path,
        lambda draft: write_animation(
            draft,
            result.frames,
            fixed=_some(cloud.file.points),
            residuals=result.residuals,
            spread=result.spread,
            title=f"Completing {cloud.file.path.name}",
        ),
    )


def _some(points: np.ndarray, most: int = 20_000) -> np.ndarray:
    """All points, or so many of them that a picture still shows the cloud, ``(n, d)``."""
    if len(points) <= most:
        return points
    chosen = np.random.default_rng(0).choice(len(points), most, replace=False)
    return points[np.sort(chosen)]
