"""``ddeq tour``: real clouds that come with the library, classified and completed in a picture."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from ddeq.cli.errors import UsageError, output_path
from ddeq.cli.progress import print_line

if TYPE_CHECKING:
    from ddeq.viz.posters import Completed

__all__ = ["add_parser", "run"]

_PICTURE = "outputs/tour.png"
_DIGITS = 6


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "tour",
        help="complete digits and a scanned object, show the picture",
        description=(
            "Classifies and completes digits and completes a scanned household object, with the "
            "shipped weights. Parts of each are cut out; the network sees what is left, in its "
            "own frame, and is told nothing else. No model was trained on these clouds. Writes a "
            "picture and says what it shows."
        ),
        epilog="Example: ddeq tour --seed 3 -o other.png",
    )
    parser.add_argument("-o", "--out", default=_PICTURE, help=f"the picture ({_PICTURE})")
    parser.add_argument("--force", action="store_true", help="overwrite an existing picture")
    parser.add_argument("--seed", type=int, default=0, help="which clouds, and the particles")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from ddeq.viz import drawing, posters

    if args.seed < 0:
        raise UsageError(f"--seed must not be negative, got {args.seed}")
    path = output_path(args.out, (".png", ".svg", ".pdf"), args.force or args.out == _PICTURE)
    digits = _digits(args.seed)
    scan = _scan(args.seed)
    drawing.save(posters.tour(digits, scan), path)
    print_line(f"picture: {path}")
    return 0


def _digits(seed: int) -> list[Completed]:
    """One digit each of some classes, in the order of the classes."""
    import numpy as np

    from ddeq.cli.showing import cut_and_complete
    from ddeq.data import load
    from ddeq.inference import classifier_for, probabilities

    data, rng = load("mnist-mini", "test"), np.random.default_rng(seed)
    labels = sorted(rng.choice(10, _DIGITS, replace=False).tolist())
    chosen = [int(rng.choice(np.flatnonzero(data.labels == label))) for label in labels]
    begin = time.perf_counter()
    found = probabilities([data.raw(i) for i in chosen], classifier_for(2), seed).argmax(1).tolist()
    right = sum(guess == label for guess, label in zip(found, labels, strict=True))
    seconds = time.perf_counter() - begin
    print(f"classified {len(chosen)} unseen digits in {seconds:.1f} s: {right} right")
    begin = time.perf_counter()
    digits = [
        cut_and_complete(data, i, seed=seed, title=f"it is a {guess}", right=guess == label)[0]
        for i, guess, label in zip(chosen, found, labels, strict=True)
    ]
    _report(digits, f"{len(chosen)} partial digits", time.perf_counter() - begin)
    return digits


def _scan(seed: int) -> Completed:
    """A scanned object."""
    from ddeq.cli.showing import choose_scans, cut_and_complete, first_scan, readable
    from ddeq.data import load

    data, begin = load("scans", "test"), time.perf_counter()
    index = first_scan(data) if seed == 0 else choose_scans(data, 1, seed)[0]
    name = readable(data.names[index], most=40)
    scan, _ = cut_and_complete(data, index, seed=seed, title=f"a real scan: {name}")
    _report([scan], "a scanned object", time.perf_counter() - begin)
    return scan


def _report(items: list[Completed], what: str, seconds: float) -> None:
    added = sum(len(item.new) for item in items)
    print(f"completed {what} in {seconds:.1f} s: {added} points added")
