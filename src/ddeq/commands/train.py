"""``ddeq train``: runs a recipe."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

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
            "earlier run wrote. Every field of the recipe is an option, e.g. --epochs 2; "
            "ddeq train RECIPE --print shows them all. The model is left in OUT/model."
        ),
        epilog="Example: ddeq train mini-classification --epochs 3 -o runs/try",
    )
    parser.add_argument("recipe", nargs="?", help="name of a recipe, or a YAML file")
    parser.add_argument("-o", "--out", help="folder of the run (default: runs/RECIPE)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.add_argument("--resume", action="store_true", help="go on after an interruption")
    parser.add_argument("--force", action="store_true", help="start over in a folder that is used")
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
    recipe = parse_recipe(args.recipe, args.rest)
    text = yaml.safe_dump(_plain(recipe), sort_keys=False)
    if args.print:
        print(text, end="")
        return 0
    out = Path(args.out or f"runs/{Path(args.recipe).stem}")
    if (out / "recipe.yaml").exists() and not (args.resume or args.force):
        raise ValueError(f"{out} holds a run: add --resume to go on with it, --force to start over")
    out.mkdir(parents=True, exist_ok=True)
    (out / "recipe.yaml").write_text(text)
    train(recipe, out, args.data_root, resume=args.resume)
    print(f"model in {out / 'model'}")
    if args.recipe in RECIPES:
        print(f"measure it with: ddeq eval {args.recipe} --weights {out / 'model'}")
    return 0


def parse_recipe(name: str, options: list[str]) -> Recipe:
    """A recipe by name or from a file, with fields replaced by ``--field value`` options."""
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
        values = parser.parse_args(options).as_dict()
    except Exception as error:
        raise ValueError(str(error)) from error
    return Recipe(**{**values, "train_steps": tuple(values["train_steps"])})


def _plain(recipe: Recipe) -> dict:
    values = asdict(recipe)
    return {**values, "train_steps": list(values["train_steps"])}
