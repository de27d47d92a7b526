"""``ddeq complete``: adds the points that a partial cloud lacks."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ddeq.cli.errors import UsageError, film_path, output_path
from ddeq.errors import DdeqError

if TYPE_CHECKING:
    from ddeq.inference import Completion, Hints
    from ddeq.io.files import CloudFile

__all__ = ["add_parser", "run"]

_MOST = 4_000_000  # new points


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "complete",
        help="add the points a partial cloud lacks",
        description=(
            "Completes partial clouds. Every point of a file is in the result unchanged, in its "
            "own units and order; the new points come after, marked where the format can. They "
            "get the colour, the normal and what else a ply or pcd file says of the point next to "
            "them, and the confidence of the model, from 0 to 1, in the field of that name. They "
            "come at the density of the input; where nothing is missing there are none. Of more "
            "than 1,024 points the network sees 1,024, spread evenly."
        ),
        epilog="Example: ddeq complete scan.ply -o full.ply --show full.png",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="cloud files, or a folder of them")
    parser.add_argument("-o", "--out", required=True, help="file to write; a folder for several")
    parser.add_argument(
        "--points",
        type=int,
        help=f"how many new points, up to {_MOST:,} (default: as many as the model takes to be "
        "missing at the density of the input)",
    )
    parser.add_argument("--only-new", action="store_true", help="write the new points alone")
    parser.add_argument(
        "--surface", type=int, metavar="N", help="of a mesh, N points of its surface, not vertices"
    )
    parser.add_argument("--weights", help="name or folder (default: by the cloud's dimension)")
    parser.add_argument("--show", help="also write a picture: png, svg or pdf (one file only)")
    parser.add_argument("--trajectory", help="also write a film: html, gif or mp4 (one file)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other new points")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    _add_hints(parser)
    parser.set_defaults(run=run)


def _add_hints(parser: argparse.ArgumentParser) -> None:
    """Adds the options for what a user knows."""
    group = parser.add_argument_group("what you know of the scan, in its own units")
    group.add_argument("--up", choices=["z", "y"], default="z", help="the axis that points up")
    group.add_argument("--box", metavar="X,Y,Z,X,Y,Z", help="new points only in this box")
    group.add_argument(
        "--hole", metavar="X,Y,Z,R", help="new points only in this ball, and there for sure"
    )
    group.add_argument(
        "--frame", metavar="X,Y,Z,S", help="centre and size (root mean variance) of the whole"
    )
    group.add_argument(
        "--symmetry",
        action="store_true",
        help="it has a vertical plane of symmetry: take what is missing from the other side",
    )


def _hints(args: argparse.Namespace) -> Hints:
    """The hints of the command line; a box may be given as in ``--box=-1,-1,0,1,1,2``."""
    from ddeq.inference import Hints

    numbers: dict[str, tuple[float, ...]] = {}
    for name in ("box", "hole", "frame"):
        text = getattr(args, name)
        if text is not None:
            try:
                numbers[name] = tuple(float(part) for part in text.split(","))
            except ValueError:
                raise UsageError(f"--{name} takes numbers with commas, got {text!r}") from None
    return Hints(args.up, symmetry=args.symmetry, **numbers)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.cli.files import expand, for_each_file, read_user_cloud
    from ddeq.models import Completer

    files = expand(args.files)
    several = len(files) > 1 or Path(args.files[0]).is_dir()
    _check_options(args, several)
    targets = _targets(files, Path(args.out)) if several else {files[0]: Path(args.out)}
    if args.weights:
        Completer.from_pretrained(args.weights)  # one line if they are no good, not one per file
    if several:
        Path(args.out).mkdir(parents=True, exist_ok=True)

    def complete_one(path: Path) -> list[str]:
        return [_complete_one(read_user_cloud(path, args.surface), targets[path], args)]

    return for_each_file(files, complete_one)


def _check_options(args: argparse.Namespace, several: bool) -> None:
    from ddeq.io.files import is_writable

    if args.points is not None and not 1 <= args.points <= _MOST:
        raise UsageError(f"--points must be 1 to {_MOST}, got {args.points}")
    if several and is_writable(args.out) and not Path(args.out).is_dir():
        raise UsageError(f"{args.out}: several results go to a folder, this is the name of a file")
    if several and (args.show or args.trajectory):
        raise UsageError("--show and --trajectory take one file at a time")
    if args.show:
        output_path(args.show, (".png", ".svg", ".pdf"), args.force)
    if args.trajectory:
        film_path(args.trajectory, args.force)


def _targets(files: list[Path], folder: Path) -> dict[Path, Path]:
    """Where each file's result goes: the same name, as ply where the format cannot be written."""
    from ddeq.io.files import is_writable

    targets = {
        file: folder / (file.name if is_writable(file) else f"{file.stem}.ply") for file in files
    }
    name, count = Counter(target.name for target in targets.values()).most_common(1)[0]
    if count > 1:
        raise UsageError(f"{count} of the files would be written to {folder / name}")
    return targets


def _complete_one(cloud: CloudFile, target: Path, args: argparse.Namespace) -> str:
    """Completes one cloud, writes what was asked for, and says so in a line."""
    from ddeq.inference import complete_cloud, completer_for
    from ddeq.io.files import check_target

    check_target(target, args.force)  # before the work, not after it
    model = completer_for(cloud.points.shape[1], args.weights)
    result = complete_cloud(
        cloud.points,
        model,
        seed=args.seed,
        count=args.points,
        watch=bool(args.trajectory),
        hints=_hints(args),
    )
    if args.only_new and not len(result.new):
        raise DdeqError(f"{cloud.path}: nothing seems to be missing, there are no points to write")
    _write(cloud, result, target, args)
    if args.show:
        _show(args.show, cloud.points, result)
    if args.trajectory:
        _animate(args.trajectory, result, cloud)
    added = f"{len(result.new):,} added" if len(result.new) else "nothing seems to be missing"
    kept = "new points alone" if args.only_new else f"{len(cloud.points):,} points kept"
    line = f"{cloud.path} ({cloud.kind}) -> {target}: {kept}, {added}"
    if result.unlike:
        line += "; this is unlike anything the model was trained on"
        line += ", the new points are guesses" if len(result.new) else ""
    return line


def _write(cloud: CloudFile, result: Completion, target: Path, args: argparse.Namespace) -> None:
    """Writes the cloud and its new points, or these alone, each with its attributes."""
    from ddeq.io.attributes import extend_attributes
    from ddeq.io.files import has_fields, write_cloud

    new, count, rest = result.new, len(cloud.points), dict(cloud.attributes)
    full = np.concatenate([cloud.points, new])
    if result.confidence is not None and has_fields(target):
        given = rest.get("confidence", np.ones(count, dtype=np.float32))
        rest["confidence"] = np.concatenate([given, result.confidence.astype(given.dtype)])
    if args.only_new:
        rest = {name: values[count:] for name, values in extend_attributes(rest, full).items()}
        write_cloud(target, new, attributes=rest, force=args.force)
        return
    write_cloud(target, full, new_from=count, attributes=rest, force=args.force)


def _show(path: str, original: np.ndarray, result: Completion) -> None:
    from ddeq.viz import drawing, pictures

    rows = _some(np.arange(len(result.new)))
    sure = None if result.confidence is None else result.confidence[rows]
    counts = len(original), len(result.new)
    figure = pictures.completion_picture(_some(original), result.new[rows], sure, counts)
    drawing.save(figure, path)


def _animate(path: str, result: Completion, cloud: CloudFile) -> None:
    from ddeq.viz.films import write_film
    from ddeq.viz.turning import Film

    film = Film(_some(cloud.points), result.frames)
    write_film(path, film, f"Completing {cloud.path.name}", result.residuals, result.spread)


def _some(points: np.ndarray, most: int = 20_000) -> np.ndarray:
    """All rows, or so many of them that a picture still shows the cloud, ``(n, ...)``."""
    if len(points) <= most:
        return points
    chosen = np.random.default_rng(0).choice(len(points), most, replace=False)
    return points[np.sort(chosen)]
