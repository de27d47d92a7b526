"""Cloud files as the commands use them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ddeq.clouds import PointClouds
from ddeq.data.files import READABLE, CloudFile, CloudFileError, read_cloud

__all__ = ["UserCloud", "each_file", "expand"]

NETWORK_POINTS = 1024
"""A network trained on hundreds of points sees at most this many; the file keeps them all."""


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

    def for_network(self) -> PointClouds:
        """The points in float32, thinned evenly if they are many, scaled to unit size.

        Float32 cannot hold map coordinates, so the mean is taken off in float64 first; the
        network normalises anyway.
        """
        points = self.thinned().astype(np.float64)
        points = (points - self.shift()) / self.scale()
        return PointClouds.from_list([torch.as_tensor(points, dtype=torch.float32)])

    def from_network(self, points: torch.Tensor) -> np.ndarray:
        """Points of the network's frame in the file's units and precision, ``(N, d)``."""
        own = points.detach().double().numpy() * self.scale() + self.shift()
        return own.astype(self.file.points.dtype)

    def thinned(self) -> np.ndarray:
        """All points, or a voxel-thinned part of many."""
        from ddeq.data import voxel_downsample

        points = self.file.points
        if len(points) <= NETWORK_POINTS:
            return points
        return voxel_downsample(points, NETWORK_POINTS)

    def shift(self) -> np.ndarray:
        """Mean of the points, ``(d,)``."""
        return self.file.points.mean(0, dtype=np.float64)

    def scale(self) -> float:
        """Largest deviation of a coordinate, 1 for a single place."""
        return float(self.file.points.std(0, dtype=np.float64).max()) or 1.0


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
