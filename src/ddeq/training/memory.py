"""Batches of clouds that are in memory already."""

from __future__ import annotations

import lightning as L

from ddeq.data.dataset import CloudDataset
from ddeq.training.data import CloudData
from ddeq.training.recipes import Recipe

__all__ = ["MemoryData"]


class MemoryData(CloudData):
    """Batches of a given set, whatever the recipe calls its data.

    Args:
        recipe: The run; with ``validation=0`` every cloud is trained on.
        clouds: The training clouds.
    """

    def __init__(self, recipe: Recipe, clouds: CloudDataset) -> None:
        L.LightningDataModule.__init__(self)  # CloudData's own would look for files
        self.recipe = recipe
        self.root = None
        self.train = self.validation = clouds
        if recipe.validation:
            self.train, self.validation = clouds.split(recipe.validation, recipe.seed)
