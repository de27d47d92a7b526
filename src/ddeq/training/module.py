"""Any task as a Lightning module: optimiser, schedule, logging, exact resuming."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lightning as L
import numpy as np
import torch
from torch import Tensor, nn

from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import EquilibriumModel
from ddeq.solvers.solution import Solution
from ddeq.training.distributed import gather_clouds
from ddeq.training.optimizer import make_optimizer
from ddeq.training.recipe import Recipe
from ddeq.training.replay import replayed
from ddeq.training.schedule import SCHEDULES

__all__ = ["EquilibriumModule"]


class EquilibriumModule(L.LightningModule):
    """Trains a model by the loss of its task; a baseline too, which has no equilibrium.

    All that is random in a step follows from ``(recipe.seed, step)``, so a run that was
    interrupted goes on as if it had not been.

    Args:
        model: From :meth:`ddeq.training.Recipe.make_model`.
        recipe: The run.
    """

    def __init__(self, model: nn.Module, recipe: Recipe) -> None:
        super().__init__()
        self.model: Any = model
        self.recipe = recipe
        self.helper = recipe.task.helper(model)
        self.particles: dict[int, PointClouds] = {}  # the replay pool: particles by slot
        self.clock: Callable[[], float] = time.monotonic  # what the minutes of a recipe go by
        self.seconds = 0.0  # of training before it was interrupted
        self.begin = self.clock()
        self.train()

    def transfer_batch_to_device(self, batch: Any, device: torch.device, index: int) -> Any:
        """Moves clouds and labels."""
        if hasattr(batch, "to"):
            return batch.to(device)
        return tuple(item.to(device) for item in batch)

    def on_train_start(self) -> None:
        """Begins where the run stands: after a restart, in the middle of an epoch."""
        if isinstance(self.model, EquilibriumModel):
            self.model.network.share = self.part
        self.begin = self.clock() - self.seconds
        self.on_train_epoch_start()  # Lightning leaves it out for an epoch that was begun before

    def on_train_epoch_start(self) -> None:
        """Sets the order and the corruptions of the epoch, and how much of it is done."""
        done = self.global_step - self.current_epoch * int(self.trainer.num_training_batches)
        loader = self.trainer.train_dataloader
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        data.set_position(loader, self.current_epoch, done)

    def training_step(self, batch: Any, index: int) -> Tensor:
        """One step, with its own number of solver evaluations, from where the last replay ended."""
        step, recipe = self.global_step, self.recipe
        rng = np.random.default_rng([recipe.seed, step])
        torch.manual_seed(int(rng.integers(2**31)))
        fewest, most = recipe.train_steps
        steps = int(rng.integers(fewest, most + 1))
        begin = self.current_epoch * int(self.trainer.num_training_batches)
        slot, _, first = replayed(step - begin, recipe.replay)
        start = self._left(slot) if begin + first < step else None
        # a network that has learned to keep particles apart is shown how they settle at use
        settling = start is not None and self.progress(step) > 0.5
        if isinstance(self.model, EquilibriumModel):
            self.model.solver = recipe.training_solver(steps, settling)
        loss, solution = self.loss(batch, begin + first, start)
        if recipe.replay > 1 and solution is not None:
            self.particles[slot] = solution.image
        values = {"loss": loss.detach()[None]}
        if solution is not None:
            values["residual"] = solution.residual
            values |= {"spread": solution.spread, "steps": solution.steps.float()}
        self._log_means("train", values, on_epoch=False)
        return loss

    def _left(self, slot: int) -> PointClouds | None:
        """Where the last replay of a slot left its particles; None for a model without any."""
        return self.particles[slot].to(self.device) if slot in self.particles else None

    def _log_means(self, stage: str, values: dict[str, Tensor], on_epoch: bool) -> None:
        """Logs means over a batch."""
        size = max(len(value) for value in values.values())
        means = {f"{stage}/{name}": value.mean() for name, value in values.items()}
        self.log_dict(means, batch_size=size, on_epoch=on_epoch, sync_dist=True)

    def loss(
        self, batch: Any, seed: int, start: PointClouds | None
    ) -> tuple[Tensor, Solution | None]:
        """See :meth:`ddeq.tasks.Task.loss`."""
        recipe = self.recipe
        more = {} if self.helper is None else {"helper": self.helper}
        return recipe.task.loss(self.model, batch, seed, start, self.part, recipe.seed, **more)

    def on_validation_start(self) -> None:
        """Validates with the solver as it will be used."""
        if isinstance(self.model, EquilibriumModel):
            self.model.solver = self.recipe.solver

    def validation_step(self, batch: Any, index: int) -> Tensor | None:
        """Logs the metrics of a batch and the state of its equilibria."""
        values, solution, outputs = self.recipe.task.validate(self.model, batch)
        if solution is not None:
            values = {**values, "residual": solution.relative_residual, "spread": solution.spread}
            values["steps"] = solution.steps.float()
        self._log_means("val", values, on_epoch=True)
        return outputs

    @property
    def part(self) -> tuple[int, int]:
        """Rank and number of the processes among which each batch is distributed."""
        return self.global_rank, self.trainer.world_size

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keeps the replay pool, that of all processes, and whose state the optimiser's is."""
        checkpoint["optimizer"] = self.recipe.optimizer
        whole = {slot: gather_clouds(z) for slot, z in self.particles.items()}
        checkpoint["seconds"] = self.clock() - self.begin
        checkpoint["particles"] = {slot: (z.points, z.mask) for slot, z in whole.items()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes it up again.

        Raises:
            DdeqError: for a checkpoint of another optimiser, whose state this one cannot take.
        """
        kept, wanted = checkpoint.get("optimizer"), self.recipe.optimizer
        if kept not in (None, wanted):
            raise DdeqError(f"the run was begun with the optimizer {kept!r}, not {wanted!r}")
        rank, replicas = self.part
        self.seconds = checkpoint.get("seconds", 0.0)
        whole = {slot: PointClouds(*z) for slot, z in checkpoint["particles"].items()}
        self.particles = {slot: z[rank::replicas] for slot, z in whole.items()}

    def progress(self, step: int) -> float:
        """How much of the run is done, 0 to 1: by steps, or by the time that the recipe gives."""
        if self.recipe.minutes:
            return (self.clock() - self.begin) / (60.0 * self.recipe.minutes)
        return step / max(int(self.trainer.estimated_stepping_batches), 1)

    def _warm(self, step: int) -> float:
        """How much of the warm-up is done, which a tenth of the run ends."""
        return min(1.0, max((step + 1) / max(self.recipe.warmup, 1), 10.0 * self.progress(step)))

    def configure_optimizers(self) -> Any:
        """The recipe's optimiser and schedule, set at every step."""
        recipe = self.recipe
        optimizer = make_optimizer(
            self, recipe.optimizer, recipe.learning_rate, recipe.weight_decay
        )
        rate = SCHEDULES[recipe.schedule]
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: rate(self.progress(step), self._warm(step))
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }
