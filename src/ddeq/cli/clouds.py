"""Cloud files as the commands use them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from ddeq.cli.progress import print_line, progress
from ddeq.data.view import NetworkView
from ddeq.io.files import READABLE, CloudFile, CloudFileError, read_cloud
from ddeq.io.formats.base import file_error
from ddeq.measures.clouds import PointClouds

__all__ = ["UserCloud", "expand", "for_each_file", "read_user_cloud"]

_LARGEST = 1e100  # squares and sums of larger numbers overflow


@dataclass(frozen=True, eq=False)
class UserCloud:
    """A cloud of a user's file.

    Attributes:
        file: The file as read: points in their own precision, order and units.
    """

    file: CloudFile

    @property
    def dim(self) -> int:
        """Dimension of the points."""
        return self.file.points.shape[1]

    @cached_property
    def view(self) -> NetworkView:
        """The cloud as a network sees it."""
        return NetworkView(self.file.points)

    def for_network(self) -> PointClouds:
        """The points in float32, thinned evenly if they are many, scaled to unit size."""
        return self.view.for_network()

    def from_network(self, points: torch.Tensor) -> np.ndarray:
        """Points of the network's frame in the file's units and precision, ``(N, d)``."""
        return self.view.from_network(points)


def expand(paths: Iterable[str]) -> list[Path]:
    """Files as they are; a folder stands for the cloud files in it."""
    files: list[Path] = []
    for name in paths:
        path = Path(name)
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(p for p in path.iterdir() if p.suffix.lower() in READABLE)
        if not inside:
            raise CloudFileError(f"{path}: no cloud files in this folder ({' '.join(READABLE)})")
        files.extend(inside)
    return files


def read_user_cloud(path: Path, surface: int | None = None) -> UserCloud:
    """The cloud of a file, if there is enough of it to work with.

    Args:
        path: The file.
        surface: Of a mesh, how many points of its surface to take; its vertices by default.
    """
    file = read_cloud(path, surface_points=surface)
    if len(file.points) < 2:
        raise file_error(path, "holds a single point; a cloud needs two or more")
    if not max(-float(file.points.min()), float(file.points.max())) < _LARGEST:
        raise file_error(path, f"has coordinates above {_LARGEST:g}; choose another unit")
    return UserCloud(file)


def for_each_file(
    files: list[Path], work: Callable[[UserCloud], str], surface: int | None = None
) -> int:
    """Does some work on every file, with a progress bar over several.

    A bad file is named in a line on standard error, and the others are done.

    Args:
        files: The files.
        work: Returns a line that says what was done; an empty one is not printed.
        surface: See :func:`read_user_cloud`.

    Returns:
        The exit status: 0 all done, 1 some, 2 none.
    """
    done = 0
    shown = progress(files, len(files), "files") if len(files) > 1 else files
    for path in shown:
        try:
            line, stream = work(read_user_cloud(path, surface)), sys.stdout
            done += 1
        except ValueError as problem:
            line, stream = f"ddeq: {' '.join(str(problem).split())}", sys.stderr
        if line:
            print_line(line, stream)
    return 0 if done == len(files) else 1 if done else 2
