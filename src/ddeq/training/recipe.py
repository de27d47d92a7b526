"""Everything that defines a training run, as one typed record a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from ddeq import solvers
from ddeq.adjoints import PhantomGradient
from ddeq.data.dataset import CloudDataset
from ddeq.models import Classifier, Completer
from ddeq.solvers import Solver

__all__ = ["RECIPES", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """A training run.

    Attributes:
        task: What is learned.
        data: Name of a data set, or a folder of cloud files with a sub-folder a class.
        epochs: Passes through the training set.
        batch_size: Clouds a step.
        optimizer: ``muon`` for the matrices of the network and AdamW for the rest, or ``adamw``.
        learning_rate: At its highest.
        schedule: ``cosine`` to zero after a warm-up, or ``paper``: a tenth after 40 % of the run,
            a hundredth after 80 %.
        warmup: Steps of linear warm-up of the cosine schedule.
        weight_decay: Decoupled from the gradient.
        clip: Largest norm of the gradient.
        average: Decay of the running average of the weights that is validated and kept; 0 keeps
            the weights of the last step.
        validation: Share of the training set that is held out to choose the best epoch.
        augment: Random changes of the training clouds: 2-D ones are turned, sheared and scaled a
            little, 3-D ones mirrored in x and in y and distorted a little; all are jittered.
        max_points: Train on random subsets of so many points of each cloud, for speed and variety.
            The network sees measures, so it is used on whole clouds.
        smoothing: Classification: probability that the target of the loss spreads over all classes.
        noise: Completion: share of the input points that get ``N(0, 1)`` noise in training.
        own_frame: Completion: share of the clouds normalised by their visible part alone, as a
            user's cloud is; the others stand in the frame of their whole, as in the paper.
        estimate: Completion: the network estimates how many points are missing; otherwise it adds
            27.5 % of the points there are, as in the paper.
        count_weight: Completion: weight of the squared error of the logarithm of that estimate.
        free_weight: Completion: weight of ``MMD^2(new points, removed points)`` in the loss.
        residual_weight: Completion: weight of the logarithm of ``MMD^2(z, F(z)) / spread``, one
            application after the solver's last iterate. It makes the spread particles there the
            equilibrium: without it, particles that go on for long fall together.
        particles: Classification: latent particles.
        proportions: Classification: clouds keep their proportions, one scale for all coordinates;
            otherwise each coordinate has unit variance, as in the paper.
        bilinear: Features of the bilinear layer.
        head_size: Features of an attention head.
        cross_layers: Layers of the cross-encoder.
        pushforward: The network without interactions between particles.
        dropout: Rate in the feed-forward layers.
        waves: Octaves of sines and cosines of the points that the network sees beside them.
        radii: Radii of the neighbourhoods of a point whose density, direction and shape the
            network sees beside it.
        solver: Class name of the solver.
        solver_steps: Most evaluations of the network in a solve; also at use.
        solver_tol: Relative squared MMD at which a cloud stops.
        settle: Weiszfeld, validation and use: steps after which the particles go on by
            ``z <- F(z)``, which ends a solve sooner.
        step_size: Of the flow.
        momentum: Of the flow.
        train_steps: Fewest and most evaluations in training, drawn anew for each batch. A network
            that is right after any number of steps has its answer where the solver stops.
        visits: How often a batch comes back, each time with its particles where the last
            visit left them. Few evaluations a visit then train the network far into its solve, so
            that what it learns is an equilibrium and not a path of a certain length. An epoch
            still has as many steps, and draws one ``visits``-th of the clouds.
        phantom_steps: Applications of the network that are backpropagated through.
        phantom_damping: Damping of these.
        seed: Of everything random.
    """

    task: Literal["classification", "completion"]
    data: str
    epochs: int = 5
    batch_size: int = 64
    optimizer: Literal["muon", "adamw"] = "muon"
    learning_rate: float = 2e-3
    schedule: Literal["cosine", "paper"] = "cosine"
    warmup: int = 200
    weight_decay: float = 1e-2
    clip: float = 1.0
    average: float = 0.999
    validation: float = 0.05
    augment: bool = True
    max_points: int = 100_000
    smoothing: float = 0.0
    noise: float = 0.05
    own_frame: float = 0.5
    estimate: bool = True
    count_weight: float = 0.02
    free_weight: float = 0.1
    residual_weight: float = 5e-3
    particles: int = 10
    proportions: bool = True
    bilinear: int = 16
    head_size: int = 32
    cross_layers: int = 1
    pushforward: bool = False
    dropout: float = 0.0
    waves: int = 0
    radii: tuple[float, ...] = ()
    solver: str = "Weiszfeld"
    solver_steps: int = 30
    solver_tol: float = 1e-3
    settle: int = 4
    step_size: float = 5.0
    momentum: float = 0.0
    train_steps: tuple[int, int] = (4, 14)
    visits: int = 1
    phantom_steps: int = 1
    phantom_damping: float = 1.0
    seed: int = 0

    @property
    def applications(self) -> int:
        """Applications of the network that a training step goes back through."""
        later = self.task == "completion" and self.residual_weight > 0
        return self.phantom_steps + (1 if later else 0)

    def make_solver(self, max_steps: int | None = None, settle: int | None = None) -> Solver:
        """The solver as it is used, or with so many steps for training.

        Args:
            max_steps: In training.
            settle: In training, by Weiszfeld steps: see :class:`ddeq.solvers.Weiszfeld`.
        """
        if max_steps is None:
            max_steps, settle = self.solver_steps, self.settle
        return self._solver(max_steps, settle)

    def _solver(self, steps: int, settle: int | None) -> Solver:
        if self.solver == "Weiszfeld":
            return solvers.Weiszfeld(steps, self.solver_tol, settle=settle)
        if self.solver == "WassersteinFlow":
            return solvers.WassersteinFlow(
                steps, self.solver_tol, step_size=self.step_size, momentum=self.momentum
            )
        kinds: dict[str, type[Solver]] = {
            "Picard": solvers.Picard,
            "Anderson": solvers.Anderson,
            "Broyden": solvers.Broyden,
        }
        if self.solver not in kinds:
            names = ", ".join(sorted([*kinds, "WassersteinFlow", "Weiszfeld"]))
            raise ValueError(f"unknown solver {self.solver!r}: one of {names}")
        return kinds[self.solver](steps, self.solver_tol)

    def make_model(self, data: CloudDataset) -> Classifier | Completer:
        """A fresh model that fits the data."""
        network = self.network()
        if self.task == "completion":
            return Completer(data.dim, estimate=self.estimate, **network)
        return Classifier(
            data.dim,
            len(data.classes),
            particles=self.particles,
            proportions=self.proportions,
            classes=list(data.classes),
            **network,
        )

    def network(self) -> dict[str, Any]:
        """Arguments of the model that both tasks have."""
        return {
            "bilinear": self.bilinear,
            "head_size": self.head_size,
            "pushforward": self.pushforward,
            "dropout": self.dropout,
            "cross_layers": self.cross_layers,
            "waves": self.waves,
            "radii": self.radii,
            "solver": self.make_solver(),
            "adjoint": PhantomGradient(self.phantom_steps, self.phantom_damping),
        }


_PAPER = Recipe(
    task="classification",
    data="mnist-pc",
    optimizer="adamw",
    learning_rate=1e-3,
    schedule="paper",
    weight_decay=0.0,
    clip=float("inf"),
    average=0.0,
    augment=False,
    proportions=False,
    own_frame=0.0,
    estimate=False,
    free_weight=0.0,
    residual_weight=0.0,
    head_size=4,
    dropout=0.1,
    solver="WassersteinFlow",
    solver_steps=200,
    train_steps=(200, 200),
)

_CLASSIFICATION = Recipe(
    task="classification",
    data="mnist-pc",
    max_points=128,
    waves=5,
    train_steps=(4, 8),
    phantom_steps=3,
)

_COMPLETION = Recipe(
    task="completion",
    data="shapes",
    augment=False,
    cross_layers=2,
    own_frame=0.4,
    train_steps=(3, 6),
    visits=6,
)

RECIPES: dict[str, Recipe] = {
    "mnist-classification": replace(_CLASSIFICATION, epochs=6, bilinear=12, head_size=4),
    "mnist-completion": replace(_COMPLETION, data="mnist-pc", epochs=4, batch_size=32),
    "modelnet40-classification": replace(
        _CLASSIFICATION,
        data="modelnet40",
        epochs=24,
        batch_size=32,
        max_points=256,
        smoothing=0.1,
        head_size=8,
        cross_layers=2,
        dropout=0.15,
        radii=(0.5, 1.0),
        train_steps=(4, 7),
        validation=0.03,
    ),
    "modelnet8-completion": replace(
        _COMPLETION, data="modelnet8", epochs=45, batch_size=32, augment=True, max_points=256
    ),
    "shapes-completion": replace(_COMPLETION, epochs=18, batch_size=32, max_points=256),
    "mini-classification": replace(
        _CLASSIFICATION, data="mnist-mini", epochs=6, validation=0.1, warmup=50
    ),
    "mini-completion": replace(
        _COMPLETION, data="mnist-mini", epochs=10, validation=0.1, warmup=50
    ),
    "paper-mnist-classification": _PAPER,
    "paper-mnist-completion": replace(_PAPER, task="completion", cross_layers=3),
    "paper-modelnet40-classification": replace(
        _PAPER, data="modelnet40", epochs=20, cross_layers=3
    ),
    "paper-modelnet8-completion": replace(
        _PAPER, task="completion", data="modelnet8", epochs=100, cross_layers=3
    ),
}
"""Recipes by name: ours, and the paper's settings as ``paper-*``."""
