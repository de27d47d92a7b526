"""Which batch a training step works on when batches come back with their particles.

A one-step gradient teaches the network what to do at the iterates it sees. Seeing late iterates by
solving each batch to the end is expensive, and never seeing them leaves the equilibrium to chance:
particles that go on for longer than in training fall together. So a few batches are kept at hand
and visited in turn; each visit goes on from where the last one stopped.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SLOTS", "Visit", "visit"]

SLOTS = 16  # batches at hand


class Visit(NamedTuple):
    """What a step of an epoch works on.

    Attributes:
        slot: Where the particles of the batch are kept.
        batch: Number of the batch in the order of the epoch.
        first: The step of the epoch that brought this batch.
    """

    slot: int
    batch: int
    first: int


def visit(step: int, visits: int) -> Visit:
    """The visit of a step when each batch is visited ``visits`` times.

    The slots take turns, and they get new batches at different times, so that at any time all
    stages of a solve are at hand. It follows from the step alone: nothing has to be remembered.

    Example:
        >>> [visit(step, visits=1).batch for step in (0, 1, 40)]
        [0, 1, 40]
        >>> [visit(step, visits=3).batch for step in (1, 17, 33)]  # slot 1 begins in the middle
        [1, 1, 17]
        >>> visit(33, visits=3).first
        33
    """
    turn, slot = divmod(step, SLOTS)
    ahead = slot % visits
    generation = (turn + ahead) // visits
    first = max(generation * visits - ahead, 0) * SLOTS + slot
    return Visit(slot, generation * SLOTS + slot, first)
