"""``ddeq info``: what is in cloud files, or what sets of weights are."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "info",
        help="describe cloud files or weights",
        description=(
            "Describes cloud files (format, points, extent, attributes), or weights by folder or "
            "shipped name (kind, size, solver, card). Without a name: all weights that are shipped."
        ),
        epilog="Example: ddeq info scan.ply mnist-pc",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="cloud files, folders of them, or weights"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.cli.files import expand, for_each_file
    from ddeq.models.pretrained import CONFIG, SHIPPED

    shipped = sorted(path for path in SHIPPED.glob("*-*") if (path / CONFIG).exists())
    weights = [] if args.names else shipped
    files = []
    for name in args.names:
        named = [path for path in shipped if path.name.split("-", 1)[1] == name]
        named = named or ([Path(name)] if (Path(name) / CONFIG).exists() else [])
        weights += named
        files += [] if named else expand([name])
    for folder in weights:
        _describe_weights(folder)
    return for_each_file(files, _describe_cloud) if files else 0


def _describe_cloud(path: Path) -> list[str]:
    """What is in a file, with a line for each axis."""
    from ddeq.io.files import read_cloud

    cloud = read_cloud(path)
    lines = [f"{path}: {cloud.kind}"]
    low, high, mean = cloud.points.min(0), cloud.points.max(0), cloud.points.mean(0)
    for axis, *values in zip("xyz", low, high, mean, strict=False):
        lines.append(f"  {axis}  from {values[0]:g} to {values[1]:g}, mean {values[2]:g}")
    if cloud.attributes:
        lines.append(f"  with {', '.join(cloud.attributes)}")
    return lines


def _describe_weights(folder: Path) -> None:
    from safetensors import safe_open

    from ddeq.cli.progress import print_line
    from ddeq.models.pretrained import CARD, CONFIG, WEIGHTS

    config = json.loads((folder / CONFIG).read_text())
    with safe_open(folder / WEIGHTS, framework="numpy") as weights:
        shapes = [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
    size = sum(math.prod(shape) for shape in shapes)
    print_line(f"{folder.name}: {config['kind']} of {config['dim']}-D clouds, {size:,} parameters")
    if solver := config.get("solver"):
        parts = solver.get("parts", [solver])
        steps = ", then ".join(
            f"{part['name']}, at most {part['max_steps']} steps" for part in parts
        )
        print_line(f"  solver {steps}; tol {solver['tol']:g}")
    if (folder / CARD).exists():
        print_line(f"  card {folder / CARD}")
