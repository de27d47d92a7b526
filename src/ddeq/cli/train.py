"""``ddeq train``: runs a recipe."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddeq.training import Recipe

__all__ = ["add_parser", "parse_recipe", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "train",
        help="train a model",
        description=(
            "Trains a model by a recipe: a name (ddeq train --list), or a recipe.yaml that an "
            "earlier run wrote. Every field of the recipe is an option, given after its name: "
            "--epochs 2 --train-steps [4,8]; ddeq train RECIPE --print shows their values. The "
            "model is left in OUT/model, the recipe in OUT/recipe.yaml, figures in "
            "OUT/metrics.csv and for TensorBoard, a picture of each epoch in OUT/samples, and "
            "checkpoints, from which a killed run goes on exactly, in OUT/checkpoints."
        ),
        epilog=(
            "Examples: ddeq train mini-classification --epochs 3 -o runs/try; "
            "ddeq train runs/try/recipe.yaml --init runs/try/model -o runs/more"
        ),
        allow_abbrev=False,  # --data is a field of the recipe, not short for --data-root
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=_Help, nargs=0, help="show this and stop")
    parser.add_argument("recipe", nargs="?", help="name of a recipe, or a YAML file")
    parser.add_argument("-o", "--out", help="folder of the run (default: runs/RECIPE)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.add_argument("--init", metavar="WEIGHTS", help="fine-tune: start from a name or folder")
    parser.add_argument("--resume", action="store_true", help="go on after an interruption")
    parser.add_argument("--force", action="store_true", help="start over in a folder that is used")
    parser.add_argument("--devices", type=int, metavar="N", help="processes that share each batch")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="machines of so many (1)")
    parser.add_argument("--save-every", type=int, default=200, metavar="N", help="steps (200)")
    parser.add_argument("--log-every", type=int, default=50, metavar="N", help="steps (50)")
    parser.add_argument("--wandb", action="store_true", help="also log to Weights & Biases")
    parser.add_argument("--list", action="store_true", help="list the recipes and stop")
    parser.add_argument("--print", action="store_true", help="print the recipe as YAML and stop")
    parser.set_defaults(run=run, takes_rest=True)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    import yaml

    from ddeq.training import RECIPES, train

    if args.list or args.recipe is None:
        for name, recipe in RECIPES.items():
            print(f"{name:34}{recipe.task} of {recipe.data}, {recipe.epochs} epochs")
        return 0
    out = Path(args.out or f"runs/{Path(args.recipe).stem}")
    recipe = _resumed(out, args) if args.resume else parse_recipe(args.recipe, args.rest)
    text = yaml.safe_dump(_plain(recipe), sort_keys=False)
    if args.print:
        print(text, end="")
        return 0
    options = _trainer_options(args, recipe)
    first = _rank() == 0  # the other processes run the same command beside the first
    if first:
        _claim(out, text, args)
    train(
        recipe,
        out,
        args.data_root,
        init=args.init,
        resume=args.resume,
        save_every=args.save_every,
        wandb=args.wandb,
        trainer_options=options,
    )
    if first:
        print(f"model in {out / 'model'}")
        print(f"measure it with: ddeq eval {out / 'recipe.yaml'} --weights {out / 'model'}")
    return 0


def _resumed(out: Path, args: argparse.Namespace) -> Recipe:
    """The recipe of the run to go on with; only options that are given again replace its fields."""
    named = parse_recipe(args.recipe, args.rest)
    if not (out / "recipe.yaml").exists():
        return named
    begun = parse_recipe(str(out / "recipe.yaml"), args.rest)
    if (begun.task, begun.data) != (named.task, named.data):
        raise ValueError(
            f"{out} holds {begun.task} of {begun.data}, not {named.task} of {named.data}: "
            "choose another folder with -o"
        )
    return begun


def _claim(out: Path, text: str, args: argparse.Namespace) -> None:
    """Makes the folder of a run, which must not hold another one; ``--force`` removes that."""
    used = (out / "recipe.yaml").exists()
    if used and not (args.resume or args.force):
        raise ValueError(f"{out} holds a run: add --resume to go on with it, --force to start over")
    if used and not args.resume:
        for name in ("checkpoints", "samples", "tensorboard", "model"):
            shutil.rmtree(out / name, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "recipe.yaml").write_text(text)


def _trainer_options(args: argparse.Namespace, recipe: Recipe) -> dict[str, Any]:
    """Options of Lightning's trainer; wrong ones are found before anything starts."""
    for name in ("devices", "nodes", "save_every", "log_every"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    if args.wandb:
        from ddeq.training.loggers import check_wandb

        check_wandb()
    options: dict[str, Any] = {"log_every_n_steps": args.log_every, "num_nodes": args.nodes}
    if args.devices is not None:
        options["devices"] = args.devices
    processes = (args.devices or 1) * args.nodes
    if processes > 1:
        options["strategy"] = "ddp"
    if recipe.batch_size % processes:
        raise ValueError(
            f"batch_size {recipe.batch_size} cannot be divided among {processes} processes"
        )
    return options


def _rank() -> int:
    """Which of the processes that share the batches this is."""
    for name in ("RANK", "SLURM_PROCID"):
        if name in os.environ:
            return int(os.environ[name])
    return max(int(os.environ.get(name, 0)) for name in ("LOCAL_RANK", "NODE_RANK"))


def parse_recipe(name: str, options: list[str]) -> Recipe:
    """A recipe by name or from a file, with fields replaced by ``--field value`` options.

    A field may be written with dashes, ``--batch-size``, as other options are.
    """
    from jsonargparse import ArgumentParser

    from ddeq.training import RECIPES, Recipe

    parser = ArgumentParser(prog=f"ddeq train {name}", exit_on_error=False)
    parser.add_class_arguments(Recipe, as_group=False)
    if name in RECIPES:
        parser.set_defaults(_plain(RECIPES[name]))
    elif Path(name).suffix in (".yaml", ".yml") and Path(name).exists():
        import yaml

        parser.set_defaults(yaml.safe_load(Path(name).read_text()))
    else:
        raise ValueError(f"no recipe {name!r}: neither a YAML file nor one of {', '.join(RECIPES)}")
    try:
        values = parser.parse_args([_underscored(option) for option in options]).as_dict()
    except Exception as error:
        raise ValueError(str(error)) from error
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return Recipe(**fields)


def _underscored(option: str) -> str:
    """``--batch-size=8`` as ``--batch_size=8``; anything else as it is."""
    if not option.startswith("--"):
        return option
    name, equals, value = option[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


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
        parser.exit()


def _meanings(doc: str) -> list[tuple[str, str]]:
    """Names and meanings of the attributes that a docstring lists."""
    section = inspect.cleandoc(doc).split("Attributes:\n")[1].split("\n\n")[0]
    entries = re.split(r"^    (?=\w+: )", section, flags=re.MULTILINE)[1:]
    pairs = (entry.split(": ", 1) for entry in entries)
    return [(name, " ".join(text.replace("``", "").split())) for name, text in pairs]


def _plain(recipe: Recipe) -> dict:
    values = asdict(recipe)
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
