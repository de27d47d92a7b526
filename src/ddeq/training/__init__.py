"""Recipes, and training, which needs ``pip install lightning tensorboard``."""

from typing import Any

from ddeq.training.presets import PRESETS
from ddeq.training.recipe import Recipe

__all__ = ["PRESETS", "Recipe", "train"]


def __getattr__(name: str) -> Any:
    if name == "train":  # Lightning is loaded only when something is trained
        from ddeq.training.run import train

        return train
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
