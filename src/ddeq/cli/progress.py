"""A progress line for people; nothing for logs and pipes."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable
from typing import TextIO, TypeVar

from ddeq.errors import printable

__all__ = ["print_line", "progress"]

Item = TypeVar("Item")

_PERIOD = 0.1  # seconds between two updates
_WIDTH = 20  # of the bar


def progress(
    iterable: Iterable[Item], total: int, label: str, stream: TextIO | None = None
) -> Generator[Item, None, None]:
    """Yields the items, and keeps one line up to date on a terminal; it is wiped at the end.

    Args:
        iterable: What is worked through.
        total: How many items there are.
        label: What they are.
        stream: Where the line goes, standard error by default; if it is no terminal, nowhere.

    Example:
        >>> sum(progress([1, 2, 3], 3, "numbers"))
        6
    """
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield from iterable
        return
    begin = shown = time.monotonic()
    try:
        for done, item in enumerate(iterable):
            now = time.monotonic()
            if now - shown >= _PERIOD:
                shown = now
                left = (now - begin) / done * (total - done) if done else 0.0
                bar = ("#" * (_WIDTH * done // max(total, 1))).ljust(_WIDTH)
                stream.write(f"\r[{bar}] {label} {done}/{total}, {left:.0f} s left \x1b[K")
                stream.flush()
            yield item
    finally:
        stream.write("\r\x1b[K")
        stream.flush()


def print_line(text: str, stream: TextIO | None = None) -> None:
    """Prints a line, with control characters written out, where a progress line may stand."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
    print(printable(text), file=sys.stdout if stream is None else stream, flush=True)
