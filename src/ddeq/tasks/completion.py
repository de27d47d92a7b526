"""Completion: the paper's loss and terms of ours, measured in the paper's frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddeq.data import (
    PARTIAL_RADIUS,
    CloudDataset,
    PartialBatch,
    PartialDataset,
    PartialItem,
    collate_partial,
)
from ddeq.errors import DdeqError
from ddeq.measures.clouds import Normalization, PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import chamfer, ot_distance, wasserstein2
from ddeq.models import Completer
from ddeq.nn.checks import flag, number
from ddeq.solvers.solution import Solution
from ddeq.tasks.base import Task, share
from ddeq.tasks.pull import pull, second_path
from ddeq.tasks.report import Measured, Report, batches, equilibrium_values, means

__all__ = [
    "Completion",
    "completion_metrics",
    "log_residual",
    "partial_tasks",
    "shown_clouds",
    "visible_frame",
    "whole_metrics",
]

_SMALL = 1e-5  # a residual that is small enough
_SHOWN = 8  # completed clouds in a picture


@dataclass(frozen=True)
class Completion(Task):
    """The missing points of a cloud.

    The loss is ``MMD^2(whole, target) + w_free MMD^2(new, removed) + w_res log_residual(z, F(z))``,
    the new points those of ``F(z)``. Here ``z = F(z*)`` moves with the parameters too: the network
    learns to come to rest, and to come there soon. A model that estimates how many points are
    missing also pays ``w_count log(estimate / truth)^2``.

    Attributes:
        noise: Share of the input points that get ``N(0, 1)`` noise in training.
        own_frame: Share of the clouds normalised by their visible part alone, as a user's cloud
            is; the others stand in the frame of their whole, as in the paper.
        estimate: The network estimates how many points are missing; otherwise it adds 27.5 % of
            the points there are, as in the paper.
        count_weight: ``w_count``.
        free_weight: ``w_free``.
        residual_weight: ``w_res``. It makes the spread particles one application after the
            solver's last iterate the equilibrium: without it, particles that go on for long fall
            together.
        pull_weight: Of the pull of a second path, from a random start and with the same marks, to
            the end of the first, particle by particle; see :func:`ddeq.tasks.pull.second_path`. For
            a network with marks: without them it would pull all particles together.
    """

    noise: float = 0.05
    own_frame: float = 0.5
    estimate: bool = True
    count_weight: float = 0.02
    free_weight: float = 0.1
    residual_weight: float = 5e-3
    pull_weight: float = 0.0

    name = "completion"
    metric = "mmd2"
    model_type = Completer
    plots = ("samples", "flow", "fixed-points", "embeddings")
    evaluation_options = ("own_frame", "noise")

    def __post_init__(self) -> None:
        share("task.noise", self.noise)
        share("task.own_frame", self.own_frame)
        flag("task.estimate", self.estimate)
        for name in ("count_weight", "free_weight", "residual_weight", "pull_weight"):
            number(f"task.{name}", getattr(self, name), 0.0, 1e9)

    @property
    def later_applications(self) -> int:
        """Of ``F``, after the adjoint: that of the residual, and that of a second path."""
        return (self.residual_weight > 0) + (self.pull_weight > 0)

    def make_model(self, data: CloudDataset, **parts: Any) -> Completer:
        if data.dim not in PARTIAL_RADIUS:
            known = " and ".join(f"{dim}-D" for dim in PARTIAL_RADIUS)
            raise DdeqError(f"{data.name} is {data.dim}-D: only {known} clouds are completed")
        return Completer(data.dim, estimate=self.estimate, **parts)

    def items(self, data: Any, training: bool, seed: int) -> PartialDataset:
        """Clouds of which two balls are removed, with the paper's radius for the dimension."""
        return partial_tasks(data, self.noise if training else 0.0, seed)

    def collate(self, items: Sequence[PartialItem]) -> PartialBatch:
        return collate_partial(items)

    def loss(
        self,
        model: Completer,
        batch: PartialBatch,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution]:
        """The loss of a batch, part of its clouds in the frame of what is visible."""
        partial, removed, target = shown_clouds(batch, self.own_frame, [run_seed, seed, 1], part)
        f = model.encode(partial)
        # read off the batch at hand: at use each cloud is encoded by itself for its count, which
        # in training would cost as much again and draw other dropout masks in each process
        counts = (model.shares(f).detach() * partial.lengths).round().long().clamp(min=1)
        if start is not None:  # from an earlier step, whose counts may have been others
            counts = torch.full_like(counts, start.points.shape[1])
        noise = model.noise(counts, seed)
        marked = f.mark(noise.points)
        begin = model.start(partial, noise, marked) if start is None else start
        z, solution = model.equilibrium(marked, begin)
        loss = z.points.new_zeros(len(z))
        if self.residual_weight:
            last, z = z, marked(z)
            loss = self.residual_weight * log_residual(last, z)
        if self.pull_weight:
            rng = np.random.default_rng([run_seed, seed, 2])
            other = second_path(model, marked, partial, z, rng)
            loss = loss + self.pull_weight * pull(other, z.detach())
        new = model.points(z)
        loss = loss + mmd2(partial.cat(new), target)
        if self.free_weight:
            loss = loss + self.free_weight * mmd2(new, removed)
        if self.estimate:
            truth = removed.lengths / partial.lengths
            error = (model.shares(f) / truth).log()
            loss = loss + self.count_weight * error.square()
        return loss.mean(), solution

    def validate(self, model: Completer, batch: PartialBatch) -> Measured:
        """Squared MMD of the whole, and W2 of the new points against the removed ones."""
        z, solution = model.latent(batch.partial)
        new = model.points(z)
        values = {
            "mmd2": mmd2(batch.partial.cat(new), batch.target),
            "w2_free": wasserstein2(new, batch.removed),
        }
        return Measured(values, solution)

    @classmethod
    @torch.no_grad()
    def evaluate(  # type: ignore[override]  # a task names its options
        cls,
        model: Completer,
        data: CloudDataset,
        batch_size: int = 64,
        seed: int = 0,
        progress: Any = iter,
        *,
        own_frame: bool = False,
        noise: float = 0.0,
    ) -> Report:
        """Distances of the new points and of the wholes.

        Args:
            model: See :meth:`Task.evaluate`.
            data: See :meth:`Task.evaluate`.
            batch_size: See :meth:`Task.evaluate`.
            seed: Of the particles, the removed balls and the noise.
            progress: See :meth:`Task.evaluate`.
            own_frame: Normalise each cloud by its visible part, as a user's cloud is.
            noise: Share of the input points that get noise.
        """
        tasks = partial_tasks(data, noise, seed)
        rows = []
        for indices in progress(batches(tasks, batch_size)):
            batch = collate_partial([tasks[i] for i in indices])
            x, frame = batch.partial.normalize()
            z, solution = model.latent(x if own_frame else batch.partial, seed)
            new = frame.invert(model.points(z)) if own_frame else model.points(z)
            rows.append({**completion_metrics(batch, new), **equilibrium_values(solution)})
        shown = "each cloud's own frame" if own_frame else "the frame of the whole"
        return Report(shown, means(rows))

    def picture(
        self, model: Any, validation: CloudDataset, items: Any, outputs: Iterable[Tensor]
    ) -> Any:
        """The same few held-out clouds each time, completed."""
        from ddeq.viz import pictures
        from ddeq.viz.from_model import choose, completions

        shown = [items[i] for i in choose(validation, _SHOWN, seed=0)]
        with torch.random.fork_rng(devices=[]):
            return pictures.completion_grid(completions(model, shown, validation.classes))


def completion_metrics(batch: PartialBatch, new: PointClouds) -> dict[str, Tensor]:
    """The metrics of completed clouds, in the frame of the whole, ``(B,)`` each.

    Those of new against removed points are of the clouds that got new points, ``(b <= B,)``.
    """
    some = new.lengths > 0
    found, removed = new[some], batch.removed[some]
    w2_free = wasserstein2(found, removed)
    free = {
        "mmd2 free": mmd2(found, removed),
        "W2 free": w2_free,
        "W2^2 free": w2_free.square(),
        "OT free": ot_distance(found, removed),
    }
    return whole_metrics(batch.partial.cat(new), batch.target) | free


def whole_metrics(whole: PointClouds, target: PointClouds) -> dict[str, Tensor]:
    """The metrics of whole clouds against the true ones, ``(B,)`` each."""
    w2 = wasserstein2(whole, target)
    return {
        "mmd2 whole": mmd2(whole, target),
        "W2 whole": w2,
        "W2^2 whole": w2.square(),
        "OT whole": ot_distance(whole, target),
        "Chamfer whole": chamfer(whole, target),
    }


def partial_tasks(data: Any, noise: float = 0.0, seed: int = 0) -> PartialDataset:
    """The completion tasks of a data set, with the paper's radius for its dimension.

    Args:
        data: A :class:`~ddeq.data.CloudDataset`, maybe augmented.
        noise: Share of the points of a partial cloud that get noise.
        seed: Of balls and noise.
    """
    dim = data.dim if isinstance(data, CloudDataset) else data.data.dim
    return PartialDataset(data, PARTIAL_RADIUS[dim], noise, seed)


def log_residual(z: PointClouds, image: PointClouds) -> Tensor:
    """``log(c + MMD^2(z, F(z))) - 1/2 log(c + spread(F(z))^2)``, ``(B,)``.

    The logarithm keeps on pulling as the residual gets small, and leaves particles that are still
    far from rest to the other terms. Both terms grow alike with the latent space, so nothing is
    gained by shrinking it.
    """
    spread2 = image.std().square().sum(1)
    return (_SMALL + mmd2(z, image)).log() - 0.5 * (_SMALL + spread2).log()


def visible_frame(partial: PointClouds, own: Tensor) -> Normalization:
    """Normalisation by the visible part where ``own``, ``(B,)`` bool; the identity elsewhere."""
    frame = partial.normalize()[1]
    shift = torch.where(own[:, None], frame.shift, torch.zeros_like(frame.shift))
    scale = torch.where(own[:, None], frame.scale, torch.ones_like(frame.scale))
    return Normalization(shift, scale)


def shown_clouds(
    batch: PartialBatch, own_frame: float, seeds: list[int], part: tuple[int, int]
) -> tuple[PointClouds, PointClouds, PointClouds]:
    """Partial, removed and whole clouds, some in the frame of what is visible.

    Which ones is drawn for the whole batch by every process, which then takes its part.

    Args:
        batch: In the frame of the whole.
        own_frame: Share of the clouds in the frame of their visible part.
        seeds: Of the draw.
        part: See :meth:`Task.loss`.
    """
    rank, replicas = part
    rng = np.random.default_rng(seeds)
    draws = rng.random(len(batch.labels) * replicas)[rank::replicas]
    own = torch.as_tensor(draws < own_frame).to(batch.labels.device)
    frame = visible_frame(batch.partial, own)
    return frame.apply(batch.partial), frame.apply(batch.removed), frame.apply(batch.target)
