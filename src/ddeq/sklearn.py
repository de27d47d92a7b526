"""Estimators with ``fit``, ``predict`` and ``score`` in the manner of scikit-learn.

They train small models on arrays in memory. scikit-learn itself is not needed; where it is
installed, they are its estimators and work with ``clone``, ``cross_val_score`` and the like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from typing_extensions import Self

from ddeq.data.corruptions import PARTIAL_RADIUS, item_rng, make_partial
from ddeq.data.dataset import normalize_points
from ddeq.errors import DdeqError
from ddeq.inference import probabilities
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.sklearn_base import (
    ClassifierBase,
    Clouds,
    PointCloudEstimator,
    as_dataset,
    check_clouds,
)

__all__ = ["PointCloudClassifier", "PointCloudCompleter"]


class PointCloudClassifier(ClassifierBase, PointCloudEstimator):
    """A classifier of point clouds in the manner of scikit-learn.

    Args:
        epochs: Passes through the training clouds.
        batch_size: Clouds per step.
        learning_rate: Of Muon and AdamW, at its highest.
        particles: Latent particles.
        cross_layers: Layers of the cross-encoder.
        max_points: Train on random subsets of so many points per cloud.
        augment: Change the training clouds a little at random, anew in every epoch. Mirrors 3-D
            ones in x and in y: turn it off where left and right make a difference.
        random_state: Seed, or a numpy ``RandomState``, or None for another run each time.
        verbose: Print figures during training.

    Attributes:
        classes_: The labels, sorted, ``(C,)``.
        model_: The trained :class:`ddeq.Classifier`; ``model_.save_pretrained(folder)`` keeps it.
        n_features_in_: Dimension of the points.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> discs = [rng.normal(size=(30, 2)) for _ in range(8)]
        >>> lines = [rng.normal(size=(30, 1)) * [1, 1] for _ in range(8)]
        >>> labels = ["disc"] * 8 + ["line"] * 8
        >>> model = PointCloudClassifier(epochs=4, batch_size=8).fit(discs + lines, labels)
        >>> model.predict(discs[:2] + lines[:2]).shape, model.predict_proba(lines).shape
        ((4,), (8, 2))
    """

    def __init__(
        self,
        epochs: int = 30,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        particles: int = 10,
        cross_layers: int = 1,
        max_points: int = 128,
        augment: bool = True,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.particles = particles
        self.cross_layers = cross_layers
        self.max_points = max_points
        self.augment = augment
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, x: Clouds, y: Sequence[Any] | np.ndarray) -> Self:
        """Trains on clouds and their labels.

        Args:
            x: Arrays ``(N_i, d)``, or one array ``(n, N, d)``.
            y: ``n`` labels of any type that can be sorted.
        """
        clouds = check_clouds(x)
        if len(y) != len(clouds):
            raise DdeqError(f"{len(clouds)} clouds but {len(y)} labels")
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise DdeqError("a classifier needs clouds of at least two classes")
        names = [str(label) for label in self.classes_.tolist()]
        self._train(
            "classification",
            as_dataset(clouds, labels.reshape(-1), names),
            {
                "task.particles": self.particles,
                "max_points": self.max_points,
                "augment": self.augment,
            },
        )
        return self

    def predict_proba(self, x: Clouds) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, ``(n, C)``."""
        found = [probabilities(clouds, self.model_) for clouds in self._batches(x)]
        return torch.cat(found).double().numpy()

    def predict(self, x: Clouds) -> np.ndarray:
        """The likeliest label of each cloud, ``(n,)``."""
        best = self.predict_proba(x).argmax(1)
        return self.classes_[best]

    def score(
        self, x: Clouds, y: Sequence[Any] | np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        """The share of clouds that are labelled right, weighted if asked."""
        right = self.predict(x) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))


class PointCloudCompleter(PointCloudEstimator):
    """Learns from whole clouds to complete partial ones, in the manner of scikit-learn.

    In training, two balls are cut out of every cloud, other ones in every epoch.

    Args:
        epochs: Passes through the training clouds.
        batch_size: Clouds per step.
        learning_rate: Of Muon and AdamW, at its highest.
        cross_layers: Layers of the cross-encoder.
        noise: Share of the input points that get noise in training.
        random_state: Seed, or a numpy ``RandomState``, or None for another run each time.
        verbose: Print figures during training.

    Attributes:
        model_: The trained :class:`ddeq.Completer`; ``model_.save_pretrained(folder)`` keeps it.
        n_features_in_: Dimension of the points.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> angle = rng.uniform(0, 2 * np.pi, (8, 40))
        >>> circles = np.stack([np.cos(angle), np.sin(angle)], axis=2)
        >>> model = PointCloudCompleter(epochs=2, batch_size=8).fit(circles)
        >>> arc = circles[0][circles[0, :, 0] > 0]
        >>> (full,) = model.predict([arc])
        >>> len(full) > len(arc), bool((full[: len(arc)] == arc).all())
        (True, True)
    """

    def __init__(
        self,
        epochs: int = 30,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        cross_layers: int = 2,
        noise: float = 0.05,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.cross_layers = cross_layers
        self.noise = noise
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, x: Clouds, y: Any = None) -> Self:
        """Trains on whole clouds, arrays ``(N_i, d)`` with ``d`` = 2 or 3; ``y`` is not used."""
        clouds = check_clouds(x)
        if clouds[0].shape[1] not in PARTIAL_RADIUS:
            raise DdeqError(f"clouds to complete are 2-D or 3-D, got {clouds[0].shape[1]}-D")
        if min(map(len, clouds)) < 2:
            raise DdeqError("every training cloud needs at least two points")
        self._train(
            "completion",
            as_dataset(clouds, np.zeros(len(clouds), dtype=np.int64), ["cloud"]),
            # what `predict` is given is seen in its own frame
            {"task.noise": self.noise, "task.own_frame": 1.0},
        )
        return self

    def predict(self, x: Clouds) -> list[np.ndarray]:
        """Completed clouds: the input's points as they are, then the new ones."""
        completed = []
        for clouds in self._batches(x):
            new = self.model_.new_points(clouds)
            completed += [np.concatenate(pair) for pair in zip(clouds, new, strict=True)]
        return completed

    def score(self, x: Clouds, y: Clouds | None = None) -> float:
        """Minus the mean squared MMD to the whole clouds at unit variance: 0 is perfect.

        Args:
            x: Partial clouds; or whole ones without ``y``: parts are then cut out as in training.
            y: The whole clouds.
        """
        if y is None:
            wholes = [normalize_points(cloud) for cloud in check_clouds(x)]
            parts = [_cut(whole, i) for i, whole in enumerate(wholes)]
        else:
            wholes, parts = check_clouds(y), check_clouds(x)
        if len(parts) != len(wholes):
            raise DdeqError(f"{len(parts)} partial clouds but {len(wholes)} whole ones")
        values = [
            _error(full, whole) for full, whole in zip(self.predict(parts), wholes, strict=True)
        ]
        return -float(np.mean(values))


def _cut(whole: np.ndarray, index: int) -> np.ndarray:
    """A partial cloud, cut as in training from a cloud at unit variance, always the same."""
    cloud = torch.from_numpy(whole)
    return make_partial(cloud, PARTIAL_RADIUS[cloud.shape[1]], item_rng(0, index))[0].numpy()


def _error(full: np.ndarray, whole: np.ndarray) -> float:
    """Squared MMD in units of the whole cloud's deviation."""
    shift, scale = whole.mean(0, dtype=np.float64), whole.std(0, dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    a, b = (PointClouds.from_list([(cloud - shift) / scale]) for cloud in (full, whole))
    return float(mmd2(a, b))
