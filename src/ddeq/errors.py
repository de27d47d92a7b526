"""The error that tells a user what is wrong with their input, and text that is safe to print."""

from __future__ import annotations

__all__ = ["DdeqError", "printable"]


class DdeqError(ValueError):
    """Bad input: a file, a value or a name that cannot be used.

    The message is one line for people. The command line prints it and exits with status 2; every
    other error is a bug and shows its traceback.
    """


def printable(text: object) -> str:
    r"""Text on one line, with control characters written out: a file may have any name.

    Example:
        >>> print(printable("scan\x1b[31m\n.ply"))
        scan\x1b[31m\n.ply
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text)
    )
