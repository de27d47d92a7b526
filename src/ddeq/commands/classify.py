"""``ddeq classify``: the class of each cloud file."""

from __future__ import annotations

import argparse
import json
import sys

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "classify",
        help="say what a cloud shows",
        description="Classes of cloud files with their probabilities, the likeliest first.",
        epilog="Example: ddeq classify digit.ply other.csv --json",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="ply, pcd, xyz, csv, npy, obj, …")
    parser.add_argument("--weights", help="name or folder (default: by the cloud's dimension)")
    parser.add_argument("--top", type=int, default=3, help="how many classes to show")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON, all classes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; one bad file is named and the others are done."""
    from ddeq.commands.clouds import each_file
    from ddeq.commands.weights import classifier_for

    results, failed = [], False
    for path, cloud, error in each_file(args.files):
        if cloud is None:
            failed = True
            print(f"ddeq: {error}", file=sys.stderr)
            continue
        model = classifier_for(cloud.dim, args.weights)
        probability = model(cloud.for_network(), seed=args.seed).softmax(1)[0].tolist()
        ranked = sorted(zip(model.classes, probability, strict=True), key=lambda pair: -pair[1])
        results.append({"file": str(path), "class": ranked[0][0], "probabilities": dict(ranked)})
        if not args.json:
            shown = "  ".join(f"{name} {100 * p:.1f} %" for name, p in ranked[: args.top])
            print(f"{path}: {shown}")
    if args.json:
        print(json.dumps(results, indent=2))
    return (1 if results else 2) if failed else 0
