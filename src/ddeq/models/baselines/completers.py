"""Models and guesses as completers that :func:`ddeq.protocol.evaluate` measures alike.

Each is a function of a list of partial clouds, ``[(N_i, d)] -> [(M_i, d)]``, and may be told how
many points are missing. A guess that is not told adds a fixed share of the visible points.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from scipy.spatial import cKDTree

from ddeq.data import CloudDataset
from ddeq.data.corruptions import item_rng
from ddeq.data.cuts import CUTS
from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines.guesses import (
    Guess,
    copy_visible,
    fill_hole,
    gaussian_guess,
    mirror_visible,
    moment_gaussian,
    nothing,
)
from ddeq.models.baselines.pcn import PCN
from ddeq.models.baselines.retrieval import Retrieval
from ddeq.models.completer import Completer

__all__ = ["GuessCompleter", "ModelCompleter", "PCNCompleter", "guess_completers", "mean_share"]

_SAMPLED = 200


def mean_share(data: CloudDataset, cut: str, seed: int = 0) -> float:
    """Removed points per visible point, over at most 200 clouds cut in this way together."""
    kept_all = removed_all = 0
    for index in np.random.default_rng(seed).permutation(len(data))[:_SAMPLED]:
        cloud = torch.from_numpy(data.raw(int(index)))
        kept, removed = CUTS[cut](cloud, item_rng(seed, int(index)))
        kept_all, removed_all = kept_all + len(kept), removed_all + len(removed)
    return removed_all / kept_all


class GuessCompleter:
    """A guess, such as :func:`~ddeq.models.baselines.copy_visible`, cloud by cloud.

    Args:
        guess: The guess.
        share: New points per visible point, where the number is not told.
        seed: Of what it draws; a cloud's new points do not depend on its batch.
    """

    def __init__(self, guess: Guess, share: float = 0.275, seed: int = 0) -> None:
        self.guess, self.share, self.seed = guess, share, seed

    def __call__(
        self, partials: Sequence[np.ndarray], counts: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """New points of partial clouds."""
        found = []
        for i, partial in enumerate(partials):
            count = round(self.share * len(partial)) if counts is None else counts[i]
            rng = np.random.default_rng([self.seed, zlib.crc32(partial.tobytes())])
            found.append(self.guess(torch.from_numpy(partial), count, rng).numpy())
        return found


class ModelCompleter:
    """Our completer.

    Args:
        model: The model.
        seed: Of the free particles.
        told: Clouds are in the frame of their whole: show them as they are.
    """

    def __init__(self, model: Completer, seed: int = 0, told: bool = False) -> None:
        self.model, self.seed, self.told = model, seed, told

    @torch.no_grad()
    def __call__(
        self, partials: Sequence[np.ndarray], counts: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """New points of partial clouds."""
        wanted = None if counts is None else torch.tensor(counts)
        if not self.told:
            return self.model.new_points(list(partials), self.seed, wanted)
        x = PointClouds.from_list([torch.from_numpy(partial) for partial in partials])
        return [new.numpy() for new in self.model(x, self.seed, wanted).to_list()]


class PCNCompleter:
    """PCN: of its whole new cloud, the points farthest from the visible ones.

    Args:
        model: The model.
        share: New points per visible point, where the number is not told.
        told: Clouds are in the frame of their whole: show them as they are.
    """

    def __init__(self, model: PCN, share: float = 0.275, told: bool = False) -> None:
        self.model, self.share, self.told = model, share, told

    def __call__(
        self, partials: Sequence[np.ndarray], counts: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """New points of partial clouds."""
        x = PointClouds.from_list([torch.from_numpy(partial) for partial in partials])
        wholes = self.model.complete(x, normalize=not self.told).to_list()
        wanted = counts or [round(self.share * len(partial)) for partial in partials]
        return [
            fill_hole(cKDTree(partial), whole.numpy(), count)
            for partial, whole, count in zip(partials, wholes, wanted, strict=True)
        ]


def guess_completers(
    train: CloudDataset, cut: str, seed: int = 0, told: bool = False
) -> dict[str, GuessCompleter]:
    """The completers without a network, which stand beside every model.

    Args:
        train: Training clouds: the share that is missing on average, and those to retrieve.
        cut: How clouds are cut.
        seed: Of what they draw.
        told: In the frame of the whole; then the moment Gaussian is one of them.
    """
    share = mean_share(train, cut, seed)
    clouds = [
        cloud if told else torch.from_numpy(train.raw(i)) for i, (cloud, _) in enumerate(train)
    ]
    guesses: dict[str, Guess] = {
        "nothing": nothing,
        "Gaussian": gaussian_guess,
        "copy": copy_visible,
        "mirror": mirror_visible,
        "retrieval": Retrieval(clouds, told),
    }
    if told:
        guesses["moment Gaussian"] = moment_gaussian
    return {name: GuessCompleter(guess, share, seed) for name, guess in guesses.items()}
