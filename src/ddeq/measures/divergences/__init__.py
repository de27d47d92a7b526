"""Divergences between clouds as objects and functions, one kind per file, and their gradients."""

from ddeq.measures.divergences.base import Divergence, wasserstein_gradient
from ddeq.measures.divergences.deregularized import DrMMD
from ddeq.measures.divergences.mmd import MMD, corollary2_gradient, mean_kernel, mmd2, witness
from ddeq.measures.divergences.sinkhorn import Sinkhorn
from ddeq.measures.divergences.sliced import (
    SlicedMMD,
    SlicedWasserstein,
    sliced_mmd2,
    sliced_wasserstein2,
)
from ddeq.registry import import_all

__all__ = [
    "MMD",
    "Divergence",
    "DrMMD",
    "Sinkhorn",
    "SlicedMMD",
    "SlicedWasserstein",
    "corollary2_gradient",
    "mean_kernel",
    "mmd2",
    "sliced_mmd2",
    "sliced_wasserstein2",
    "wasserstein_gradient",
    "witness",
]

import_all(__name__)  # a new one is a new file in this folder
