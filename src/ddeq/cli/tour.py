"""``ddeq tour``: the library's two tasks on real clouds that come with it, in one picture."""

from __future__ import annotations

import argparse
import time
from typing import Any

from ddeq.cli.errors import output_path

__all__ = ["add_parser", "run"]

_PICTURE = "outputs/tour.png"


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "tour",
        help="classify and complete real clouds, show the picture",
        description=(
            "Classifies and completes digits of the embedded test set with the shipped weights, "
            "writes a picture and says what it shows."
        ),
    )
    parser.add_argument("-o", "--out", default=_PICTURE, help=f"the picture ({_PICTURE})")
    parser.add_argument("--force", action="store_true", help="overwrite an existing picture")
    parser.add_argument("--seed", type=int, default=0, help="which digits, and the particles")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    import numpy as np
    import torch

    from ddeq.data import PARTIAL_RADIUS, item_rng, load, make_partial
    from ddeq.measures.clouds import PointClouds
    from ddeq.models import Classifier, Completer
    from ddeq.viz import plots

    path = output_path(args.out, (".png", ".svg", ".pdf"), args.force or args.out == _PICTURE)
    data = load("mnist-mini", "test")
    rng = np.random.default_rng(args.seed)
    chosen = [int(rng.choice(np.flatnonzero(data.labels == label))) for label in range(10)]
    clouds = [data.in_proportion()[i][0] for i in chosen]
    pairs = [make_partial(data[i][0], PARTIAL_RADIUS[2], item_rng(args.seed, i)) for i in chosen]
    classifier, completer = (
        Classifier.from_pretrained("mnist-pc"),
        Completer.from_pretrained("mnist-pc"),
    )
    begin = time.perf_counter()
    with torch.no_grad():
        guesses = classifier(PointClouds.from_list(clouds)).argmax(1).tolist()
    middle = time.perf_counter()
    partial = PointClouds.from_list([kept for kept, _ in pairs])
    # the paper's task: the frame of the whole digit is known
    full = completer.complete(partial, seed=args.seed, normalize=False)
    end = time.perf_counter()
    figure = plots.tour(clouds, guesses, partial.to_list(), full.to_list())
    plots.save(figure, path)
    _report(guesses, partial, full, middle - begin, end - middle)
    print(f"picture: {path}")
    return 0


def _report(guesses: list[int], partial: Any, full: Any, classify: float, complete: float) -> None:
    right = sum(guess == label for label, guess in enumerate(guesses))
    kept = all(
        bool((whole[: len(part)] == part).all())
        for part, whole in zip(partial.to_list(), full.to_list(), strict=True)
    )
    added = int((full.lengths - partial.lengths).sum())
    print(f"classified {len(guesses)} unseen digits in {classify:.2f} s: {right} right")
    print(
        f"completed {len(partial)} partial digits in {complete:.2f} s: {added} points added, "
        f"input points unchanged: {'yes' if kept else 'no'}"
    )
