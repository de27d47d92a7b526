"""Training with Lightning. Needs ``pip install ddeq[train]``."""

from ddeq.training.recipes import RECIPES, Recipe
from ddeq.training.run import train

__all__ = ["RECIPES", "Recipe", "train"]
