"""What a command says when it cannot do what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["UsageError", "output_path"]


class UsageError(ValueError):
    """Bad usage or bad input; the message is one line. The command line exits with status 2."""


def output_path(name: str, endings: Sequence[str], force: bool = False) -> Path:
    """A file that may be written.

    Call it before any work is done, so that nobody waits for a result that cannot be kept.

    Args:
        name: As the user gave it.
        endings: What it may end in, such as ``.png``.
        force: Whether an existing file may be replaced.

    Raises:
        UsageError: for another ending, for a folder, or for a file that exists, without ``force``.
    """
    path = Path(name)
    if path.suffix.lower() not in endings:
        raise UsageError(f"{name}: the file must end in {' or '.join(endings)}")
    if path.is_dir():
        raise UsageError(f"{name} is a folder")
    if path.exists() and not force:
        raise UsageError(f"{name} exists: add --force to overwrite it")
    return path
