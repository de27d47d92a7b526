"""The command line: ``ddeq COMMAND ...``.

Exit status: 0 done, 1 some of several files failed or a bug, 2 bad usage or bad input (one line
says what), 130 interrupted, 141 the reader of the output has gone, 143 terminated.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ddeq import __version__
from ddeq.cli.errors import missing_package
from ddeq.errors import DdeqError, printable

__all__ = ["main"]

COMMANDS = (
    "tour",
    "samples",
    "classify",
    "complete",
    "info",
    "flow",
    "demo",
    "train",
    "eval",
    "check-equilibrium",
    "plot",
    "bench",
    "reproduce",
    "data",
    "shell",
)
"""Each is a module of :mod:`ddeq.cli`, ``_`` for ``-``, that has ``add_parser`` and ``run``."""

_EXPECTED = (DdeqError, OSError, ModuleNotFoundError, KeyboardInterrupt)


class _Terminated(BaseException):
    """SIGTERM was received: what is open is closed, drafts are removed."""


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in words that are safe to print."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    with _termination():
        try:
            args = _parse([word for word in words if word != "--debug"])
            status: int = args.run(args)
            sys.stdout.flush()  # here, where a closed pipe is not noise
            return status
        except BrokenPipeError:
            return _pipe_closed()
        except (*_EXPECTED, _Terminated) as error:
            if debug:
                traceback.print_exc()
            return _explain(error, words[0] if words else "")


def _parse(words: list[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="ddeq",
        description="Point clouds at equilibrium: classify them, complete them, watch them flow.",
        epilog="Start with: ddeq tour. Each command explains itself: ddeq complete --help.",
    )
    parser.add_argument("--version", action="version", version=f"ddeq {__version__}")
    parser.add_argument(
        "--debug", action="store_true", help="show the traceback of every error, in any command"
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"ddeq.cli.{name.replace('-', '_')}").add_parser(subparsers)
    args, rest = parser.parse_known_args(words)
    if rest and not getattr(args, "takes_rest", False):
        parser.error(f"unknown argument {rest[0]!r}; see ddeq {args.command} --help")
    args.rest = rest
    return args


@contextmanager
def _termination() -> Iterator[None]:
    """Turns SIGTERM into an exception, where this is the thread that signals come to."""

    def stop(*_: Any) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _explain(error: BaseException, command: str) -> int:
    """Says in one line why a command ended; a missing module of our own is a bug."""
    if isinstance(error, KeyboardInterrupt):
        return _fail("interrupted", 130)
    if isinstance(error, _Terminated):
        return _fail("terminated", 143)
    if isinstance(error, ModuleNotFoundError):
        if not error.name or error.name.partition(".")[0] == "ddeq":
            raise error
        return _fail(missing_package(command, error.name))
    return _fail(" ".join(str(error).split()))


def _fail(message: str, status: int = 2) -> int:
    print(f"ddeq: {printable(message)}", file=sys.stderr)
    return status


def _pipe_closed() -> int:
    """Ends in silence when the reader of the output has gone, as ``head`` does."""
    # the interpreter flushes once more at its end
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
