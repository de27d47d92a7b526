"""The command line: ``ddeq COMMAND ...``.

Exit status: 0 done, 1 some of several files failed, 2 bad usage or bad input (one line says what).
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

__all__ = ["main"]

COMMANDS = (
    "tour",
    "classify",
    "complete",
    "info",
    "flow",
    "demo",
    "train",
    "eval",
    "plot",
    "bench",
    "data",
    "shell",
)
"""Each is a module of :mod:`ddeq.cli` with ``add_parser(subparsers)`` and ``run(args)``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="ddeq",
        description="Point clouds at equilibrium: classify them, complete them, watch them flow.",
        epilog="Start with: ddeq tour. Each command explains itself: ddeq complete --help.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"ddeq.cli.{name}").add_parser(subparsers)
    args, rest = parser.parse_known_args(argv)
    if rest and not getattr(args, "takes_rest", False):
        parser.error(f"unknown argument {rest[0]!r}; see ddeq {args.command} --help")
    args.rest = rest
    try:
        return args.run(args)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        return _fail(f"{args.command} needs {package}: pip install {package}")
    except (ValueError, OSError) as error:
        return _fail(" ".join(str(error).split()))
    except KeyboardInterrupt:
        return _fail("interrupted", status=130)


def _fail(message: str, status: int = 2) -> int:
    print(f"ddeq: {message}", file=sys.stderr)
    return status
