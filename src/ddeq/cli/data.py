"""``ddeq data``: which data sets there are, what is in them, how to get them."""

from __future__ import annotations

import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "data",
        help="list, describe or download data sets",
        description="Data sets by name. mnist-mini and shapes come with the package.",
        epilog="Example: ddeq data info mnist-mini",
    )
    parser.add_argument("action", choices=("list", "info", "fetch"))
    parser.add_argument("name", nargs="?", help="a data set's name, or a folder of cloud files")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from ddeq.data import commands

    if args.action == "list":
        commands.list_data(args.data_root)
        return 0
    if args.name is None:
        raise ValueError(f"data {args.action} needs the name of a data set; see ddeq data list")
    (commands.info if args.action == "info" else commands.fetch)(args.name, args.data_root)
    return 0
