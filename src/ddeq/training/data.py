"""Training, validation and test batches of a recipe, the same for the same seed and step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import lightning as L
import numpy as np
from torch.utils.data import DataLoader

from ddeq.data import (
    PARTIAL_RADIUS,
    AugmentedDataset,
    CloudDataset,
    LengthBuckets,
    PartialDataset,
    affine,
    collate,
    collate_partial,
    distort,
    even,
    jitter,
    mirror,
    stretch,
    thin,
)
from ddeq.data.augmentations import Augmentation
from ddeq.data.sets.registry import load
from ddeq.training.recipe import Recipe
from ddeq.training.replay import visit

__all__ = ["CloudData"]


_OF_DIMENSION: dict[int, tuple[Augmentation, ...]] = {2: (affine,), 3: (mirror, distort)}
_OF_SHAPES = (*_OF_DIMENSION[3], stretch)  # to classify: an object of a class has any proportions


class TrainingBuckets(LengthBuckets):
    """Length buckets whose batches come back, and that can begin in the middle of an epoch.

    A generator: epoch and start are read when the first batch is asked for, since Lightning makes
    the iterator before it knows where an interrupted run stands.
    """

    start = 0
    visits = 1

    def __iter__(self) -> Iterator[list[int]]:
        batches = list(super().__iter__())
        for step in range(self.start, len(batches)):
            yield batches[visit(step, self.visits).batch]


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
        whole = load(recipe.data, "train", root) if whole is None else whole
        if recipe.task == "classification" and recipe.proportions:
            whole = whole.in_proportion()
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
        sampler.visits = self.recipe.visits
        return self._loader(data, sampler, noise=self.recipe.noise)

    def val_dataloader(self) -> DataLoader:
        """The held-out part, every cloud once, without noise."""
        sampler = LengthBuckets(self.validation.lengths, self.recipe.batch_size, shuffle=False)
        return self._loader(self.validation, sampler, noise=0.0)

    def set_position(self, loader: DataLoader, epoch: int, batch: int) -> None:
        """Makes the next iteration begin at a batch of an epoch."""
        assert isinstance(loader.batch_sampler, TrainingBuckets)
        loader.batch_sampler.set_epoch(epoch)
        loader.batch_sampler.start = batch
        if isinstance(loader.dataset, (AugmentedDataset, PartialDataset)):
            loader.dataset.set_epoch(epoch)

    def _changed(self, data: CloudDataset) -> CloudDataset | AugmentedDataset:
        """The training clouds with the recipe's random changes."""
        changes: list[Augmentation] = []
        if self.recipe.augment:
            shapes = data.dim == 3 and self.recipe.task == "classification"
            changes = [*(_OF_SHAPES if shapes else _OF_DIMENSION.get(data.dim, (distort,))), jitter]
            changes += [even] if data.proportions else []
        if data.lengths.max() > self.recipe.max_points:
            changes = [partial(thin, most=self.recipe.max_points), *changes]
        return AugmentedDataset(data, changes, self.recipe.seed) if changes else data

    def _loader(
        self, data: CloudDataset | AugmentedDataset, sampler: LengthBuckets, noise: float
    ) -> DataLoader:
        if self.recipe.task == "classification":
            return DataLoader(data, batch_sampler=sampler, collate_fn=collate)
        radius = PARTIAL_RADIUS[self.train.dim]
        tasks = PartialDataset(data, radius, noise, self.recipe.seed)
        return DataLoader(tasks, batch_sampler=sampler, collate_fn=collate_partial)
