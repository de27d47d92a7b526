"""From a data set to batches: length buckets, corrupted and augmented views, collate functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from ddeq.data.augmentations import Augmentation
from ddeq.data.corruptions import add_noise, item_rng, make_partial
from ddeq.data.dataset import CloudDataset, normalize_points
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds

__all__ = [
    "AugmentedDataset",
    "DrawnDataset",
    "LengthBuckets",
    "PartialBatch",
    "PartialDataset",
    "PartialItem",
    "collate",
    "collate_partial",
]

Item = TypeVar("Item")


class LengthBuckets(Sampler[list[int]]):
    """Batches of clouds of similar length, so that little of a batch is padding.

    The indices are shuffled, sorted by length inside windows of ``window`` batches, cut into
    batches, and the batches are shuffled. All of it follows from ``(seed, epoch)``.

    Args:
        lengths: Number of points of each cloud, ``(n,)``.
        batch_size: Clouds in a batch.
        seed: Seed of the order.
        shuffle: False keeps the order of the set but for the sorting inside windows.
        drop_last: Leave out ``n % batch_size`` clouds, chosen by the shuffle, another lot each
            epoch; otherwise one batch is smaller.
        window: Batches that are sorted together: more means less padding and less mixing.
        rank: Which share of each batch to give, for data-parallel training.
        replicas: Number of shares, a divisor of ``batch_size``. Share ``r`` has the clouds ``r``,
            ``r + replicas``, ... of every batch, so that together the shares are the batches of
            one process. A last, smaller batch is filled up from its own start to be divided.

    Example:
        >>> batches = list(LengthBuckets([5, 9, 5, 9], batch_size=2))
        >>> sorted(sorted(batch) for batch in batches)
        [[0, 2], [1, 3]]
    """

    def __init__(
        self,
        lengths: Sequence[int] | np.ndarray,
        batch_size: int,
        seed: int = 0,
        *,
        shuffle: bool = True,
        drop_last: bool = False,
        window: int = 50,
        rank: int = 0,
        replicas: int = 1,
    ) -> None:
        if batch_size < 1 or window < 1:
            raise DdeqError(f"batch_size and window must be positive: {batch_size}, {window}")
        if not 0 <= rank < replicas:
            raise DdeqError(f"rank must lie in 0..{replicas - 1}, got {rank}")
        if batch_size % replicas:
            raise DdeqError(f"{batch_size} clouds cannot be divided among {replicas} processes")
        self.lengths = np.asarray(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.window = window
        self.rank = rank
        self.replicas = replicas
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration use the order of ``epoch``."""
        self.epoch = epoch

    def __len__(self) -> int:
        count = len(self.lengths)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        count = len(self.lengths)
        order = rng.permutation(count) if self.shuffle else np.arange(count)
        if self.drop_last:
            order = order[: count - count % self.batch_size]
        batches = self._cut(order)
        if self.shuffle:
            batches = [batches[i] for i in rng.permutation(len(batches))]
        return iter([self._share(batch) for batch in batches])

    def _share(self, batch: list[int]) -> list[int]:
        """What this rank takes of a batch."""
        places = range(self.rank, len(batch) + -len(batch) % self.replicas, self.replicas)
        return [batch[i % len(batch)] for i in places]

    def _cut(self, order: np.ndarray) -> list[list[int]]:
        """Batches of an order, sorted by length inside each window."""
        size = self.batch_size
        batches: list[list[int]] = []
        for start in range(0, len(order), size * self.window):
            part = order[start : start + size * self.window]
            part = part[np.argsort(self.lengths[part], kind="stable")]
            batches += [part[i : i + size].tolist() for i in range(0, len(part), size)]
        return batches


class DrawnDataset(Dataset[Item], Generic[Item]):
    """Items that are drawn at random from the clouds of another data set, anew each epoch.

    A subclass has ``__getitem__``, which draws from ``seed``, ``epoch`` and the index alone.

    Args:
        data: The clouds.
        seed: Seed of what is drawn.
    """

    def __init__(self, data: CloudDataset | DrawnDataset[Any], seed: int = 0) -> None:
        self.data = data
        self.seed = seed
        self.epoch = 0

    @property
    def lengths(self) -> np.ndarray:
        """Number of points of each whole cloud, ``(n,)``."""
        return self.data.lengths

    def set_epoch(self, epoch: int) -> None:
        """Draws what belongs to ``epoch`` from now on (call it before workers start)."""
        self.epoch = epoch
        if isinstance(self.data, DrawnDataset):
            self.data.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.data)


class AugmentedDataset(DrawnDataset[tuple[Tensor, float]]):
    """A data set whose clouds are changed at random, in another way each epoch.

    A cloud is centred and scaled to unit variance as a whole, so that its proportions stay, then
    augmented, then normalised as the items of ``data`` are.

    Args:
        data: The clouds.
        augmentations: Applied one after another.
        seed: Seed of the changes; with :meth:`set_epoch` it determines them all.
    """

    data: CloudDataset

    def __init__(
        self, data: CloudDataset, augmentations: Sequence[Augmentation], seed: int = 0
    ) -> None:
        super().__init__(data, seed)
        self.augmentations = tuple(augmentations)

    def __getitem__(self, index: int) -> tuple[Tensor, float]:
        """The changed, normalised cloud ``(N, d)`` and its label."""
        cloud = torch.from_numpy(normalize_points(self.data.raw(index), proportions=True))
        rng = item_rng(self.seed, index % len(self), self.epoch, stream=1)
        for augment in self.augmentations:
            cloud = augment(cloud, rng)
        ready = normalize_points(cloud.numpy(), self.data.proportions)
        return torch.from_numpy(ready), self.data.labels[index].item()


class PartialItem(NamedTuple):
    """One completion task: ``partial`` is seen, ``removed`` is wanted, ``target`` is the whole."""

    partial: Tensor
    removed: Tensor
    target: Tensor
    label: float


class PartialBatch(NamedTuple):
    """A batch of completion tasks.

    Attributes:
        partial: What the model sees: the kept points, some of them noisy.
        removed: The removed points.
        target: The whole clouds, without noise.
        labels: ``(B,)`` int64, or float32 for numbers.
    """

    partial: PointClouds
    removed: PointClouds
    target: PointClouds
    labels: Tensor

    def to(self, device: torch.device | str) -> PartialBatch:
        """The same batch on another device."""
        return PartialBatch(
            self.partial.to(device),
            self.removed.to(device),
            self.target.to(device),
            self.labels.to(device),
        )


class PartialDataset(DrawnDataset[PartialItem]):
    """Completion tasks made from whole clouds, the same ones for the same seed and epoch.

    Args:
        data: Items ``(cloud, label)`` with normalised clouds.
        radius: Radius of the two removed balls.
        noise: Share of the kept points that get ``N(0, 1)`` noise.
        seed: Seed of the choice and the noise.
    """

    def __init__(
        self,
        data: CloudDataset | AugmentedDataset,
        radius: float,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(data, seed)
        self.radius = radius
        self.noise = noise

    def __getitem__(self, index: int) -> PartialItem:
        """The task made from cloud ``index``."""
        cloud, label = self.data[index]
        rng = item_rng(self.seed, index % len(self), self.epoch)
        kept, removed = make_partial(cloud, self.radius, rng)
        return PartialItem(add_noise(kept, self.noise, rng), removed, cloud, label)


def collate(items: Sequence[tuple[Tensor, float]]) -> tuple[PointClouds, Tensor]:
    """Labelled clouds as one padded batch and labels ``(B,)``: int64, or float32 for numbers."""
    clouds, labels = zip(*items, strict=True)
    return PointClouds.from_list(clouds), torch.tensor(labels)


def collate_partial(items: Sequence[PartialItem]) -> PartialBatch:
    """Completion tasks as one batch."""
    partial, removed, target, labels = zip(*items, strict=True)
    return PartialBatch(
        PointClouds.from_list(partial),
        PointClouds.from_list(removed),
        PointClouds.from_list(target),
        torch.tensor(labels),
    )
