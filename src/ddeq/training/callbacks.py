"""What happens beside the training: pictures, the best model so far."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from ddeq.training.fields import to_yaml
from ddeq.training.folder import write_recipe
from ddeq.training.recipe import Recipe

__all__ = ["BestModel", "EarlyPictures", "RecipeFile", "export"]


class EarlyPictures(Callback):
    """A picture after every validation, ``OUT/samples/epoch-NNN.png``.

    What it shows is up to the task. Nothing here draws from the random stream of training.

    It must come before a callback that averages the weights, so as to show the weights that were
    measured: that one puts the others back at the end of the validation.

    Args:
        out: Folder of the run.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / "samples"
        self.outputs: list[Tensor] = []

    def on_validation_epoch_start(self, *_: Any) -> None:
        """Begins a new picture."""
        self.outputs = []

    def on_validation_batch_end(
        self,
        trainer: L.Trainer,
        module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keeps what the task gave out."""
        if isinstance(outputs, Tensor):
            self.outputs.append(outputs)

    def on_validation_epoch_end(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Writes the picture."""
        if not trainer.is_global_zero:
            return
        from ddeq.viz.drawing import save

        data = trainer.datamodule  # type: ignore[attr-defined]
        items = data.val_dataloader().dataset
        figure = data.recipe.task.picture(module.model, data.validation, items, self.outputs)
        if figure is not None:
            save(figure, self.folder / f"epoch-{trainer.current_epoch + 1:03}.png")


class BestModel(Callback):
    """Keeps ``OUT/model``: the best one so far, exported when a validation is over.

    It must come before a callback that averages the weights, as :class:`EarlyPictures` must.

    Args:
        out: Folder of the run.
        recipe: The run.
    """

    def __init__(self, out: Path, recipe: Recipe) -> None:
        self.folder, self.recipe = out / "model", recipe
        self.score: float | None = None
        self.hash = ""

    def on_validation_epoch_end(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Exports the model if it is the best."""
        task = self.recipe.task
        score = float(trainer.callback_metrics[f"val/{task.metric}"])
        sign = 1.0 if task.best_is == "max" else -1.0
        if self.score is not None and not sign * score > sign * self.score:
            return
        self.score = score
        if trainer.is_global_zero:
            export(module.model, self.folder, self.recipe, score)
            self.hash = _hash(self.folder)
        self.hash = trainer.strategy.broadcast(self.hash)

    def weights(self) -> dict[str, Tensor] | None:
        """Those of the best model; None if the file of this run is not the one that was kept."""
        if not self.hash or _hash(self.folder) != self.hash:
            return None
        return type(self.recipe.task).model_type.from_pretrained(self.folder).state_dict()

    def state_dict(self) -> dict[str, Any]:
        """Score and hash of the best model, for a checkpoint."""
        return {"score": self.score, "hash": self.hash}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes them up again."""
        self.score, self.hash = state_dict["score"], state_dict["hash"]


def export(model: Any, folder: Path, recipe: Recipe, score: float | None) -> None:
    """Saves a model for use, with what is known of its making."""
    facts = {
        "data": recipe.data,
        "recipe": f"{recipe.task.name}, {recipe.epochs} epochs of batch {recipe.batch_size}",
    }
    if score is not None:
        facts["metric"] = f"{recipe.task.metric} {score:.4g} on held-out training clouds"
    model.save_pretrained(folder, facts=facts)


def _hash(folder: Path) -> str:
    """Of the weights in a folder; empty if there are none."""
    path = folder / "model.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


class RecipeFile(Callback):
    """Writes ``OUT/recipe.yaml`` once training has begun: a resumed run fits its recipe then."""

    def __init__(self, out: Path, recipe: Recipe) -> None:
        self.out, self.text = out, to_yaml(recipe)

    def on_train_start(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Writes it."""
        if trainer.is_global_zero:
            write_recipe(self.out, self.text)
