"""``ddeq plot``: pictures of what a model does."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddeq.cli.errors import UsageError, output_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["add_parser", "run"]

_ABOUT = {
    "samples": (
        "input, start, result and target of some clouds",
        "Completes partial clouds of a test set, a row each: the input (grey), the free particles "
        "at the start (light orange), the input with the new points (orange), the target (blue). "
        "The model sees the frame of the whole cloud, as in the paper.",
        "Example: ddeq plot samples --count 4 -o samples.png",
    ),
    "flow": (
        "the flow of a cloud's free particles, step by step",
        "Follows the free particles of a partial cloud from the start to the equilibrium at "
        "several steps of the solver, with the residual MMD^2(z, F(z)) of each; the last panel is "
        "the target. --count gives more clouds, a row each.",
        "Example: ddeq plot flow --seed 3 -o flow-of-a-digit.png",
    ),
    "fixed-points": (
        "equilibria Z* against their images F(Z*)",
        "Shows how good the equilibria are. The latent particles Z* of some clouds (rings) and "
        "their images F(Z*) (dots) are matched one to one at least cost, and a line joins each "
        "pair: where every dot sits in its ring, Z* is a fixed point. All are projected onto the "
        "plane of their two largest principal components. A colour is a cloud. Particles that "
        "share one place have collapsed; the spread that is printed tells.",
        "Example: ddeq plot fixed-points --count 8 -o fixed-points.svg",
    ),
    "embeddings": (
        "where test clouds lie in latent space, by class",
        "Takes the equilibrium of each test cloud, max-pools its particles to one vector (what "
        "the classifier's last layer sees) and lays these vectors out in the plane. Classes that "
        "the model tells apart form islands. Distances between islands mean little with t-SNE and "
        "UMAP; with PCA they are true but crowded.",
        "Example: ddeq plot embeddings --count 500 --method pca -o classes.png",
    ),
}
_COUNTS = {"samples": 5, "flow": 1, "fixed-points": 4, "embeddings": 1000}
_TASKS = {"fixed-points": "completion", "embeddings": "classification"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "plot",
        help="pictures of what a model does",
        description=(
            "Draws what a model does to clouds of a test set. Without options it takes the "
            "digits and the weights that come with the package: no download is needed."
        ),
        epilog="Each kind explains itself: ddeq plot flow --help.",
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    for kind, (short, long, example) in _ABOUT.items():
        _add_kind(kinds.add_parser(kind, help=short, description=long, epilog=example), kind)
    parser.set_defaults(run=run)


def _add_kind(parser: argparse.ArgumentParser, kind: str) -> None:
    count, out = _COUNTS[kind], f"{kind}.png"
    parser.add_argument("-o", "--out", default=out, help=f"png, svg or pdf ({out})")
    parser.add_argument("--count", type=int, default=count, help=f"how many clouds ({count})")
    parser.add_argument(
        "--data",
        default="mnist-mini",
        help="name of a data set, or a folder of cloud files (mnist-mini, which is embedded; "
        "shapes needs no download either)",
    )
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.add_argument("--weights", help="name or folder (default: by the data's dimension)")
    if kind in _TASKS:
        parser.add_argument(
            "--task",
            choices=("classification", "completion"),
            default=_TASKS[kind],
            help=f"whose latent particles: a classifier's or a completer's ({_TASKS[kind]})",
        )
    if kind == "embeddings":
        parser.add_argument(
            "--method",
            choices=("tsne", "pca", "umap"),
            default="tsne",
            help="tsne needs scikit-learn, umap needs umap-learn, pca needs nothing (tsne)",
        )
    parser.add_argument("--seed", type=int, default=0, help="which clouds, and the particles (0)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    path = output_path(args.out, (".png", ".svg", ".pdf"), args.force)
    if args.count < 1:
        raise UsageError(f"--count must be at least 1, got {args.count}")
    from ddeq.data import load
    from ddeq.viz.plots import save
    from ddeq.viz.snapshots import check_method

    check_method(getattr(args, "method", "pca"))
    data = load(args.data, "test", args.data_root)
    kinds: dict[str, Callable[[Any, argparse.Namespace], Figure]] = {
        "samples": _samples,
        "flow": _flow,
        "fixed-points": _fixed_points,
        "embeddings": _embeddings,
    }
    save(kinds[args.kind](data, args), path)
    print(f"picture: {path}")
    return 0


def _samples(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.cli.weights import completer_for
    from ddeq.evaluation import partial_tasks
    from ddeq.viz.plots import completion_grid
    from ddeq.viz.snapshots import choose, completions

    model, tasks = completer_for(data.dim, args.weights), partial_tasks(data, seed=args.seed)
    items = [tasks[i] for i in choose(data, args.count, args.seed)]
    return completion_grid(completions(model, items, data.classes, args.seed))


def _flow(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.cli.weights import completer_for
    from ddeq.evaluation import partial_tasks
    from ddeq.viz.charts import flows
    from ddeq.viz.snapshots import choose, flow

    model, tasks = completer_for(data.dim, args.weights), partial_tasks(data, seed=args.seed)
    # the classes in turn, beginning with one that the seed says
    begin = args.seed % len(data.classes)
    items = [tasks[i] for i in choose(data, begin + args.count, args.seed)[begin:]]
    return flows([flow(model, item, data.classes[item.label], args.seed) for item in items])


def _fixed_points(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.data import collate, collate_partial
    from ddeq.viz.charts import fixed_points
    from ddeq.viz.snapshots import choose, match

    model, items = _model_and_items(data, args)
    chosen = choose(data, args.count, args.seed)
    batch = [items[i] for i in chosen]
    x = (collate if args.task == "classification" else collate_partial)(batch)[0]
    solution = model.latent(x, args.seed)[1]
    residual, spread = solution.relative_residual.mean(), solution.spread.mean()
    print(f"mean over clouds: relative residual {residual:.1e}, spread {spread:.2f}")
    return fixed_points(*match(solution, [data.classes[data.labels[i]] for i in chosen]))


def _embeddings(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.cli.progress import progress
    from ddeq.data import LengthBuckets
    from ddeq.viz.charts import embeddings
    from ddeq.viz.snapshots import choose, flatten, pooled

    model, items = _model_and_items(data, args)
    chosen = choose(data, args.count, args.seed)
    buckets = LengthBuckets(data.lengths[chosen], 64, shuffle=False)
    batches = [[chosen[i] for i in batch] for batch in buckets]
    shown = progress(batches, len(batches), "batches")
    features, labels = pooled(model, items, shown, args.seed)
    return embeddings(flatten(features, args.method, args.seed), labels, data.classes)


def _model_and_items(data: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    """The model of the task, and the data as it takes them."""
    from ddeq.cli.weights import classifier_for, completer_for
    from ddeq.evaluation import partial_tasks

    if args.task == "classification":
        return classifier_for(data.dim, args.weights), data.in_proportion()
    return completer_for(data.dim, args.weights), partial_tasks(data, seed=args.seed)
