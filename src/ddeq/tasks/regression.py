"""Regression: a number is read off the equilibrium of a cloud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ddeq.data import CloudDataset, collate, jitter
from ddeq.data.augmentations import Augmentation
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.models.regressor import Regressor
from ddeq.nn.checks import whole
from ddeq.solvers.solution import Solution
from ddeq.tasks.base import Task
from ddeq.tasks.report import Measured, Report, batches, equilibrium_values, means

__all__ = ["Regression"]


@dataclass(frozen=True)
class Regression(Task):
    """A number per cloud; the loss is the mean squared error over the variance of the targets.

    Attributes:
        particles: Latent particles.
    """

    particles: int = 10

    name = "regression"
    metric = "mse"
    model_type = Regressor

    def __post_init__(self) -> None:
        whole("task.particles", self.particles, 1, 100_000)

    def make_model(self, data: CloudDataset, **parts: Any) -> Regressor:
        targets = _numbered(data).labels
        return Regressor(
            data.dim,
            particles=self.particles,
            mean=float(targets.mean()),
            deviation=float(targets.std()) or 1.0,
            **parts,
        )

    def prepare(self, data: CloudDataset) -> CloudDataset:
        return _numbered(data)

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        """Jitter alone: a number may depend on any other change."""
        return (jitter,)

    def loss(
        self,
        model: Regressor,
        batch: Any,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution]:
        """``mean ((value - target) / deviation)^2`` of a batch ``(clouds, targets)``."""
        x, targets = batch
        z, solution = model.latent(x, seed, start=start)
        return ((model.value(z) - targets) / model.deviation).square().mean(), solution

    def validate(self, model: Regressor, batch: Any) -> Measured:
        """Squared and absolute error; the outputs are target and value, ``(B, 2)``."""
        x, targets = batch
        z, solution = model.latent(x)
        value = model.value(z)
        error = value - targets
        values = {"mse": error.square(), "mae": error.abs()}
        return Measured(values, solution, torch.stack([targets, value], 1))

    @classmethod
    @torch.no_grad()
    def evaluate(  # type: ignore[override]  # a task names its options
        cls,
        model: Regressor,
        data: CloudDataset,
        batch_size: int = 64,
        seed: int = 0,
        progress: Any = iter,
    ) -> Report:
        """Squared and absolute error of a data set, in the unit of the targets."""
        data = _numbered(data)
        rows = []
        for indices in progress(batches(data, batch_size)):
            x, targets = collate([data[i] for i in indices])
            z, solution = model.latent(x, seed)
            error = model.value(z) - targets
            found = {"squared error": error.square(), "absolute error": error.abs()}
            rows.append(found | equilibrium_values(solution))
        return Report("their own proportions", means(rows))


def _numbered(data: CloudDataset) -> CloudDataset:
    """The clouds in proportion, each with a number; classes are refused."""
    if data.classes:
        raise DdeqError(f"{data.name} has classes: regression needs a number per cloud")
    return data.in_proportion()
