"""``ddeq eval``: measures a model on a whole test set."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from ddeq.cli.comparison import add_options, compare
from ddeq.cli.errors import UsageError, output_path
from ddeq.errors import DdeqError

if TYPE_CHECKING:
    from ddeq.data import CloudDataset
    from ddeq.tasks import Report, Task

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
regression:
  squared error      (value - target)^2, and absolute error |value - target|
every task:
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
    _add_options_of_tasks(parser)
    parser.add_argument("--limit", type=int, help="only the first so many clouds")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the figures as JSON")
    add_options(parser)
    parser.set_defaults(run=run_together)


def _add_options_of_tasks(parser: argparse.ArgumentParser) -> None:
    """Options that one task has and another has not, and what may be written."""
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
    parser.add_argument(
        "--ratio",
        type=float,
        help="completion: always add so many new points per visible point (the paper: 0.275), "
        "instead of the number that the model estimates",
    )


def run_together(args: argparse.Namespace) -> int:
    """Runs the command, alone or in the processes of ``torchrun``, of which the first speaks."""
    from ddeq.evaluation import process_group

    with process_group() as rank:
        if not rank:
            return run(args)
        args.confusion = args.output = None
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
            return run(args)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    import numpy as np

    from ddeq.cli.train import parse_recipe
    from ddeq.data import load
    from ddeq.evaluation import evaluate
    from ddeq.models import Completer

    recipe = parse_recipe(args.recipe, ["--data", args.data] if args.data else [])
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"--limit must be at least 1, got {args.limit}")
    task = type(recipe.task)
    options = _options(task, args)
    _check_outputs(args)
    data = load(recipe.data, "test", args.data_root, recipe.surface or None)
    if args.limit is not None:
        data = data.subset(np.arange(min(args.limit, len(data))))
    weights = args.weights or _SHIPPED_FOR.get(recipe.data, recipe.data)
    if args.protocol:
        if not issubclass(task.model_type, Completer):
            raise UsageError(f"--protocol is not for {task.name}")
        return compare(weights, data, load(recipe.data, "train", args.data_root), args)
    model = task.model_type.from_pretrained(weights)
    if args.ratio is not None:
        model = _with_ratio(model, args.ratio)
    begin = time.process_time()
    try:
        report = evaluate(model, data, args.batch_size, args.seed, _shown, **options)
    except DdeqError as error:
        raise DdeqError(f"{weights}: {error}") from error
    if args.output:
        _write(args, weights, data, model, report, time.process_time() - begin)
    if args.json:
        print(json.dumps(_plain(weights, data, report), indent=2))
    else:
        _show(weights, data, report)
    if args.confusion:
        _draw(args.confusion, report.confusion, data.classes, quiet=args.json)
    return 0


def _check_outputs(args: argparse.Namespace) -> None:
    """Files that cannot be written are refused before any work."""
    if args.confusion:
        output_path(args.confusion, (".png", ".svg", ".pdf"), args.force)
    if args.output:
        output_path(args.output, (".json",), args.force)


def _options(task: type[Task], args: argparse.Namespace) -> dict[str, Any]:
    """The task's own options; those of another task are refused."""
    given = {"even": args.even, "own_frame": args.own_frame, "noise": args.noise}
    for name, value in given.items():
        if value and name not in task.evaluation_options:
            raise UsageError(f"--{name.replace('_', '-')} is not for {task.name}")
    if args.confusion and not task.has_classes:
        raise UsageError(f"--confusion is not for {task.name}: it has no classes")
    return {name: value for name, value in given.items() if value}


def _with_ratio(model: Any, ratio: float) -> Any:
    """A completer that adds a fixed share of new points."""
    from ddeq.models import Completer

    if not isinstance(model, Completer):
        raise UsageError("--ratio is for completion by an equilibrium")
    if not ratio > 0:
        raise UsageError(f"--ratio must be positive, got {ratio}")
    model.missing, model.ratio = None, ratio
    return model


def _write(
    args: argparse.Namespace,
    weights: str,
    data: CloudDataset,
    model: Any,
    report: Report,
    seconds: float,
) -> None:
    """Keeps the figures with all that it takes to have them again."""
    from ddeq.io.atomic import atomic_path
    from ddeq.protocol import versions

    record = {
        "command": _command(args),
        "model": model.kind,
        "weights": weights,
        "parameters": sum(p.numel() for p in model.parameters()),
        "data": data.name,
        "clouds": len(data),
        "frame": report.frame,
        "seed": args.seed,
        "versions": versions(),
        "cpu_seconds": round(seconds, 2),
        "metrics": {name: vars(mean) for name, mean in report.metrics.items()},
        "classes": report.per_class,
    }
    with atomic_path(args.output) as draft:
        draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _command(args: argparse.Namespace) -> str:
    """The command with every option that changes the figures."""
    words = ["ddeq", "eval", str(args.recipe)]
    for name in ("data", "weights", "ratio", "limit"):
        if getattr(args, name) is not None:
            words += [f"--{name}", str(getattr(args, name))]
    words += [
        f"--{name.replace('_', '-')}" for name in ("own_frame", "even") if getattr(args, name)
    ]
    words += [
        f"--{name} {getattr(args, name):g}" for name in ("noise", "seed") if getattr(args, name)
    ]
    return " ".join(words)


def _plain(weights: str, data: CloudDataset, report: Report) -> dict[str, Any]:
    """A report as JSON values."""
    values: dict[str, Any] = {"weights": weights, "clouds": len(data)}
    values |= {name: vars(mean) for name, mean in report.metrics.items()}
    if report.confusion is not None:
        values["confusion"] = report.confusion.tolist()
    return values


def _show(weights: str, data: CloudDataset, report: Report) -> None:
    print(f"{weights} on {len(data)} clouds of {data.name}, in {report.frame}")
    for name, mean in report.metrics.items():
        print(f"{name:20}{mean.value:10.5f} +- {mean.error:.5f}")
    for name, share in report.per_class.items():
        print(f"  {name:18}{100 * share:6.2f} %")


def _draw(path: str, counts: Any, classes: Sequence[str], quiet: bool) -> None:
    from ddeq.viz.diagrams import confusion
    from ddeq.viz.drawing import save

    save(confusion(counts, classes), path)
    if not quiet:
        print(f"picture: {path}")


def _shown(indices: Any) -> Iterable[list[int]]:
    from ddeq.cli.progress import progress

    return progress(indices, len(indices), "batches")
