"""What the paper's convergence theorem assumes and claims, measured during a training."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from ddeq.io.atomic import atomic_path
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import MMD
from ddeq.solvers import Solver
from ddeq.solvers.base import Map
from ddeq.solvers.flow import descent
from ddeq.solvers.solution import Solution

__all__ = ["TheoryLog", "bound", "gradient_gap", "pl_ratio"]


class _Solved(NamedTuple):
    """What a solver was given, and what it found."""

    f: Map
    solution: Solution


def pl_ratio(target: PointClouds, mu: PointClouds) -> Tensor:
    """``F(mu) / ||grad_W F(mu)||^2`` in ``L^2(mu)`` of ``F(mu) = 1/2 MMD^2(mu, target)``, ``(B,)``.

    The Polyak-Lojasiewicz inequality asks for a constant that bounds it for every ``mu``.

    Args:
        target: ``mu*``, ``(B, N, p)``.
        mu: Where the ratio is taken, ``(B, N', p)``.
    """
    found = descent(MMD(), lambda z: target, mu)
    return 0.5 * found.residual / _square_norm(found.gradient, mu)


def gradient_gap(f: Map, target: PointClouds, mu: PointClouds) -> Tensor:
    """``||grad_W G(mu) - grad_W F(mu)||^2`` in ``L^2(mu)``, ``(B,)``.

    ``G(mu) = 1/2 MMD^2(mu, f(mu))`` is what a flow descends, ``F(mu) = 1/2 MMD^2(mu, target)`` what
    it should. At ``mu = target`` the second gradient is zero.

    Args:
        f: The network for ``B`` clouds.
        target: ``mu*``, its fixed point.
        mu: Where the gradients are taken.
    """
    ours = descent(MMD(), f, mu).gradient
    return _square_norm(ours - descent(MMD(), lambda z: target, mu).gradient, mu)


def bound(total: float, steps: int) -> float:
    """``int_0^T ||grad L||^2 dt / (sqrt(T) log(T)^2)``, which the theorem bounds, for ``T >= 2``.

    Example:
        >>> round(bound(4.0, 16), 3)
        0.13
    """
    return total / (math.sqrt(steps) * math.log(steps) ** 2)


class TheoryLog(Callback):
    """Logs the three quantities of the paper's figures; a JSON file has them when training ends.

    Every so many steps the batch of the step is solved anew with the solver of use and without
    dropout, which gives ``mu*``. There are the PL ratio, its mean over random Gaussian ``mu``, and
    the gap of the gradients at ``mu = mu*``, as in the paper, over ``eps_t = min(1, t^-1/2)``. The
    norm of the gradient of the loss is that of every step, before it is clipped.

    Args:
        path: The file; none is written if it is None.
        every: Steps between two measurements.
        measures: Random ``mu`` per measurement.

    Attributes:
        rows: What was measured so far: ``step``, ``pl_ratio``, ``gradient_gap``, ``bound``.
    """

    def __init__(self, path: Path | None = None, every: int = 5, measures: int = 8) -> None:
        self.path, self.every, self.measures = path, every, measures
        self.rows: list[dict[str, float]] = []
        self.total = 0.0

    def on_after_backward(self, trainer: L.Trainer, module: Any) -> None:
        """Adds the squared norm of the gradient."""
        grads = [p.grad for p in module.model.parameters() if p.grad is not None]
        self.total += sum(float(grad.square().sum()) for grad in grads)

    def on_train_batch_end(
        self, trainer: L.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Measures if it is time."""
        step = trainer.global_step
        if step < 2 or step % self.every:
            return
        with torch.random.fork_rng(), torch.no_grad():
            solved = _solve(module.model, module.recipe.solver, batch[0])
            target = solved.solution.value
            ratios = [pl_ratio(target, _gaussian(target, seed)) for seed in range(self.measures)]
            gap = gradient_gap(solved.f, target, target).mean()
        self.rows.append(
            {
                "step": step,
                "pl_ratio": float(torch.stack(ratios).mean()),
                "gradient_gap": float(gap) / min(1.0, step**-0.5),
                "bound": bound(self.total, step),
            }
        )

    def on_train_end(self, trainer: L.Trainer, module: Any) -> None:
        """Writes the file."""
        if self.path is not None and trainer.is_global_zero:
            with atomic_path(self.path) as draft:
                draft.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")

    def state_dict(self) -> dict[str, Any]:
        """What was measured, for a checkpoint."""
        return {"rows": self.rows, "total": self.total}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes it up again."""
        self.rows, self.total = state_dict["rows"], state_dict["total"]


def _solve(model: Any, solver: Solver, x: PointClouds) -> _Solved:
    """The equilibria of a model as it is used."""
    training = model.training
    model.eval()
    with _watched(model, solver) as seen:
        model.latent(x)
    model.train(training)
    return seen[0]


@contextmanager
def _watched(model: Any, solver: Solver) -> Iterator[list[_Solved]]:
    """Shows what a model gives to its solver, which is inside: marks and fixed particles."""
    seen: list[_Solved] = []

    class Watch:
        def solve(self, f: Map, z0: PointClouds, **options: Any) -> Solution:
            seen.append(_Solved(f, solver.solve(f, z0, **options)))
            return seen[-1].solution

    before, model.solver = model.solver, Watch()
    try:
        yield seen
    finally:
        model.solver = before


def _gaussian(like: PointClouds, seed: int) -> PointClouds:
    """Standard normal particles, as many as there are."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(like.points.shape, generator=generator).to(like.points)
    return like.with_points(points)


def _square_norm(gradient: Tensor, mu: PointClouds) -> Tensor:
    """``||v||^2`` in ``L^2(mu)``, ``(B,)``."""
    squares = gradient.square().sum(2) * mu.mask
    return squares.sum(1) / mu.lengths.clamp(min=1)
