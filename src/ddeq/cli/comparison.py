"""``ddeq eval --protocol``: a completer beside completers without a network, all measured alike."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ddeq.cli.errors import UsageError
from ddeq.data.cuts import CUTS

if TYPE_CHECKING:
    from ddeq.data import CloudDataset
    from ddeq.models import Completer
    from ddeq.models.baselines import PCN
    from ddeq.protocol import Complete, Result

__all__ = ["add_options", "compare"]

_DEFAULT = ("balls", "brush", "half", "view", "whole")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--protocol`` and what goes with it."""
    group = parser.add_argument_group("the de-biased protocol, for completion")
    group.add_argument(
        "--protocol",
        action="store_true",
        help="compare with completers without a network: each cloud in the frame of its visible "
        "part, turned at random if 3-D, cut in several ways",
    )
    group.add_argument(
        "--cut", action="append", choices=list(CUTS), help="one cut (may be repeated; default all)"
    )
    group.add_argument(
        "--told", action="store_true", help="the paper's protocol: the frame of the whole is told"
    )
    group.add_argument(
        "--unit", choices=["deviation", "radius"], default="deviation", help="of the true cloud"
    )
    group.add_argument("--pcn", metavar="FOLDER", help="weights of a PCN to compare with as well")


def compare(weights: str, data: CloudDataset, train: CloudDataset, args: Any) -> int:
    """Prints a table for each cut, and writes the JSON file if one is asked for."""
    from ddeq.models import Completer
    from ddeq.models.baselines import PCN
    from ddeq.protocol import evaluate

    cuts = args.cut or [cut for cut in _DEFAULT if cut != "view" or data.dim == 3]
    if "view" in cuts and data.dim != 3:
        raise UsageError(f"--cut view is for 3-D clouds, {data.name} is {data.dim}-D")
    model = Completer.from_pretrained(weights)
    pcn = PCN.from_pretrained(args.pcn) if args.pcn else None
    options = {"told": args.told, "unit": args.unit, "batch_size": args.batch_size}
    written: dict[str, Any] = {}
    for cut in cuts:
        methods = _methods(weights, model, pcn, train, cut, args)
        results = {
            name: evaluate(
                method, data, cut, args.seed, counts=args.told and name != weights, **options
            )
            for name, method in methods.items()
        }
        written[cut] = {name: result.to_json() for name, result in results.items()}
        if not args.json:
            _print(results, weights, cut)
    text = json.dumps(written, indent=2)
    if args.json:
        print(text)
    if args.output:
        from ddeq.io.atomic import atomic_path

        with atomic_path(args.output) as temporary:
            temporary.write_text(text + "\n")
    return 0


def _methods(
    weights: str, model: Completer, pcn: PCN | None, train: CloudDataset, cut: str, args: Any
) -> dict[str, Complete]:
    """The model, completers without a network, and a PCN if one is given."""
    from ddeq.models.baselines import completers

    methods: dict[str, Complete] = {
        weights: completers.ModelCompleter(model, args.seed, args.told),
        **completers.guess_completers(train, cut, args.seed, args.told),
    }
    if pcn is not None:
        share = completers.mean_share(train, cut, args.seed)
        methods["PCN"] = completers.PCNCompleter(pcn, share, args.told)
    return methods


def _print(results: dict[str, Result], weights: str, cut: str) -> None:
    from ddeq.protocol import table

    settings = results[weights].settings
    print(
        f"{settings['clouds']} clouds of {settings['data']}, cut {cut!r}, frame "
        f"{settings['frame']}, unit {settings['unit']}"
    )
    print(table(results), end="\n\n")
