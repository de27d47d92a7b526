"""What a command says when it cannot do what was asked."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["UsageError", "output_path", "written_whole"]


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


def written_whole(name: str | Path, write: Callable[[Path], None]) -> None:
    """Lets ``write`` fill a draft beside the file and moves it into place when it is whole."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".ddeq-{secrets.token_hex(8)}{path.suffix}")
    try:
        write(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
