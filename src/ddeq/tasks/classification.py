"""Classification: cross entropy at the equilibrium, measured by accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.data import CloudDataset, distort, drop, jitter, mirror, rotate_z, scatter, stretch
from ddeq.data.augmentations import Augmentation
from ddeq.measures.clouds import PointClouds
from ddeq.models import Classifier
from ddeq.nn.checks import flag, number, whole
from ddeq.solvers.solution import Solution
from ddeq.tasks.classes import ClassTask, classes_of

__all__ = ["Classification"]

_IN_ANY_AZIMUTH: tuple[Augmentation, ...] = (
    mirror,
    partial(stretch, most=0.3),
    partial(distort, std=0.04),
    rotate_z,
    drop,
    jitter,
    scatter,
)


@dataclass(frozen=True)
class Classification(ClassTask):
    """The class of a cloud, read off its equilibrium.

    Attributes:
        particles: Latent particles.
        azimuth: See :class:`ddeq.Classifier`; training clouds are turned about z at random.
        poses: See :class:`ddeq.Classifier`; of validation and training there is one.
        mean: See :class:`ddeq.Classifier`.
        guide: Weight of a second cross entropy, of a linear head on the summary of ``X``: so the
            encoder of ``X`` learns without going through the equilibrium. The head is used in
            training only.
    """

    particles: int = 10
    azimuth: bool = False
    poses: int = 1
    mean: bool = False
    guide: float = 0.0

    name = "classification"
    model_type = Classifier
    plots = ("fixed-points", "embeddings")

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("task.particles", self.particles, 1, 100_000)
        flag("task.azimuth", self.azimuth)
        whole("task.poses", self.poses, 1, 4)
        flag("task.mean", self.mean)
        number("task.guide", self.guide, 0.0, 1e6)

    def make_model(self, data: CloudDataset, **parts: Any) -> Classifier:
        classes = classes_of(data)
        return Classifier(
            data.dim,
            len(classes),
            particles=self.particles,
            proportions=self.proportions,
            azimuth=self.azimuth,
            poses=self.poses,
            mean=self.mean,
            classes=classes,
            **parts,
        )

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        """Those of any task of classes; in any azimuth, turns about z."""
        return _IN_ANY_AZIMUTH if self.azimuth else super().augmentations(data)

    def helper(self, model: Classifier) -> nn.Linear | None:
        """The guiding head, ``R^p -> R^C``."""
        if not self.guide:
            return None
        return nn.Linear(model.network.features, model.head.out_features)

    def loss(
        self,
        model: Classifier,
        batch: Any,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
        helper: nn.Module | None = None,
    ) -> tuple[Tensor, Solution]:
        """Cross entropy of a batch ``(clouds, labels)``, and ``guide`` times that of the helper."""
        x, labels = batch
        f = model.encode(x)
        z, solution = model.latent(x, seed, start=start, f=f)
        loss = F.cross_entropy(model.logits(z), labels, label_smoothing=self.smoothing)
        if helper is not None:
            guess = helper(f.context.summary)
            guided = F.cross_entropy(guess, labels, label_smoothing=self.smoothing)
            loss = loss + self.guide * guided
        return loss, solution

    @staticmethod
    def answer(model: Any, x: PointClouds, seed: int = 0) -> tuple[Tensor, Solution | None]:
        z, solution = model.latent(x, seed)
        return model.logits(z), solution
