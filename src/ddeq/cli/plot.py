"""``ddeq plot``: pictures of what a model does."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ddeq.cli.errors import UsageError, film_path, output_path
from ddeq.cli.progress import print_line, progress

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
    "scans": (
        "scanned objects: input, result and truth",
        "Cuts a part out of scanned objects of the test set and completes them. The network sees "
        "what is left, in its own frame, and is told nothing else. The objects are drawn by the "
        "seed. Grey is the input, orange what is new, blue the whole object.",
        "Example: ddeq plot scans --cut view -o scans.png",
    ),
    "turning": (
        "a scanned object turns while its hole is filled, beside digits: a GIF",
        "Cuts a part out of a scanned object and of four digits of the test sets and completes "
        "them in their own frames. The particles move along the solver's iterates that lead to "
        "the result, slow enough to be followed.",
        "Example: ddeq plot turning --seed 2 -o turning.gif",
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
_COUNTS = {"samples": 5, "flow": 1, "scans": 12, "fixed-points": 4, "embeddings": 1000}
_CUTS = ("balls", "brush", "half", "view")
_DIGITS = 4
_TASKS = {
    "samples": "completion",
    "flow": "completion",
    "fixed-points": "completion",
    "embeddings": "classification",
}
_ANY_TASK = ("fixed-points", "embeddings")


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
    parser.add_argument("--seed", type=int, default=0, help="which clouds, and the particles (0)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    if kind in ("scans", "turning"):
        cut = "balls"
        parser.add_argument("--cut", choices=_CUTS, default=cut, help=f"what is missing ({cut})")
    if kind == "turning":
        parser.add_argument("-o", "--out", default="turning.gif", help="gif or mp4 (turning.gif)")
        return
    count, out = _COUNTS[kind], f"{kind}.png"
    parser.add_argument("-o", "--out", default=out, help=f"png, svg or pdf ({out})")
    parser.add_argument("--count", type=int, default=count, help=f"how many clouds ({count})")
    parser.add_argument("--weights", help="name or folder (default: by the data's dimension)")
    if kind != "scans":
        _add_data(parser, kind)


def _add_data(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument(
        "--data",
        default="mnist-mini",
        help="name of a data set, or a folder of cloud files (mnist-mini, which is embedded; "
        "shapes needs no download either)",
    )
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.set_defaults(task=_TASKS[kind])
    if kind in _ANY_TASK:
        parser.add_argument(
            "--task", help=f"whose latent particles: classification, completion ({_TASKS[kind]})"
        )
    if kind == "embeddings":
        parser.add_argument(
            "--method",
            choices=("tsne", "pca", "umap"),
            default="tsne",
            help="tsne needs scikit-learn, umap needs umap-learn, pca needs nothing (tsne)",
        )


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, got {args.seed}")
    if args.kind == "turning":
        return _turning(args)
    path = output_path(args.out, (".png", ".svg", ".pdf"), args.force)
    if args.count < 1:
        raise UsageError(f"--count must be at least 1, got {args.count}")
    from ddeq.data import load
    from ddeq.viz.drawing import save
    from ddeq.viz.from_model import check_method

    check_method(getattr(args, "method", "pca"))
    named = (args.data, "test", args.data_root) if args.kind != "scans" else ("scans", "test")
    data = load(*named)
    kinds: dict[str, Callable[[Any, argparse.Namespace], Figure]] = {
        "samples": _samples,
        "flow": _flow,
        "scans": _scans,
        "fixed-points": _fixed_points,
        "embeddings": _embeddings,
    }
    save(kinds[args.kind](data, args), path)
    print_line(f"picture: {path}")
    return 0


def _samples(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.viz.from_model import choose, completions
    from ddeq.viz.pictures import completion_grid

    asked = _asked(data, args)
    items = [asked.items[i] for i in choose(data, args.count, args.seed)]
    return completion_grid(completions(asked.model, items, data.classes, args.seed))


def _flow(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.viz.from_model import choose, flow
    from ddeq.viz.pictures import flows

    asked = _asked(data, args)
    # the classes in turn, beginning with one that the seed says
    begin = args.seed % len(data.classes)
    items = [asked.items[i] for i in choose(data, begin + args.count, args.seed)[begin:]]
    return flows([flow(asked.model, item, data.classes[item.label], args.seed) for item in items])


def _scans(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.cli.showing import choose_scans, cut_and_complete, readable
    from ddeq.viz.posters import scan_sheet

    chosen = choose_scans(data, args.count, args.seed)
    return scan_sheet(
        [
            cut_and_complete(
                data, i, args.cut, args.seed, args.weights, title=readable(data.names[i])
            )[0]
            for i in progress(chosen, len(chosen), "scans")
        ]
    )


def _turning(args: argparse.Namespace) -> int:
    """Writes the film."""
    from ddeq.cli.showing import choose_scans, cut_and_complete, first_scan
    from ddeq.data import load
    from ddeq.viz.from_model import choose
    from ddeq.viz.moving import MOVING
    from ddeq.viz.turning import Film, write_turning

    path = film_path(args.out, args.force, MOVING)
    scans, digits = load("scans", "test"), load("mnist-mini", "test")
    solid = first_scan(scans) if args.seed == 0 else choose_scans(scans, 1, args.seed)[0]
    flat = choose(digits, 10, args.seed)[2 : 2 + _DIGITS]
    films = []
    for data, i in ((scans, solid), *((digits, i) for i in flat)):
        cut = args.cut if data is scans or args.cut != "view" else "half"
        item, found = cut_and_complete(data, i, cut, args.seed, watch=True)
        films.append(Film(item.input, found.frames))
    write_turning(path, films[0], films[1:])
    print_line(f"picture: {path}")
    return 0


def _fixed_points(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.viz.diagrams import fixed_points
    from ddeq.viz.from_model import choose, match

    asked = _asked(data, args)
    chosen = choose(data, args.count, args.seed)
    x = asked.task.collate([asked.items[i] for i in chosen])[0]
    solution = asked.model.latent(x, args.seed)[1]
    residual, spread = solution.relative_residual.mean(), solution.spread.mean()
    print(f"mean over clouds: relative residual {residual:.1e}, spread {spread:.2f}")
    return fixed_points(*match(solution, [data.classes[data.labels[i]] for i in chosen]))


def _embeddings(data: Any, args: argparse.Namespace) -> Figure:
    from ddeq.data import LengthBuckets
    from ddeq.viz.diagrams import embeddings
    from ddeq.viz.from_model import choose, flatten, pooled

    asked = _asked(data, args)
    chosen = choose(data, args.count, args.seed)
    buckets = LengthBuckets(data.lengths[chosen], 64, shuffle=False)
    batches = [[chosen[i] for i in batch] for batch in buckets]
    shown = progress(batches, len(batches), "batches")
    features, labels = pooled(asked.model, asked.items, shown, args.seed, asked.task.collate)
    return embeddings(flatten(features, args.method, args.seed), labels, data.classes)


class _Asked(NamedTuple):
    """A task, a model of it, and what the model is asked: an item per cloud."""

    task: Any
    model: Any
    items: Any


def _asked(data: Any, args: argparse.Namespace) -> _Asked:
    """The task that was named, if it has pictures of this kind, and what belongs to it."""
    from ddeq.inference import model_for
    from ddeq.registry import known
    from ddeq.tasks import Task

    task = Task.of(args.task)()
    if args.kind not in task.plots:
        able = sorted({kind.name for kind in known(Task).values() if args.kind in kind.plots})
        raise UsageError(f"{args.task} has no {args.kind}: these have, {', '.join(able)}")
    model = model_for(task.model_type, data.dim, args.weights)
    return _Asked(task, model, task.items(task.prepare(data), training=False, seed=args.seed))
