"""The two tasks as Lightning modules: a loss and what is measured beside it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import lightning as L
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ddeq.data import PartialBatch
from ddeq.measures.clouds import Normalization, PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import accuracy, wasserstein2
from ddeq.models import Classifier, Completer
from ddeq.solvers.solution import Solution
from ddeq.training.distributed import join_shares
from ddeq.training.optimizer import make_optimizer
from ddeq.training.recipe import Recipe
from ddeq.training.replay import visit

__all__ = ["ClassificationModule", "CompletionModule", "EquilibriumModule", "make_module"]


_REST = 1e-5  # a residual that is small enough


class EquilibriumModule(L.LightningModule):
    """Optimiser, schedule, logging and exact resuming, shared by both tasks.

    All that is random in a step follows from ``(recipe.seed, step)``, so a run that was
    interrupted goes on as if it had not been.
    """

    model: Classifier | Completer
    metric: ClassVar[str]
    best_is: ClassVar[str] = "min"

    def __init__(self, model: Classifier | Completer, recipe: Recipe) -> None:
        super().__init__()
        self.model, self.recipe = model, recipe
        self.particles: dict[int, PointClouds] = {}  # by slot, where the last visit left them
        self.train()

    def transfer_batch_to_device(self, batch: Any, device: torch.device, index: int) -> Any:
        """Moves clouds and labels."""
        if isinstance(batch, PartialBatch):
            return batch.to(device)
        return tuple(item.to(device) for item in batch)

    def on_train_start(self) -> None:
        """Begins where the run stands: after a restart, in the middle of an epoch."""
        self.model.network.share = self.share
        self.on_train_epoch_start()  # Lightning leaves it out for an epoch that was begun before

    def on_train_epoch_start(self) -> None:
        """Sets the order and the corruptions of the epoch, and how much of it is done."""
        done = self.global_step - self.current_epoch * int(self.trainer.num_training_batches)
        loader = self.trainer.train_dataloader
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        data.set_position(loader, self.current_epoch, done)

    def training_step(self, batch: Any, index: int) -> Tensor:
        """One step, with its own number of solver evaluations, from where the last visit ended."""
        step, recipe = self.global_step, self.recipe
        rng = np.random.default_rng([recipe.seed, step])
        torch.manual_seed(int(rng.integers(2**31)))
        fewest, most = recipe.train_steps
        steps = int(rng.integers(fewest, most + 1))
        begin = self.current_epoch * int(self.trainer.num_training_batches)
        slot, _, first = visit(step - begin, recipe.visits)
        start = self.particles[slot].to(self.device) if begin + first < step else None
        # a network that has learned to keep particles apart is shown how they settle at use
        settling = start is not None and 2 * step > int(self.trainer.estimated_stepping_batches)
        self.model.solver = recipe.make_solver(steps, settle=1 if settling else None)
        loss, solution = self.loss(batch, begin + first, start)
        if recipe.visits > 1:
            self.particles[slot] = solution.image
        self.log_dict(
            {
                "train/loss": loss.detach(),
                "train/residual": solution.residual.mean(),
                "train/spread": solution.spread.mean(),
                "train/steps": solution.steps.float().mean(),
            },
            batch_size=len(solution.value),
            sync_dist=True,
        )
        return loss

    def on_validation_start(self) -> None:
        """Validates with the solver as it will be used."""
        self.model.solver = self.recipe.make_solver()

    def loss(self, batch: Any, seed: int, start: PointClouds | None) -> tuple[Tensor, Solution]:
        """The mean loss of a batch and how its equilibria were found.

        Args:
            batch: From the loader.
            seed: Of everything random about this batch, the same at each visit.
            start: Particles to go on from; none at the first visit.
        """
        raise NotImplementedError

    @property
    def share(self) -> tuple[int, int]:
        """Rank and number of the processes that share each batch."""
        return self.global_rank, self.trainer.world_size

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keeps the particles of the batches at hand, those of all processes."""
        whole = {slot: join_shares(z) for slot, z in self.particles.items()}
        checkpoint["particles"] = {slot: (z.points, z.mask) for slot, z in whole.items()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes them up again."""
        rank, replicas = self.share
        whole = {slot: PointClouds(*z) for slot, z in checkpoint["particles"].items()}
        self.particles = {slot: z[rank::replicas] for slot, z in whole.items()}

    def log_validation(self, values: dict[str, Tensor], solution: Solution) -> None:
        """Logs per-cloud values ``(B,)`` and the state of the equilibria."""
        values = {
            **values,
            "residual": solution.relative_residual,
            "spread": solution.spread,
            "steps": solution.steps.float(),
        }
        means = {f"val/{name}": value.mean() for name, value in values.items()}
        self.log_dict(means, batch_size=len(solution.value), on_epoch=True, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """The recipe's optimiser and schedule, set at every step."""
        recipe = self.recipe
        optimizer = make_optimizer(
            self.model, recipe.optimizer, recipe.learning_rate, recipe.weight_decay
        )
        total = max(int(self.trainer.estimated_stepping_batches), 1)
        rate = _paper_rate if recipe.schedule == "paper" else _cosine_rate
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: rate(step, total, recipe.warmup)
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }


class ClassificationModule(EquilibriumModule):
    """Cross entropy at the equilibrium; measured by accuracy."""

    model: Classifier
    metric = "val/accuracy"
    best_is = "max"

    def loss(self, batch: Any, seed: int, start: PointClouds | None) -> tuple[Tensor, Solution]:
        """Cross entropy of a batch ``(clouds, labels)``."""
        x, labels = batch
        z, solution = self.model.latent(x, seed, start=start)
        logits = self.model.logits(z)
        return F.cross_entropy(logits, labels, label_smoothing=self.recipe.smoothing), solution

    def validation_step(self, batch: Any, index: int) -> Tensor:
        """Accuracy and cross entropy of held-out clouds; gives the predicted classes, ``(B,)``."""
        x, labels = batch
        z, solution = self.model.latent(x)
        logits = self.model.logits(z)
        values = {
            "accuracy": accuracy(logits, labels),
            "loss": F.cross_entropy(logits, labels, reduction="none"),
        }
        self.log_validation(values, solution)
        return logits.argmax(1)


class CompletionModule(EquilibriumModule):
    """The paper's loss and two terms of ours; measured in the paper's frame.

    ``MMD^2(whole, target) + w_free MMD^2(new, removed) + w_res unrest(z, F(z))``, the new points
    those of ``F(z)``. Here ``z = F(z*)`` moves with the parameters too: the network learns to come
    to rest, and to come there soon. A model that estimates how many points are missing also pays
    ``w_count log(estimate / truth)^2``.
    """

    model: Completer
    metric = "val/mmd2"

    def loss(
        self, batch: PartialBatch, seed: int, start: PointClouds | None
    ) -> tuple[Tensor, Solution]:
        """The loss of a batch, part of its clouds in the frame of what is visible."""
        rng = np.random.default_rng([self.recipe.seed, seed, 1])
        rank, replicas = self.share
        draws = rng.random(len(batch.labels) * replicas)[rank::replicas]
        own = torch.as_tensor(draws < self.recipe.own_frame)
        frame = visible_frame(batch.partial, own.to(batch.labels.device))
        partial, removed, target = (
            frame.apply(clouds) for clouds in (batch.partial, batch.removed, batch.target)
        )
        f = self.model.encode(partial)
        z, solution = self.model.latent(partial, seed, start=start, f=f)
        loss = z.points.new_zeros(len(z))
        if self.recipe.residual_weight:
            last, z = z, f(z)
            loss = self.recipe.residual_weight * unrest(last, z)
        new = self.model.points(z)
        loss = loss + mmd2(partial.cat(new), target)
        if self.recipe.free_weight:
            loss = loss + self.recipe.free_weight * mmd2(new, removed)
        if self.recipe.estimate:
            truth = removed.lengths / partial.lengths
            error = (self.model.shares(f) / truth).log()
            loss = loss + self.recipe.count_weight * error.square()
        return loss.mean(), solution

    def validation_step(self, batch: PartialBatch, index: int) -> None:
        """Squared MMD of the whole and W2 of the new points against the removed ones."""
        z, solution = self.model.latent(batch.partial)
        new = self.model.points(z)
        values = {
            "mmd2": mmd2(batch.partial.cat(new), batch.target),
            "w2_free": wasserstein2(new, batch.removed),
        }
        self.log_validation(values, solution)


def make_module(model: Classifier | Completer, recipe: Recipe) -> EquilibriumModule:
    """The module of the recipe's task."""
    kind = CompletionModule if recipe.task == "completion" else ClassificationModule
    return kind(model, recipe)


def unrest(z: PointClouds, image: PointClouds) -> Tensor:
    """``log(c + MMD^2(z, F(z))) - 1/2 log(c + spread(F(z))^2)``, ``(B,)``.

    The logarithm keeps on pulling as the residual gets small, and leaves particles that are still
    far from rest to the other terms. Both terms grow alike with the latent space, so nothing is
    gained by shrinking it.
    """
    spread2 = image.std().square().sum(1)
    return (_REST + mmd2(z, image)).log() - 0.5 * (_REST + spread2).log()


def visible_frame(partial: PointClouds, own: Tensor) -> Normalization:
    """Normalisation by the visible part where ``own``, ``(B,)`` bool; the identity elsewhere."""
    frame = partial.normalize()[1]
    shift = torch.where(own[:, None], frame.shift, torch.zeros_like(frame.shift))
    scale = torch.where(own[:, None], frame.scale, torch.ones_like(frame.scale))
    return Normalization(shift, scale)


def _cosine_rate(step: int, total: int, warmup: int) -> float:
    warm = min(1.0, (step + 1) / max(warmup, 1))
    return warm * 0.5 * (1.0 + math.cos(math.pi * min(step / total, 1.0)))


def _paper_rate(step: int, total: int, warmup: int) -> float:
    return 1.0 if step < 0.4 * total else 0.1 if step < 0.8 * total else 0.01
