"""How a run scales with its data, and what it says before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ddeq.training.recipe import Recipe

__all__ = ["Plan"]

_BETWEEN = 50  # steps between two validations of a small data set
_FEWEST = 10  # validations of a run that has as many epochs
_ENOUGH, _ENOUGH_AFTER = 300, 60  # steps that teach something, from scratch and after a transfer


@dataclass(frozen=True)
class Plan:
    """What a recipe means for so many clouds.

    Attributes:
        recipe: The run.
        clouds: Training clouds, without those that are held out.
        transfer: Whether it starts from trained weights.
    """

    recipe: Recipe
    clouds: int
    transfer: bool = False

    @property
    def per_epoch(self) -> int:
        """Steps per epoch."""
        return max(1, self.clouds // min(self.recipe.batch_size, self.clouds))

    @property
    def steps(self) -> int:
        """Steps of the run, if it goes by epochs."""
        return self.recipe.epochs * self.per_epoch

    @property
    def validate_every(self) -> int:
        """Epochs from one validation, picture and export to the next: a divisor of all epochs."""
        wanted = max(1, round(_BETWEEN / self.per_epoch))
        if self.recipe.minutes:
            return wanted
        most = max(1, min(wanted, self.recipe.epochs // _FEWEST))
        return max(n for n in range(1, most + 1) if self.recipe.epochs % n == 0)

    def lines(self) -> list[str]:
        """What is going to happen, and a warning if that cannot be enough."""
        recipe = self.recipe
        size = min(recipe.batch_size, self.clouds)
        epochs = f"{self.validate_every} epochs" if self.validate_every > 1 else "epoch"
        length = f"{_counted(self.steps, 'step')} in {_counted(recipe.epochs, 'epoch')}"
        if recipe.minutes:
            length = f"{recipe.minutes:g} minute{'' if recipe.minutes == 1 else 's'}"
        checked = f", validated every {epochs}" if recipe.validation else ""
        lines = [f"{_counted(self.clouds, 'cloud')} in batches of {size}: {length}{checked}"]
        enough = _ENOUGH_AFTER if self.transfer else _ENOUGH
        if not recipe.minutes and self.steps < enough:
            epochs = f"--epochs {math.ceil(enough / self.per_epoch)}"
            lines.append(
                f"warning: {_counted(self.steps, 'step')} cannot be enough, {enough} may be: "
                f"add {epochs} or --minutes 10"
            )
        return lines


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
