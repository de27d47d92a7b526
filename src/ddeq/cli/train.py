"""``ddeq train``: runs a recipe."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddeq.errors import DdeqError

if TYPE_CHECKING:
    from ddeq.data import CloudDataset
    from ddeq.training import Recipe

__all__ = ["add_parser", "parse_recipe", "run"]

_DESCRIPTION = (
    "Trains a model on a folder of clouds, or by a recipe: a name (ddeq train --list), or "
    "a recipe.yaml that an earlier run wrote. A folder has a sub-folder per class; a CSV "
    "file has the columns file and label, or target. Every field of the recipe is an "
    "option, given after its name: --epochs 2 --train-steps [4,8] --solver.max_steps 12; "
    "ddeq train RECIPE --print shows their values. The model is left in OUT/model, the "
    "recipe in OUT/recipe.yaml, figures in OUT/metrics.csv and for TensorBoard, a picture "
    "of each validation in OUT/samples, and checkpoints, from which a killed run goes on "
    "exactly, in OUT/checkpoints."
)
_EXAMPLES = (
    "Examples: ddeq train ./furniture --minutes 10 -o runs/mine; "
    "ddeq train mini-classification --epochs 3 -o runs/try; "
    "ddeq train runs/try/recipe.yaml --init runs/try/model -o runs/more"
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "train",
        help="train a model",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        allow_abbrev=False,  # --data is a field of the recipe, not short for --data-root
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=_Help, nargs=0, help="show this and stop")
    parser.add_argument(
        "recipe", nargs="?", help="name of a recipe, a YAML file, or a folder or CSV of own clouds"
    )
    parser.add_argument("-o", "--out", help="folder of the run (default: runs/RECIPE)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.add_argument("--init", metavar="WEIGHTS", help="fine-tune: start from a name or folder")
    parser.add_argument(
        "--from-scratch", action="store_true", help="own clouds: no shipped weights to start from"
    )
    parser.add_argument("--resume", action="store_true", help="go on after an interruption")
    parser.add_argument("--force", action="store_true", help="replace a run that is there")
    parser.add_argument("--devices", type=int, metavar="N", help="processes per machine")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="machines of so many (1)")
    parser.add_argument(
        "--precision",
        choices=["32-true", "bf16-mixed", "16-mixed"],
        default="32-true",
        help="of the network in training (32-true); mixed ones pay on a GPU",
    )
    parser.add_argument("--save-every", type=int, default=200, metavar="N", help="steps (200)")
    parser.add_argument("--log-every", type=int, default=50, metavar="N", help="steps (50)")
    parser.add_argument("--wandb", action="store_true", help="also log to Weights & Biases")
    parser.add_argument("--list", action="store_true", help="list the recipes and stop")
    parser.add_argument("--print", action="store_true", help="print the recipe as YAML and stop")
    parser.set_defaults(run=run, takes_rest=True)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from ddeq.training import PRESETS
    from ddeq.training.fields import to_yaml

    if args.list or args.recipe is None:
        for name, recipe in PRESETS.items():
            print(f"{name:34}{recipe.task.name} of {recipe.data}, {recipe.epochs} epochs")
        return 0
    out, recipe, clouds, init = _chosen(args)
    if args.print:
        print(to_yaml(recipe), end="")
        return 0
    options = _trainer_options(args, recipe)
    from ddeq.training import train
    from ddeq.training.data import CloudData
    from ddeq.training.distributed import rank
    from ddeq.training.interruption import Interrupted

    try:
        train(
            recipe,
            out,
            args.data_root,
            data=None if clouds is None else CloudData(recipe, whole=clouds),
            init=init,
            resume=args.resume,
            force=args.force,
            save_every=args.save_every,
            wandb=args.wandb,
            trainer_options=options,
        )
    except Interrupted as stop:
        print(f"ddeq: {stop}", file=sys.stderr)
        return stop.status
    if rank() == 0:  # the other processes run the same command beside the first
        print(f"model in {out / 'model'}")
        print(f"measure it with: ddeq eval {out / 'recipe.yaml'} --weights {out / 'model'}")
    return 0


def _chosen(
    args: argparse.Namespace,
) -> tuple[Path, Recipe, CloudDataset | None, str | None]:
    """Folder and recipe of the run, own clouds, weights to start from.

    A run that goes on has its own recipe, with options that are given again.
    """
    begun = Path(args.recipe)
    if args.resume and (begun / "recipe.yaml").exists():
        recipe = parse_recipe(str(begun / "recipe.yaml"), args.rest)
        return Path(args.out or begun), recipe, None, None
    out = Path(args.out or f"runs/{begun.resolve().stem}")
    if begun.is_dir() or begun.suffix.lower() == ".csv":
        if args.resume and (out / "recipe.yaml").exists():
            return out, parse_recipe(str(out / "recipe.yaml"), args.rest), None, None
        return out, *_own(args)
    return *_named(out, args), None, args.init


def _own(args: argparse.Namespace) -> tuple[Recipe, CloudDataset | None, str | None]:
    """A recipe for own clouds, and the shipped weights that it starts from."""
    from ddeq.training.own_data import own_recipe

    given = dict(_pairs(args.rest))
    surface = given.get("surface", "0")
    if not surface.isdigit():
        raise DdeqError(f"--surface must be a number of points, got {surface!r}")
    transfer = not args.from_scratch and args.init is None
    own = own_recipe(args.recipe, given.get("task"), args.data_root, int(surface), transfer)
    recipe = with_options(own.recipe, args.rest)
    same = (recipe.data, recipe.surface) == (own.recipe.data, own.recipe.surface)
    return recipe, own.clouds if same else None, args.init or own.init


def _named(out: Path, args: argparse.Namespace) -> tuple[Path, Recipe]:
    """Folder and recipe of a run by the name of a recipe or a file."""
    named = parse_recipe(args.recipe, args.rest)
    if not args.resume or not (out / "recipe.yaml").exists():
        return out, named
    kept = parse_recipe(str(out / "recipe.yaml"), args.rest)
    if (kept.task.name, kept.data) != (named.task.name, named.data):
        asked = f"{named.task.name} of {named.data}"
        raise DdeqError(
            f"{out} holds {kept.task.name} of {kept.data}, not {asked}: "
            "choose another folder with -o"
        )
    return out, kept


def _trainer_options(args: argparse.Namespace, recipe: Recipe) -> dict[str, Any]:
    """Options of Lightning's trainer; wrong ones are found before anything starts."""
    for name in ("devices", "nodes", "save_every", "log_every"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise DdeqError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    if args.wandb:
        from ddeq.training.loggers import check_wandb

        check_wandb()
    options: dict[str, Any] = {
        "log_every_n_steps": args.log_every,
        "num_nodes": args.nodes,
        "precision": args.precision,
    }
    if args.devices is not None:
        options["devices"] = args.devices
    processes = (args.devices or 1) * args.nodes
    if processes > 1 and recipe.minutes:
        raise DdeqError("--minutes is for one process: several would not keep the same time")
    if processes > 1:
        options["strategy"] = "ddp"
    if recipe.batch_size % processes:
        raise DdeqError(
            f"batch_size {recipe.batch_size} cannot be divided among {processes} processes"
        )
    return options


def parse_recipe(name: str, options: Sequence[str]) -> Recipe:
    """A recipe by name or from a file, with fields replaced by ``--field value`` options.

    A field may be written with dashes, ``--batch-size``, as other options are, and be nested,
    ``--solver.max_steps``.
    """
    from ddeq.training import PRESETS
    from ddeq.training.fields import from_plain, read_yaml

    if name in PRESETS:
        return with_options(PRESETS[name], options)
    if Path(name).suffix in (".yaml", ".yml") and Path(name).exists():
        return with_options(from_plain(read_yaml(Path(name))), options)
    names = ", ".join(PRESETS)
    raise DdeqError(f"no recipe {name!r}: neither a YAML file, nor clouds, nor one of {names}")


def with_options(recipe: Recipe, options: Sequence[str]) -> Recipe:
    """A recipe with fields replaced by ``--field value`` options."""
    from ddeq.training.fields import from_plain, parse_value, put, to_plain

    plain = to_plain(recipe)
    pairs = [(path.split("."), text) for path, text in _pairs(options)]
    for path, text in sorted(pairs, key=lambda pair: len(pair[0])):  # a class before its fields
        put(plain, path, parse_value(text, path))
    return from_plain(plain)


def _pairs(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names, with underscores, and values of ``--name value`` and ``--name=value``."""
    words = iter(options)
    for word in words:
        if not word.startswith("--"):
            raise DdeqError(f"unknown argument {word!r}; see ddeq train --help")
        name, equals, value = word[2:].partition("=")
        if not equals:
            following = next(words, None)
            if following is None or following.startswith("--"):
                raise DdeqError(f"--{name} needs a value")
            value = following
        yield name.replace("-", "_"), value


class _Help(argparse.Action):
    """The help of the command, then every field of a recipe with what it means."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from ddeq.training import Recipe

        print(parser.format_help())
        print("fields of a recipe, each an option:")
        indent = " " * 20
        for name, text in _meanings(Recipe.__doc__ or ""):
            head = f"  --{name}"
            words = textwrap.wrap(text, 78, initial_indent=indent, subsequent_indent=indent)
            print(head.ljust(19), "\n".join(words).lstrip())
        print("\nfields of its parts, each an option such as --solver.max_steps:")
        for name, kind in _parts().items():
            for title, cls in kind.items():
                names = ", ".join(_defaults(cls))
                text = f"{title}: {names}" if names else title
                print(textwrap.fill(f"--{name} {text}", 98, subsequent_indent=" " * 10))
        parser.exit()


def _meanings(doc: str) -> list[tuple[str, str]]:
    """Names and meanings of the attributes that a docstring lists."""
    section = inspect.cleandoc(doc).split("Attributes:\n")[1].split("\n\n")[0]
    entries = re.split(r"^    (?=\w+: )", section, flags=re.MULTILINE)[1:]
    pairs = (entry.split(": ", 1) for entry in entries)
    return [(name, " ".join(text.replace("``", "").split())) for name, text in pairs]


def _parts() -> dict[str, dict[str, type]]:
    """The classes that a field of a recipe may name."""
    from ddeq.adjoints import Adjoint
    from ddeq.nn import NetworkConfig
    from ddeq.registry import known
    from ddeq.solvers import Solver
    from ddeq.tasks import Task

    kinds = {"task": Task, "network": NetworkConfig, "solver": Solver, "adjoint": Adjoint}
    return {name: known(kind) for name, kind in kinds.items()}


def _defaults(cls: type) -> Iterator[str]:
    """The fields of a dataclass with their defaults."""
    for field in fields(cls):
        plain = isinstance(field.default, (bool, int, float, str, tuple))
        yield f"{field.name} {field.default}" if plain else field.name
