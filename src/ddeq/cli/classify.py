"""``ddeq classify``: the class of each cloud file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddeq.cli.errors import UsageError

if TYPE_CHECKING:
    from ddeq.io.files import CloudFile

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "classify",
        help="say what a cloud shows",
        description="Classes of cloud files with their probabilities, the most likely first. The "
        "probabilities are calibrated, and a cloud that is unlike the training data is marked, "
        "where the weights come with what that takes.",
        epilog="Example: ddeq classify digit.ply other.csv --json",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="cloud files, or a folder of them")
    parser.add_argument(
        "--surface", type=int, metavar="N", help="of a mesh, N points of its surface, not vertices"
    )
    parser.add_argument("--weights", help="name or folder (default: by the cloud's dimension)")
    parser.add_argument(
        "--up",
        choices=("z", "y", "auto"),
        help="axis of 3-D clouds that points up; auto tries both (default: what the weights say)",
    )
    parser.add_argument("--top", type=int, default=3, help="how many classes to show")
    parser.add_argument("--seed", type=int, default=0, help="of the latent particles")
    parser.add_argument("--json", action="store_true", help="print JSON, all classes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.cli.files import expand, for_each_file, read_user_cloud
    from ddeq.models import Classifier

    if args.top < 1:
        raise UsageError(f"--top must be at least 1, got {args.top}")
    if args.weights:
        Classifier.from_pretrained(args.weights)  # one line if they are no good, not one per file
    results: list[dict[str, Any]] = []

    def classify_one(path: Path) -> list[str]:
        result = _describe(read_user_cloud(path, args.surface), args)
        results.append(result)
        ranked = list(result["probabilities"].items())[: args.top]
        shown = "  ".join(f"{name} {100 * p:.1f} %" for name, p in ranked)
        lines = [f"{path}: {shown}"]
        if result["unlike_training_data"]:
            lines.append(f"{path}: unlike the training data, so this may well be none of them")
        return [] if args.json else lines

    status = for_each_file(expand(args.files), classify_one)
    if args.json:
        print(json.dumps(results, indent=2))
    return status


def _describe(cloud: CloudFile, args: argparse.Namespace) -> dict[str, Any]:
    """The classes of a cloud, the most likely first."""
    from ddeq.inference import classify

    found = classify(cloud.points, args.weights, args.seed, args.up)
    return {
        "file": str(cloud.path),
        "read": cloud.kind,
        "class": next(iter(found)),
        "unlike_training_data": found.unlike,
        "up": found.up,
        "probabilities": found,
    }
