"""Everything that defines a training run, as one validated record per run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from ddeq.adjoints import Adjoint, PhantomGradient
from ddeq.data.dataset import CloudDataset
from ddeq.errors import DdeqError
from ddeq.nn import Network, NetworkConfig
from ddeq.nn.checks import flag, number, whole
from ddeq.solvers import Chain, Picard, Solver, Weiszfeld
from ddeq.tasks import Task
from ddeq.training.optimizer import OPTIMIZERS
from ddeq.training.schedule import SCHEDULES

__all__ = ["Recipe"]

_KINDS: dict[str, type] = {
    "task": Task,
    "network": NetworkConfig,
    "solver": Solver,
    "adjoint": Adjoint,
}


def _network() -> Network:
    return Network(head_size=32, cross_layers=1, dropout=0.0)


def _solver() -> Solver:
    return Chain(Weiszfeld(4), Picard(26), tol=1e-3)


@dataclass(frozen=True)
class Recipe:
    """A training run. Values out of range are refused when it is made.

    Attributes:
        task: What is learned, with its own options; a name stands for the task by default.
        data: Name of a data set, a folder of cloud files with a sub-folder per class, or a CSV file
            with the columns ``file`` and ``label``, or ``target``.
        surface: Of a folder of meshes: points to sample from each surface; 0 takes the vertices.
        network: Configuration of the network.
        solver: Finds the equilibrium at use and in validation; in training see ``train_steps``.
        adjoint: Forms the gradient.
        epochs: Passes through the training set.
        minutes: Train for so long instead, the schedule in time; 0 goes by epochs.
        batch_size: Clouds per step.
        optimizer: ``muon`` for the matrices of the network and AdamW for the rest, or ``adamw``.
        learning_rate: At its highest.
        schedule: ``cosine`` to zero after a warm-up, or ``paper``: a tenth after 40 % of the run,
            a hundredth after 80 %.
        warmup: Most steps of linear warm-up of the cosine schedule; a tenth of the run is enough.
        weight_decay: Decoupled from the gradient.
        clip: Largest norm of the gradient; infinity for none.
        average: Decay of the running average of the weights that is validated and kept; 0 keeps
            the weights of the last step.
        validation: Share of the training set that is held out to choose the best epoch.
        augment: Random changes of the training clouds: 2-D ones are turned, sheared and scaled a
            little, 3-D ones mirrored in x and in y and distorted a little; all are jittered.
        max_points: Train on random subsets of so many points of each cloud, for speed and variety.
            The network sees measures, so it is used on whole clouds.
        train_steps: Fewest and most evaluations in training, drawn anew for each batch. A network
            that is right after any number of steps has its answer where the solver stops.
        replay: How often a batch is trained on, each time with its particles where the last time
            left them. Few evaluations each time then train the network far into its solve, so
            that what it learns is an equilibrium and not a path of a certain length. An epoch
            still has as many steps, and draws one ``replay``-th of the clouds.
        seed: Of everything random.

    Example:
        >>> Recipe("classification", "mnist-mini", adjoint=PhantomGradient(2)).task.particles
        10
        >>> Recipe("classification", "mnist-mini", epochs=-3)
        Traceback (most recent call last):
        ...
        ddeq.errors.DdeqError: epochs must be a whole number from 1 to 1000000000, got -3
    """

    task: Task
    data: str
    surface: int = 0
    network: NetworkConfig = field(default_factory=_network)
    solver: Solver = field(default_factory=_solver)
    adjoint: Adjoint = field(default_factory=PhantomGradient)
    epochs: int = 5
    minutes: float = 0.0
    batch_size: int = 64
    optimizer: str = "muon"
    learning_rate: float = 2e-3
    schedule: str = "cosine"
    warmup: int = 200
    weight_decay: float = 1e-2
    clip: float = 1.0
    average: float = 0.999
    validation: float = 0.05
    augment: bool = True
    max_points: int = 100_000
    train_steps: tuple[int, int] = (4, 14)
    replay: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.task, str):
            object.__setattr__(self, "task", Task.of(self.task)())
        for name, kind in _KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise DdeqError(f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}")
        if not isinstance(self.data, str) or not self.data:
            raise DdeqError(f"data must be a name or a folder, got {self.data!r}")
        self._check_numbers()
        object.__setattr__(self, "train_steps", _range(self.train_steps))
        for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            _known(name, getattr(self, name), known)

    def _check_numbers(self) -> None:
        for name in ("epochs", "batch_size", "max_points", "replay"):
            whole(name, getattr(self, name), 1, 10**9)
        for name in ("warmup", "seed", "surface"):
            whole(name, getattr(self, name), 0, 2**31 - 1)
        number("minutes", self.minutes, 0.0, 1e6)
        for name in ("average", "validation"):
            number(name, getattr(self, name), 0.0, 1.0)
        for name in ("learning_rate", "weight_decay"):
            number(name, getattr(self, name), 0.0, 1e9)
        flag("augment", self.augment)
        if isinstance(self.clip, bool) or not isinstance(self.clip, (int, float)):
            raise DdeqError(f"clip must be a number, got {self.clip!r}")
        if not self.clip > 0 or not self.learning_rate > 0:
            name = "learning_rate" if self.clip > 0 else "clip"
            raise DdeqError(f"{name} must be positive, got {getattr(self, name)}")

    @property
    def applications(self) -> int:
        """Applications of the network that a training step goes back through."""
        steps = self.adjoint.steps if isinstance(self.adjoint, PhantomGradient) else 1
        return steps + self.task.later_applications

    def make_model(self, data: CloudDataset) -> nn.Module:
        """A fresh model that fits the data."""
        parts = {"network": self.network, "solver": self.solver, "adjoint": self.adjoint}
        return self.task.make_model(data, **parts)

    def training_solver(self, steps: int, settling: bool = False) -> Solver:
        """The solver of a training step.

        Args:
            steps: Evaluations of the network.
            settling: Of a chain, whether the last solver takes over after one step of the first;
                otherwise the first one has them all.
        """
        solver = self.solver
        if not isinstance(solver, Chain):
            return replace(solver, max_steps=steps)
        first, last = solver.parts[0], solver.parts[-1]
        if not settling or len(solver.parts) == 1:
            return replace(first, max_steps=steps, tol=solver.tol)
        return Chain(replace(first, max_steps=1), last, max_steps=steps, tol=solver.tol)

    def changed(self, changes: Mapping[str, Any]) -> Recipe:
        """The recipe with some fields replaced, nested ones too.

        Args:
            changes: Values by name, such as ``{"network.fourier": 5, "solver": Picard(12)}``.
        """
        from ddeq.training.fields import from_plain, put, to_plain

        plain = to_plain(self)
        for name, value in changes.items():
            put(plain, name.split("."), value)
        return from_plain(plain)


def _range(value: Any) -> tuple[int, int]:
    """Fewest and most evaluations."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise DdeqError(f"train_steps must be two whole numbers, got {value!r}")
    fewest, most = (whole("train_steps", steps, 1, 10**9) for steps in value)
    if fewest > most:
        raise DdeqError(f"train_steps must not fall, got {fewest} and {most}")
    return fewest, most


def _known(name: str, value: Any, names: Mapping[str, Any]) -> None:
    if not isinstance(value, str) or value not in names:
        raise DdeqError(f"unknown {name} {value!r}: one of {', '.join(names)}")
