"""Classification: guided training, clouds in any azimuth."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from ddeq.data import CloudDataset, collate
from ddeq.models import Classifier
from ddeq.nn import Groups, Network
from ddeq.tasks import Classification
from ddeq.training import PRESETS, train
from ddeq.training.data import CloudData
from ddeq.training.module import EquilibriumModule

SMALL = Network(
    features=16, head_size=8, cross_layers=1, expansion=2, groups=Groups((24, 12), (8, 16), 4)
)
TINY = {"batch_size": 4, "warmup": 2, "epochs": 1, "validation": 0.25, "max_points": 40}
FEW = {"limit_train_batches": 3, "limit_val_batches": 1}


def boxes(count: int = 24) -> CloudDataset:
    """Points in boxes that lie or stand, by turns."""
    rng = np.random.default_rng(0)
    sizes = [(3.0, 1.0, 0.5) if i % 2 else (0.5, 1.0, 3.0) for i in range(count)]
    clouds = [rng.uniform(-1, 1, (60, 3)) * size for size in sizes]
    return CloudDataset.from_list(clouds, [i % 2 for i in range(count)], ("up", "flat"), "boxes")


def test_the_preset_of_modelnet40_trains_a_few_steps(tmp_path: Path) -> None:
    recipe = replace(PRESETS["modelnet40-classification"], network=SMALL, data="boxes", **TINY)
    data = CloudData(recipe, whole=boxes())
    model = train(recipe, tmp_path, data=data, verbose=False, trainer_options=FEW)
    assert isinstance(model, Classifier)
    assert model.azimuth
    assert model.mean
    assert not [name for name in model.state_dict() if "helper" in name], "it is left behind"
    assert torch.equal(
        Classifier.from_pretrained(tmp_path / "model").head.weight, model.head.weight
    )


def test_the_guide_teaches_the_encoder_of_x_alone() -> None:
    task = Classification(guide=2.0)
    recipe = replace(PRESETS["modelnet40-classification"], task=task, network=SMALL)
    module = EquilibriumModule(recipe.make_model(boxes()), recipe)
    module.eval()
    batch = collate([boxes()[i] for i in range(4)])
    plain, _ = task.loss(module.model, batch, seed=0)
    guided, _ = task.loss(module.model, batch, seed=0, helper=module.helper)
    assert guided > plain
    (guided - plain).backward()
    assert module.helper.weight.grad.abs().sum() > 0
    assert module.model.head.weight.grad.abs().max() < 1e-6
    assert Classification().helper(module.model) is None


def test_clouds_of_any_azimuth_are_turned_in_training() -> None:
    data = boxes(4)
    names = [
        getattr(f, "func", f).__name__ for f in Classification(azimuth=True).augmentations(data)
    ]
    assert names == ["mirror", "stretch", "distort", "rotate_z", "drop", "jitter", "scatter"]
    names = [getattr(f, "func", f).__name__ for f in Classification().augmentations(data)]
    assert "rotate_z" not in names
