"""Distributional deep equilibrium models: networks whose fixed points are point clouds.

The names listed here are the front door. Each of them, and every room such as :mod:`ddeq.data` or
:mod:`ddeq.training`, is loaded at its first use: a command can say at once that it was interrupted,
and help does not wait for torch.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddeq import nn, solvers
    from ddeq.adjoints import ImplicitGradient, PhantomGradient, jacobian_penalty
    from ddeq.errors import DdeqError
    from ddeq.evaluation import evaluate
    from ddeq.fixed_points import equilibrium
    from ddeq.inference import classify, complete, load
    from ddeq.io.files import read_cloud, write_cloud
    from ddeq.measures import divergences, kernels, metrics
    from ddeq.measures.clouds import Normalization, PointClouds
    from ddeq.measures.divergences import (
        corollary2_gradient,
        mmd2,
        sliced_mmd2,
        wasserstein_gradient,
        witness,
    )
    from ddeq.measures.weighted import WeightedClouds
    from ddeq.models import Classifier, Completer
    from ddeq.sklearn import PointCloudClassifier, PointCloudCompleter
    from ddeq.solvers.solution import Solution
    from ddeq.training import train

__version__ = "0.1.0"

__all__ = [
    "Classifier",
    "Completer",
    "DdeqError",
    "ImplicitGradient",
    "Normalization",
    "PhantomGradient",
    "PointCloudClassifier",
    "PointCloudCompleter",
    "PointClouds",
    "Solution",
    "WeightedClouds",
    "classify",
    "complete",
    "corollary2_gradient",
    "divergences",
    "equilibrium",
    "evaluate",
    "jacobian_penalty",
    "kernels",
    "load",
    "metrics",
    "mmd2",
    "nn",
    "read_cloud",
    "sliced_mmd2",
    "solvers",
    "train",
    "wasserstein_gradient",
    "witness",
    "write_cloud",
]

_HOMES = {
    "adjoints": ("ImplicitGradient", "PhantomGradient", "jacobian_penalty"),
    "errors": ("DdeqError",),
    "evaluation": ("evaluate",),
    "fixed_points": ("equilibrium",),
    "inference": ("classify", "complete", "load"),
    "io.files": ("read_cloud", "write_cloud"),
    "measures.clouds": ("Normalization", "PointClouds"),
    "measures.divergences": (
        "corollary2_gradient",
        "mmd2",
        "sliced_mmd2",
        "wasserstein_gradient",
        "witness",
    ),
    "measures.weighted": ("WeightedClouds",),
    "models": ("Classifier", "Completer"),
    "sklearn": ("PointCloudClassifier", "PointCloudCompleter"),
    "solvers.solution": ("Solution",),
    "training": ("train",),
}
_MEASURES = ("divergences", "kernels", "metrics")


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(import_module(f"ddeq.{home}"), name)
            globals()[name] = found  # from now on it is found without this function
            return found
    if name in _MEASURES:
        return import_module(f"ddeq.measures.{name}")
    if name in _rooms():
        return import_module(f"ddeq.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_rooms()})


def _rooms() -> list[str]:
    return [module.name for module in iter_modules(__path__)]
