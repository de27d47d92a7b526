"""A task: everything about training and evaluation that depends on what is learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from ddeq.data import CloudDataset, affine, collate, distort, even, jitter, mirror
from ddeq.data.augmentations import Augmentation
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.registry import Registered, known
from ddeq.solvers.solution import Solution
from ddeq.tasks.report import Measured, Report

__all__ = ["Task", "share"]

_OF_DIMENSION: dict[int, tuple[Augmentation, ...]] = {2: (affine,), 3: (mirror, distort)}


@dataclass(frozen=True)
class Task(Registered, ABC):
    """Makes the model and the batches of a training, and measures the one on the other.

    A subclass is a frozen dataclass: its fields are the options of the task. It registers itself
    when it is defined, and knows nothing of the training loop, so it serves any.

    Attributes:
        name: What recipes call the task.
        metric: The validation metric that chooses the best epoch.
        best_is: Whether the largest or the smallest value of it is best.
        model_type: Class of the models: modules that are saved and loaded by ``Pretrained``.
        evaluation_options: Keyword arguments of :meth:`evaluate` beyond the seed.
        has_classes: Whether the answer is a class, so that a report has a confusion matrix.
        plots: Kinds of ``ddeq plot`` that show its models; the first part of a batch is then the
            clouds that a model sees, and the last their classes.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    best_is: ClassVar[Literal["min", "max"]] = "min"
    model_type: ClassVar[type[Any]]
    evaluation_options: ClassVar[tuple[str, ...]] = ()
    has_classes: ClassVar[bool] = False
    plots: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def of(name: str) -> type[Task]:
        """The class of a task.

        Raises:
            DdeqError: if there is none of that name.
        """
        tasks = {task.name: task for task in known(Task).values()}
        if name not in tasks:
            raise DdeqError(f"unknown task {name!r}: one of {', '.join(sorted(tasks))}")
        return tasks[name]

    @property
    def later_applications(self) -> int:
        """Applications of the network in the loss, beyond those of the adjoint."""
        return 0

    @abstractmethod
    def make_model(self, data: CloudDataset, **parts: Any) -> nn.Module:
        """A fresh model that fits the data, of :attr:`model_type`.

        Args:
            data: The training clouds.
            parts: ``network``, ``solver`` and ``adjoint`` of the model, if it is an equilibrium.
        """

    def helper(self, model: Any) -> nn.Module | None:
        """What is trained beside the model and left behind; handed to :meth:`loss`, if any.

        Args:
            model: From :meth:`make_model`.
        """
        return None

    @abstractmethod
    def loss(
        self,
        model: Any,
        batch: Any,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution | None]:
        """The mean loss of a batch and how its equilibria were found; None if there are none.

        Args:
            model: From :meth:`make_model`.
            batch: From :meth:`collate`.
            seed: Of everything random about this batch, the same at each replay.
            start: Latent particles to go on from, ``(B, N, p)``; those of the seed by default.
            part: Rank and number of the processes among which the batch is distributed.
            run_seed: Of the run, for what is drawn anew in each.
        """

    @abstractmethod
    def validate(self, model: Any, batch: Any) -> Measured:
        """The metrics of a batch of held-out clouds."""

    @classmethod
    @abstractmethod
    def evaluate(
        cls,
        model: Any,
        data: CloudDataset,
        batch_size: int = 64,
        seed: int = 0,
        progress: Any = iter,
        **options: Any,
    ) -> Report:
        """Measures a model on every cloud of a data set.

        Args:
            model: From :meth:`make_model`, or loaded.
            data: Clouds as the data set has them.
            batch_size: Clouds per batch.
            seed: Of the particles.
            progress: Wraps the iteration over batches, to show how far it is.
            options: Those of :attr:`evaluation_options`.
        """

    def prepare(self, data: CloudDataset) -> CloudDataset:
        """The data set with its items in the frame of the task."""
        return data

    def items(self, data: Any, training: bool, seed: int) -> Any:
        """The items that are trained or validated on, one per cloud.

        Args:
            data: A :class:`~ddeq.data.CloudDataset`, maybe augmented.
            training: Whether they are trained on; otherwise they are as they will be at use.
            seed: Of what is random about them.
        """
        return data

    def collate(self, items: Sequence[Any]) -> Any:
        """Items as one batch: a tuple, or an object, of parts that have ``to(device)``."""
        return collate(items)

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        """Random changes of training clouds that leave the answer as it is."""
        changes = _OF_DIMENSION.get(data.dim, (distort,))
        return (*changes, jitter, even) if data.proportions else (*changes, jitter)

    def picture(
        self, model: Any, validation: CloudDataset, items: Any, outputs: Iterable[Tensor]
    ) -> Any:
        """A matplotlib figure of a validation, or None. It draws nothing at random.

        Args:
            model: As it was validated.
            validation: The held-out clouds.
            items: :meth:`items` of these.
            outputs: Those of every batch, from :meth:`validate`.
        """
        return None


def share(name: str, value: Any) -> float:
    """A number from 0 to 1, both included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise DdeqError(f"{name} must be a number from 0 to 1, got {value!r}")
    return value
