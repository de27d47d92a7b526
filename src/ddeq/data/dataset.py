"""A labelled set of point clouds, kept compactly and normalised on the way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ddeq.errors import DdeqError

__all__ = ["CloudDataset", "normalize_points"]


def normalize_points(points: np.ndarray, proportions: bool = False) -> np.ndarray:
    """A cloud with zero mean and unit variance per coordinate, ``(N, d) -> (N, d)`` float32.

    The moments are taken in float64, so that a cloud far from the origin loses nothing. A
    coordinate in which all points agree (up to float32 rounding) is centred and left unscaled.

    Args:
        points: The cloud.
        proportions: Keep them: one scale for all coordinates, such that the mean variance is 1.

    Example:
        >>> normalize_points(np.array([[1, 5], [3, 5]])).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
    """
    wide = points.astype(np.float64)
    centred = wide - wide.mean(0)
    variance = np.square(centred).mean(0)
    flat = np.sqrt(variance) <= 4 * np.finfo(np.float32).eps * np.abs(wide).max(0)
    variance = np.where(flat, 0.0, variance)
    scale = np.sqrt(variance.mean() if proportions else variance)
    return (centred / np.where(scale > 0, scale, 1.0)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class CloudDataset(Dataset[tuple[Tensor, float]]):
    """Point clouds of different sizes with one class label, or one number to predict, each.

    The points of all clouds stand one after another in a single array of whatever type the source
    has (``uint8`` for pixels), so that 60,000 digits take 18 MB. A subset shares that array.

    Attributes:
        name: What the set is called in messages.
        points: The points of all clouds, ``(T, d)``.
        starts: Row of ``points`` at which each cloud begins, ``(n,)`` int64.
        lengths: Number of points of each cloud, at least 1, ``(n,)`` int64.
        labels: Class index of each cloud, ``(n,)`` int64; without classes a number to predict,
            float64.
        classes: Name of each class; none for clouds with a number each.
        proportions: Items keep their proportions; see :func:`normalize_points`.
        names: Name of each cloud, for people; empty for a set whose clouds have none.

    Example:
        >>> data = CloudDataset.from_list([np.eye(2), np.eye(3, 2)], [1, 0], ("a", "b"), "tiny")
        >>> len(data), data.dim, data.lengths.tolist(), data[0][1]
        (2, 2, [2, 3], 1)
    """

    name: str
    points: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    proportions: bool = False
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.names and len(self.names) != len(self.labels):
            raise DdeqError(f"{self.name}: {len(self.names)} names, {len(self.labels)} clouds")
        if not len(self.starts) == len(self.lengths) == len(self.labels):
            raise DdeqError(
                f"{self.name}: {len(self.starts)} starts, {len(self.lengths)} lengths and "
                f"{len(self.labels)} labels must be equally many"
            )
        if len(self.lengths) and self.lengths.min() < 1:
            raise DdeqError(f"{self.name}: cloud {int(self.lengths.argmin())} is empty")
        if not len(self.labels):
            return
        if not self.classes:
            if not np.isfinite(self.labels).all():
                raise DdeqError(f"{self.name}: a target is not a finite number")
        elif not 0 <= self.labels.min() <= self.labels.max() < len(self.classes):
            raise DdeqError(
                f"{self.name}: labels must lie in 0..{len(self.classes) - 1}, "
                f"got {self.labels.min()}..{self.labels.max()}"
            )

    @classmethod
    def from_flat(
        cls,
        points: np.ndarray,
        lengths: np.ndarray,
        labels: Sequence[float] | np.ndarray,
        classes: Sequence[str],
        name: str,
    ) -> CloudDataset:
        """Builds the set from clouds that stand one after another.

        A cloud without points is left out together with its label: the labels of the others
        do not move.

        Args:
            points: ``(T, d)`` with ``T = sum(lengths)``.
            lengths: Number of points of each cloud, ``(n,)``, zero allowed.
            labels: Class index of each cloud, ``(n,)``; any number where there are no classes.
            classes: Name of each class, or none.
            name: What the set is called in messages.
        """
        lengths = np.asarray(lengths, dtype=np.int64)
        labels = _targets(labels, bool(len(classes)), name)
        if points.ndim != 2 or len(points) != lengths.sum():
            raise DdeqError(
                f"{name}: points of shape {points.shape} do not hold {lengths.sum()} points"
            )
        if len(labels) != len(lengths):
            raise DdeqError(f"{name}: {len(lengths)} clouds but {len(labels)} labels")
        starts = np.cumsum(lengths) - lengths
        full = lengths > 0
        return cls(name, points, starts[full], lengths[full], labels[full], tuple(classes))

    @classmethod
    def from_list(
        cls,
        clouds: Sequence[np.ndarray],
        labels: Sequence[float] | np.ndarray,
        classes: Sequence[str],
        name: str,
    ) -> CloudDataset:
        """Builds the set from separate clouds ``(N_i, d)``, kept as float32."""
        if len(clouds) == 0:
            raise DdeqError(f"{name}: no clouds")
        flat = np.concatenate([np.asarray(cloud, dtype=np.float32) for cloud in clouds])
        return cls.from_flat(flat, np.array([len(c) for c in clouds]), labels, classes, name)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, float]:
        """The normalised cloud ``(N, d)`` float32 and its label, an int where there are classes."""
        cloud = normalize_points(self.raw(index), self.proportions)
        return torch.from_numpy(cloud), self.labels[index].item()

    def __iter__(self) -> Iterator[tuple[Tensor, float]]:
        return (self[i] for i in range(len(self)))

    @property
    def dim(self) -> int:
        """Dimension ``d`` of the points."""
        return self.points.shape[1]

    @property
    def clouds(self) -> list[np.ndarray]:
        """All clouds as the source has them, ``n`` float32 arrays ``(N_i, d)``."""
        return [self.raw(i) for i in range(len(self))]

    def raw(self, index: int) -> np.ndarray:
        """The cloud as the source has it, before normalisation, ``(N, d)`` float32."""
        start = int(self.starts[index])
        return self.points[start : start + int(self.lengths[index])].astype(np.float32)

    def subset(self, indices: Sequence[int] | np.ndarray) -> CloudDataset:
        """The clouds at ``indices``, in that order, each with its label."""
        where = np.asarray(indices, dtype=np.int64)
        starts, lengths, labels = self.starts[where], self.lengths[where], self.labels[where]
        names = tuple(self.names[i] for i in where) if self.names else ()
        return replace(self, starts=starts, lengths=lengths, labels=labels, names=names)

    def in_proportion(self) -> CloudDataset:
        """The same set whose items keep their proportions, as classifiers take them."""
        return replace(self, proportions=True)

    def only(self, classes: Sequence[str], name: str | None = None) -> CloudDataset:
        """The clouds of some classes, relabelled by their place in ``classes``."""
        unknown = [c for c in classes if c not in self.classes]
        if unknown:
            raise DdeqError(f"{self.name} has no class {unknown[0]!r}")
        place = np.full(len(self.classes), -1, dtype=np.int64)
        place[[self.classes.index(c) for c in classes]] = np.arange(len(classes))
        part = self.subset(np.flatnonzero(place[self.labels] >= 0))
        labels = place[part.labels]
        return replace(part, name=name or self.name, labels=labels, classes=tuple(classes))

    def split(self, fraction: float, seed: int = 0) -> tuple[CloudDataset, CloudDataset]:
        """A random partition into a training and a validation part.

        Args:
            fraction: Share of the clouds that goes to the validation part, in ``(0, 1)``; each
                part gets at least one cloud.
            seed: The same seed gives the same partition.
        """
        if not 0 < fraction < 1:
            raise DdeqError(f"fraction must lie strictly between 0 and 1, got {fraction}")
        if len(self) < 2:
            raise DdeqError(f"{self.name}: {len(self)} clouds cannot be split in two")
        order = np.random.default_rng(seed).permutation(len(self))
        held_out = min(max(round(fraction * len(self)), 1), len(self) - 1)
        return self.subset(np.sort(order[held_out:])), self.subset(np.sort(order[:held_out]))


def _targets(labels: Sequence[float] | np.ndarray, indices: bool, name: str) -> np.ndarray:
    """Labels as int64 class indices, or as float64 numbers, ``(n,)``; nothing is rounded."""
    exact = np.asarray(labels, dtype=np.float64)
    if not indices:
        return exact
    whole = np.asarray(labels).astype(np.int64)
    if not (whole == exact).all():
        raise DdeqError(f"{name}: {exact[whole != exact][0]} is not a class index")
    return whole
