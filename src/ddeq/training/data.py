"""Training, validation and test batches of a recipe, the same for the same seed and step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import lightning as L
import numpy as np
from torch.utils.data import DataLoader

from ddeq.data import (
    AugmentedDataset,
    CloudDataset,
    LengthBuckets,
    subsample,
)
from ddeq.data.augmentations import Augmentation
from ddeq.data.sets.registry import load
from ddeq.training.recipe import Recipe
from ddeq.training.replay import replayed

__all__ = ["CloudData"]


class TrainingBuckets(LengthBuckets):
    """Length buckets whose batches come back, and that can begin in the middle of an epoch.

    A generator: epoch and start are read when the first batch is asked for, since Lightning makes
    the iterator before it knows where an interrupted run stands.
    """

    start = 0
    replay = 1

    def __iter__(self) -> Iterator[list[int]]:
        batches = list(super().__iter__())
        for step in range(self.start, len(batches)):
            yield batches[replayed(step, self.replay).batch]


class CloudData(L.LightningDataModule):
    """Batches for Lightning. The test set is not touched by training.

    Args:
        recipe: The run.
        root: Folder with the data; see :func:`ddeq.data.sets.registry.load`.
        whole: Clouds in memory, in place of the data that the recipe names.
    """

    def __init__(
        self, recipe: Recipe, root: str | Path | None = None, whole: CloudDataset | None = None
    ) -> None:
        super().__init__()
        self.recipe = recipe
        whole = load(recipe.data, "train", root, recipe.surface or None) if whole is None else whole
        whole = recipe.task.prepare(whole)
        self.train = self.validation = whole
        if recipe.validation:
            self.train, self.validation = whole.split(recipe.validation, recipe.seed)

    def train_dataloader(self) -> DataLoader:
        """Shuffled, augmented, bucketed by length; whole batches only."""
        data = self._changed(self.train)
        sampler = TrainingBuckets(
            np.minimum(self.train.lengths, self.recipe.max_points),
            min(self.recipe.batch_size, len(self.train)),
            self.recipe.seed,
            drop_last=True,
            window=10,  # of similar length also means of similar class: keep batches mixed
            rank=self.trainer.global_rank if self.trainer else 0,
            replicas=self.trainer.world_size if self.trainer else 1,
        )
        sampler.replay = self.recipe.replay
        return self._loader(data, sampler, training=True)

    def val_dataloader(self) -> DataLoader:
        """The held-out part, every cloud once, without noise."""
        sampler = LengthBuckets(self.validation.lengths, self.recipe.batch_size, shuffle=False)
        return self._loader(self.validation, sampler, training=False)

    def set_position(self, loader: DataLoader, epoch: int, batch: int) -> None:
        """Makes the next iteration begin at a batch of an epoch."""
        assert isinstance(loader.batch_sampler, TrainingBuckets)
        loader.batch_sampler.set_epoch(epoch)
        loader.batch_sampler.start = batch
        if hasattr(loader.dataset, "set_epoch"):
            loader.dataset.set_epoch(epoch)

    def _changed(self, data: CloudDataset) -> CloudDataset | AugmentedDataset:
        """The training clouds with the recipe's random changes."""
        changes: list[Augmentation] = []
        if self.recipe.augment:
            changes = list(self.recipe.task.augmentations(data))
        if data.lengths.max() > self.recipe.max_points:
            changes = [partial(subsample, most=self.recipe.max_points), *changes]
        return AugmentedDataset(data, changes, self.recipe.seed) if changes else data

    def _loader(
        self, data: CloudDataset | AugmentedDataset, sampler: LengthBuckets, training: bool
    ) -> DataLoader:
        task = self.recipe.task
        items = task.items(data, training, self.recipe.seed)
        return DataLoader(items, batch_sampler=sampler, collate_fn=task.collate)
