"""``ddeq classify``: the class of each cloud file."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ddeq.cli.errors import UsageError

if TYPE_CHECKING:
    from ddeq.cli.clouds import UserCloud

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "classify",
        help="say what a cloud shows",
        description="Classes of cloud files with their probabilities, the likeliest first.",
        epilog="Example: ddeq classify digit.ply other.csv --json",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="cloud files, or a folder of them")
    parser.add_argument(
        "--surface", type=int, metavar="N", help="of a mesh, N points of its surface, not vertices"
    )
    parser.add_argument("--weights", help="name or folder (default: by the cloud's dimension)")
    parser.add_argument("--top", type=int, default=3, help="how many classes to show")
    parser.add_argument("--seed", type=int, default=0, help="of the latent particles")
    parser.add_argument("--json", action="store_true", help="print JSON, all classes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.cli.clouds import expand, for_each_file
    from ddeq.models import Classifier

    if args.top < 1:
        raise UsageError(f"--top must be at least 1, got {args.top}")
    if args.weights:
        Classifier.from_pretrained(args.weights)  # one line if they are no good, not one a file
    results: list[dict[str, Any]] = []

    def classify(cloud: UserCloud) -> str:
        result = _classify_one(cloud, args)
        results.append(result)
        ranked = list(result["probabilities"].items())[: args.top]
        shown = "  ".join(f"{name} {100 * p:.1f} %" for name, p in ranked)
        return "" if args.json else f"{cloud.file.path}: {shown}"

    status = for_each_file(expand(args.files), classify, args.surface)
    if args.json:
        print(json.dumps(results, indent=2))
    return status


def _classify_one(cloud: UserCloud, args: argparse.Namespace) -> dict[str, Any]:
    """The classes of a cloud, the likeliest first."""
    import torch

    from ddeq.cli.weights import classifier_for

    model = classifier_for(cloud.dim, args.weights)
    with torch.no_grad():
        probability = model(cloud.for_network(), seed=args.seed).softmax(1)[0].tolist()
    ranked = sorted(zip(model.classes, probability, strict=True), key=lambda pair: -pair[1])
    return {
        "file": str(cloud.file.path),
        "read": cloud.file.kind,
        "class": ranked[0][0],
        "probabilities": dict(ranked),
    }
