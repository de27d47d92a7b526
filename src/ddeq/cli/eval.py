"""``ddeq eval``: measures a model on a whole test set."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ddeq.cli.errors import UsageError, output_path

__all__ = ["add_parser", "run"]

_DEFINITIONS = """
Every figure is the mean over clouds +- its standard error (deviation / sqrt(number of clouds)).

classification:
  accuracy           share of clouds whose largest logit is the label's
  cross entropy      -log of the probability of the label
completion, free: new points x against the removed ones y; whole: result x against target y:
  mmd2               squared MMD with kernel -|x - y| (the energy distance):
                     2 E|x - y| - E|x - x'| - E|y - y'|
  W2, W2^2           exact 2-Wasserstein distance sqrt(min E|x - y|^2) over all couplings of
                     the two clouds, and its square
  OT                 exact optimal transport cost min E|x - y|, Euclidean ground cost
  Chamfer            mean squared distance to the nearest point of the other cloud, both ways
                     added
both:
  relative residual  MMD^2(z, F(z)) at the equilibrium over that at the start
  spread             root mean square distance of the particles from their mean (0: collapsed)
  solver steps       evaluations of the network until the cloud's solve stopped
All completion metrics are in the frame of the whole cloud at unit variance per coordinate.
"""

_SHIPPED_FOR = {"mnist-mini": "mnist-pc"}  # data whose weights have another name


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "eval",
        help="measure a model on a whole test set",
        description="Measures a model on every cloud of its test set.\n" + _DEFINITIONS,
        epilog=(
            "Examples: ddeq eval mini-classification --weights mnist-pc --confusion errors.png; "
            "ddeq eval runs/mine/recipe.yaml --weights runs/mine/model"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("recipe", help="name of a recipe, or a run's recipe.yaml: task and data")
    parser.add_argument("--data", help="other data than the recipe's: a name or a folder")
    parser.add_argument("--weights", help="folder or name (default: those shipped for the data)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.add_argument(
        "--own-frame",
        action="store_true",
        help="completion of clouds as users have them: each normalised by its visible part",
    )
    parser.add_argument(
        "--even",
        action="store_true",
        help="classification of clouds with unit variance per coordinate, as in the paper, which "
        "hides their proportions",
    )
    parser.add_argument(
        "--confusion",
        metavar="FILE",
        help="classification: also draw which classes are taken for which (png, svg or pdf)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing picture")
    parser.add_argument("--noise", type=float, default=0.0, help="share of noisy input points")
    parser.add_argument("--limit", type=int, help="only the first so many clouds")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    import numpy as np

    from ddeq.cli.train import parse_recipe
    from ddeq.data import load

    recipe = parse_recipe(args.recipe, ["--data", args.data] if args.data else [])
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"--limit must be at least 1, got {args.limit}")
    if args.confusion and recipe.task != "classification":
        raise UsageError("--confusion is for classification: a completion has no classes")
    if args.even and recipe.task != "classification":
        raise UsageError("--even is for classification: completion has unit variance anyway")
    if args.own_frame and recipe.task != "completion":
        raise UsageError("--own-frame is for completion: a classifier sees the whole cloud")
    if args.confusion:
        output_path(args.confusion, (".png", ".svg", ".pdf"), args.force)
    data = load(recipe.data, "test", args.data_root)
    if args.limit is not None:
        data = data.subset(np.arange(min(args.limit, len(data))))
    weights = args.weights or _SHIPPED_FOR.get(recipe.data, recipe.data)
    measure = _classification if recipe.task == "classification" else _completion
    result = measure(weights, data, args)
    if args.json:
        print(json.dumps({"weights": weights, "clouds": len(data), **result}, indent=2))
    return 0


def _classification(weights: str, data: Any, args: argparse.Namespace) -> dict[str, Any]:
    from ddeq.evaluation import batches, evaluate_classifier
    from ddeq.models import Classifier

    model = Classifier.from_pretrained(weights)
    _check(model, data, weights)
    if len(model.classes) != len(data.classes):
        known, present = len(model.classes), len(data.classes)
        raise ValueError(f"{weights} knows {known} classes, {data.name} has {present} (--data)")
    data = data if args.even else data.in_proportion()
    report = evaluate_classifier(model, data, _shown(batches(data, args.batch_size)), args.seed)
    rows = {"accuracy": report.accuracy, "cross entropy": report.cross_entropy}
    rows |= report.equilibrium
    if not args.json:
        frame = "unit variance per coordinate" if args.even else "their own proportions"
        print(f"{weights} on {len(data)} clouds of {data.name}, in {frame}")
        _table(rows)
        for name, share in zip(data.classes, report.per_class(), strict=True):
            print(f"  {name:18}{100 * share:6.2f} %")
    if args.confusion:
        _draw(args.confusion, report.confusion, data.classes, quiet=args.json)
    plain = {name: vars(mean) for name, mean in rows.items()}
    return {**plain, "confusion": report.confusion.tolist()}


def _check(model: Any, data: Any, weights: str) -> None:
    dim = model.config()["dim"]
    if dim != data.dim:
        raise ValueError(f"{weights} is for {dim}-D clouds, {data.name} is {data.dim}-D (--data)")


def _draw(path: str, counts: Any, classes: Sequence[str], quiet: bool) -> None:
    from ddeq.viz.charts import confusion
    from ddeq.viz.plots import save

    save(confusion(counts, classes), path)
    if not quiet:
        print(f"picture: {path}")


def _completion(weights: str, data: Any, args: argparse.Namespace) -> dict[str, Any]:
    from ddeq.evaluation import batches, evaluate_completer, partial_tasks
    from ddeq.models import Completer

    model = Completer.from_pretrained(weights)
    _check(model, data, weights)
    tasks = partial_tasks(data, args.noise, args.seed)
    indices = _shown(batches(tasks, args.batch_size))
    rows = evaluate_completer(model, tasks, indices, args.seed, args.own_frame)
    if not args.json:
        frame = "each cloud's own frame" if args.own_frame else "the frame of the whole"
        print(f"{weights} on {len(tasks)} clouds of {data.name}, in {frame}")
        _table(rows)
    return {name: vars(mean) for name, mean in rows.items()}


def _shown(indices: Any) -> Iterable[list[int]]:
    from ddeq.cli.progress import progress

    return progress(indices, len(indices), "batches")


def _table(rows: dict[str, Any]) -> None:
    for name, mean in rows.items():
        print(f"{name:20}{mean.value:10.5f} +- {mean.error:.5f}")
