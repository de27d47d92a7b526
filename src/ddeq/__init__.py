"""Distributional deep equilibrium models: networks whose fixed points are point clouds."""

from typing import Any

from ddeq import nn, solvers
from ddeq.adjoints import ImplicitGradient, PhantomGradient, jacobian_penalty
from ddeq.measures import kernels, metrics
from ddeq.measures.clouds import Normalization, PointClouds
from ddeq.measures.divergences import (
    corollary2_gradient,
    mmd2,
    sliced_mmd2,
    wasserstein_gradient,
    witness,
)
from ddeq.models import Classifier, Completer
from ddeq.solvers.solution import Solution

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "Completer",
    "ImplicitGradient",
    "Normalization",
    "PhantomGradient",
    "PointCloudClassifier",
    "PointCloudCompleter",
    "PointClouds",
    "Solution",
    "corollary2_gradient",
    "jacobian_penalty",
    "kernels",
    "metrics",
    "mmd2",
    "nn",
    "sliced_mmd2",
    "solvers",
    "wasserstein_gradient",
    "witness",
]


def __getattr__(name: str) -> Any:
    if name in ("PointCloudClassifier", "PointCloudCompleter"):  # they load scikit-learn
        from ddeq import sklearn as estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
