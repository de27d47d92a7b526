"""What the estimators of :mod:`ddeq.sklearn` share: parameters, checks, training in memory."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor
from typing_extensions import Self

from ddeq.data.dataset import CloudDataset
from ddeq.data.view import NetworkView
from ddeq.errors import DdeqError
from ddeq.training.presets import PRESETS

__all__ = ["ClassifierBase", "Clouds", "EstimatorBase", "PointCloudEstimator", "check_clouds"]

Clouds = Sequence[np.ndarray] | np.ndarray
"""Arrays ``(N_i, d)``, or one array ``(n, N, d)``."""


class Parameters:
    """The part of scikit-learn's ``BaseEstimator`` that is needed where it is not installed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Replaces some of them."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise DdeqError(f"unknown parameter {name!r}: one of {', '.join(known)}")
            setattr(self, name, value)
        return self


class NoMixin:
    """In the place of scikit-learn's ``ClassifierMixin``."""


try:
    from sklearn.base import BaseEstimator, ClassifierMixin
except ModuleNotFoundError:
    BaseEstimator, ClassifierMixin = Parameters, NoMixin
EstimatorBase: Any = BaseEstimator
ClassifierBase: Any = ClassifierMixin


class PointCloudEstimator(EstimatorBase):
    """Parameters that both estimators have, training, and the batches of a prediction."""

    epochs: int
    batch_size: int
    learning_rate: float
    cross_layers: int
    random_state: Any
    verbose: bool
    model_: Any

    def _train(self, task: str, data: CloudDataset, fields: dict[str, Any]) -> None:
        """Sets ``model_``, trained on every cloud of ``data``, with other fields of the recipe."""
        from ddeq.training.data import CloudData
        from ddeq.training.run import train

        steps = self.epochs * max(1, len(data) // self.batch_size)
        common = {
            "data": data.name,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "network.cross_layers": self.cross_layers,
            "warmup": max(1, steps // 10),
            "average": 0.0,
            "validation": 0.0,
            "seed": _seed(self.random_state),
        }
        recipe = PRESETS[f"mini-{task}"].changed({**common, **fields})
        with tempfile.TemporaryDirectory(prefix="ddeq-") as run:
            batches = CloudData(recipe, whole=data)
            self.model_ = train(recipe, run, data=batches, verbose=bool(self.verbose))
        self.n_features_in_ = data.dim

    def _batches(self, x: Clouds) -> Iterator[list[np.ndarray]]:
        """Checked clouds, a batch at a time."""
        if not hasattr(self, "model_"):
            raise DdeqError(f"this {type(self).__name__} is not trained yet: call fit first")
        clouds = check_clouds(x)
        if clouds[0].shape[1] != self.n_features_in_:
            raise DdeqError(
                f"these clouds are {clouds[0].shape[1]}-D, it was trained on "
                f"{self.n_features_in_}-D ones"
            )
        for start in range(0, len(clouds), self.batch_size):
            yield clouds[start : start + self.batch_size]


def check_clouds(x: Clouds) -> list[np.ndarray]:
    """Clouds of one dimension as floating arrays ``(N_i, d)``; float32 and float64 stay.

    Raises:
        DdeqError: naming the cloud that is empty, not ``(N, d)``, not finite or of another
            dimension than the first.

    Example:
        >>> [cloud.dtype.name for cloud in check_clouds([np.eye(3), [[1, 2, 3]]])]
        ['float64', 'float64']
    """
    arrays: list[np.ndarray] = []
    for i, cloud in enumerate(x):
        array = cloud.detach().cpu().numpy() if isinstance(cloud, Tensor) else np.asarray(cloud)
        if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiu":
            raise DdeqError(
                f"cloud {i} has shape {array.shape} and type {array.dtype}, expected numbers "
                "(N, d); put a single cloud in a list"
            )
        if arrays and array.shape[1] != arrays[0].shape[1]:
            raise DdeqError(f"cloud {i} is {array.shape[1]}-D, cloud 0 is {arrays[0].shape[1]}-D")
        if not np.isfinite(array).all():
            raise DdeqError(f"cloud {i} has NaN or infinite coordinates")
        exact = array.dtype in (np.float32, np.float64)
        arrays.append(array if exact else array.astype(np.float64))
    if not arrays:
        raise DdeqError("no clouds given")
    return arrays


def as_dataset(clouds: list[np.ndarray], labels: np.ndarray, names: list[str]) -> CloudDataset:
    """A training set of clouds as a network sees them."""
    seen = [NetworkView(cloud).for_network().points[0].numpy() for cloud in clouds]
    return CloudDataset.from_list(seen, labels, names, "arrays in memory")


def _seed(random_state: Any) -> int:
    """A seed from an integer, a numpy ``RandomState`` or ``Generator``, or None."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state)
