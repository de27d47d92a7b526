"""``ddeq info``: what is in a cloud file, or what a set of weights is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "info",
        help="describe a cloud file or weights",
        description=(
            "Describes a cloud file (format, points, extent), or weights by folder or shipped "
            "name (kind, size, solver, card). Without a name: all weights that are shipped."
        ),
        epilog="Example: ddeq info scan.ply",
    )
    parser.add_argument("name", nargs="?", help="a cloud file, a folder of weights, or their name")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from ddeq.models.pretrained import CONFIG, SHIPPED

    folders = sorted(path for path in SHIPPED.glob("*-*") if (path / CONFIG).exists())
    if args.name is not None:
        named = [path for path in folders if path.name.split("-", 1)[1] == args.name]
        folder = Path(args.name)
        folders = named or ([folder] if (folder / CONFIG).exists() else [])
    if not folders:
        _describe_cloud(args.name)
        return 0
    for folder in folders:
        _describe_weights(folder)
    return 0


def _describe_cloud(name: str) -> None:
    from ddeq.io.files import read_cloud

    cloud = read_cloud(name)
    print(f"{name}: {cloud.kind}")
    low, high, mean = cloud.points.min(0), cloud.points.max(0), cloud.points.mean(0)
    for axis, *values in zip("xyz", low, high, mean, strict=False):
        print(f"  {axis}  from {values[0]:g} to {values[1]:g}, mean {values[2]:g}")


def _describe_weights(folder: Path) -> None:
    from safetensors import safe_open

    from ddeq.models.pretrained import CARD, CONFIG, WEIGHTS

    config = json.loads((folder / CONFIG).read_text())
    with safe_open(folder / WEIGHTS, framework="numpy") as weights:
        shapes = [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
    size = sum(_product(shape) for shape in shapes)
    print(f"{folder.name}: {config['kind']} of {config['dim']}-D clouds, {size:,} parameters")
    if solver := config.get("solver"):
        most, tol = solver["max_steps"], solver["tol"]
        print(f"  solver {solver['name']}, at most {most} steps, tol {tol:g}")
    if (folder / CARD).exists():
        print(f"  card {folder / CARD}")


def _product(shape: list[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
