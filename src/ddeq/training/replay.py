"""Which batch a training step works on when batches come back with their particles.

A one-step gradient teaches the network what to do at the iterates it sees. Seeing late iterates by
solving each batch to the end is expensive, and never seeing them leaves the equilibrium to chance:
particles that go on for longer than in training fall together. So a few batches are kept at hand
and replayed in turn; each replay goes on from where the last one stopped.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SLOTS", "Replayed", "replayed"]

SLOTS = 16  # batches at hand


class Replayed(NamedTuple):
    """What a step of an epoch works on.

    Attributes:
        slot: Where the particles of the batch are kept.
        batch: Number of the batch in the order of the epoch.
        first: The step of the epoch that brought this batch.
    """

    slot: int
    batch: int
    first: int


def replayed(step: int, times: int) -> Replayed:
    """What a step works on when each batch is trained on ``times`` times.

    The slots take turns, and they get new batches at different times, so that at any time all
    stages of a solve are at hand. It follows from the step alone: nothing has to be remembered.

    Example:
        >>> [replayed(step, times=1).batch for step in (0, 1, 40)]
        [0, 1, 40]
        >>> [replayed(step, times=3).batch for step in (1, 17, 33)]  # slot 1 begins in the middle
        [1, 1, 17]
        >>> replayed(33, times=3).first
        33
    """
    turn, slot = divmod(step, SLOTS)
    ahead = slot % times
    generation = (turn + ahead) // times
    first = max(generation * times - ahead, 0) * SLOTS + slot
    return Replayed(slot, generation * SLOTS + slot, first)
