"""Cloud files as the commands use them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ddeq.cli.progress import print_line, progress
from ddeq.errors import DdeqError
from ddeq.inference import check_cloud
from ddeq.io.files import READABLE, CloudFile, is_readable, read_cloud
from ddeq.io.formats.base import file_error

__all__ = ["expand", "for_each_file", "read_user_cloud"]


def expand(paths: Iterable[str]) -> list[Path]:
    """Files as they are; a folder stands for the cloud files in it."""
    files: list[Path] = []
    for name in paths:
        path = Path(name)
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(p for p in path.iterdir() if is_readable(p))
        if not inside:
            raise file_error(path, f"no cloud files in this folder ({' '.join(READABLE)})")
        files.extend(inside)
    return files


def read_user_cloud(path: Path, surface: int | None = None) -> CloudFile:
    """The cloud of a file, if there is enough of it to work with.

    Args:
        path: The file.
        surface: Of a mesh, how many points of its surface to take; its vertices by default.
    """
    file = read_cloud(path, surface_points=surface)
    if len(file.points) < 2:
        raise file_error(path, "holds a single point; a cloud needs two or more")
    try:
        check_cloud(file.points)
    except DdeqError as error:
        raise file_error(path, str(error)) from error
    return file


def for_each_file(files: Sequence[Path], work: Callable[[Path], Sequence[str]]) -> int:
    """Does some work on every file, with a progress bar over several.

    A bad file is named in a line on standard error, and the others are done.

    Args:
        files: The files.
        work: Returns the lines that say what was done.

    Returns:
        The exit status: 0 all done, 1 some, 2 none.
    """
    done = 0
    shown = progress(files, len(files), "files") if len(files) > 1 else files
    for path in shown:
        try:
            lines, stream = work(path), sys.stdout
            done += 1
        except (DdeqError, OSError) as problem:
            lines, stream = [f"ddeq: {' '.join(str(problem).split())}"], sys.stderr
        for line in lines:
            print_line(line, stream)
    return 0 if done == len(files) else 1 if done else 2
