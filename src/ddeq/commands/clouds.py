"""Cloud files as the commands use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from ddeq.clouds import PointClouds
from ddeq.data.files import READABLE, CloudFile, CloudFileError, read_cloud
from ddeq.data.view import NetworkView

__all__ = ["UserCloud", "each_file", "expand"]


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


def each_file(paths: Iterable[str]) -> Iterator[tuple[Path, UserCloud | None, str]]:
    """Every file with its cloud, or with what is wrong with it."""
    for path in expand(paths):
        try:
            yield path, UserCloud(read_cloud(path)), ""
        except CloudFileError as error:
            yield path, None, str(error)
