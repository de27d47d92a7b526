"""How new points are drawn from a completer: which points it reads, and how it is solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.nn.checks import number, whole
from ddeq.nn.proposals import lexicographic_order, rows
from ddeq.registry import Registered

__all__ = ["MOST_NEW", "Sampling", "some_points"]

MOST_NEW = 1024
"""Particles of a cloud that are solved for; more new points are filled in between them."""

_NEAR = 0.1


@dataclass(frozen=True)
class Sampling(Registered):
    """How a model is used on a cloud of any size.

    Attributes:
        reads: Points that are encoded, 0 for all; the others are seen by the local moments.
        group: Particles of one solve, as many as in training; each group has marks of its own. 0
            for all particles in one solve.
        candidates: Particles that are solved for per new point: of those in the cell of one, the
            point that the model expects nearest to the surface is taken. Needs ``trust``.
        sure: Logit of "something is missing" from which all points that are missing are added;
            between 0 and it a part of them, in proportion, so that a doubt costs little.
        solved: Most new points that are solved for; more are filled in between them.
        unfamiliar: :func:`ddeq.inference.familiar.thickness` above which a cloud is unlike the
            training data; None: the model does not tell.
        error: Deviation of the logarithm of true over expected distances; see :meth:`confidence`.
    """

    reads: int = 0
    group: int = 0
    candidates: int = 1
    solved: int = MOST_NEW
    sure: float = 0.0
    unfamiliar: float | None = None
    error: float = 0.7

    def __post_init__(self) -> None:
        whole("sampling.reads", self.reads, 0, 100_000)
        whole("sampling.group", self.group, 0, 100_000)
        whole("sampling.candidates", self.candidates, 1, 100)
        whole("sampling.solved", self.solved, 1, MOST_NEW)
        number("sampling.sure", self.sure, 0.0, 1e6)
        if self.unfamiliar is not None:
            number("sampling.unfamiliar", self.unfamiliar, 0.0, 1e6)
        number("sampling.error", self.error, 1e-3, 1e3)

    def confidence(self, distances: Tensor) -> Tensor:
        """Probability that points lie within 0.1 of the surface, where a visible cloud has size 1.

        ``Phi(log(0.1 / distance) / error)``: the true distances are taken to be log-normal about
        the expected ones.

        Args:
            distances: Expected ones, of any shape.
        """
        return torch.special.ndtr((_NEAR / distances).log() / self.error)


def some_points(x: PointClouds, count: int) -> PointClouds:
    """At most ``count`` points of each cloud, drawn at random but the same whenever it comes.

    The draw is by the rank of a point in the lexicographic order of its cloud: neither the order
    of the points nor padding nor other clouds of the batch change it.

    Args:
        x: ``B`` clouds.
        count: How many points of each.

    Example:
        >>> x = PointClouds.from_list([torch.randn(9, 2), torch.randn(4, 2)])
        >>> some_points(x, 5).lengths.tolist()
        [5, 4]
    """
    size = x.points.shape[1]
    if size <= count:
        return x
    order = lexicographic_order(x)
    keys = torch.from_numpy(np.random.default_rng(0).random(size)).to(x.points.device)
    keys = keys.expand(len(x), size).masked_fill(~x.mask.gather(1, order), torch.inf)
    chosen = order.gather(1, keys.argsort(1)[:, :count])
    return PointClouds(rows(x.points, chosen), x.mask.gather(1, chosen))
