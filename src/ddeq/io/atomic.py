"""Files that are whole or absent: the only place where one file takes the place of another."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_path", "move_into_place"]


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft beside ``path`` that takes its place if the block succeeds.

    A reader sees the old file or the new one, never a part, also after a crash of the machine:
    the draft is on the disk before it gets the name. After an error nothing is left of it.

    Args:
        path: The file to make; its folder is made if need be. A link is written through.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_path(Path(folder) / "figures.txt") as draft:
        ...         _ = draft.write_text("1 2 3")
        ...     [file.name for file in Path(folder).iterdir()]
        ['figures.txt']
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not mkstemp: its files are private, and a result, a cache or a data folder may be shared.
    draft = target.with_name(f".ddeq-{secrets.token_hex(8)}{target.suffix}")
    try:
        yield draft
        if target.exists():
            shutil.copymode(target, draft)
        move_into_place(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def move_into_place(draft: Path, target: Path) -> None:
    """Gives a finished file its name, once its bytes are on the disk."""
    _sync(draft, os.O_RDWR)
    os.replace(draft, target)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        _sync(target.parent, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
