"""Baselines are trained, measured, saved and loaded by the same commands as our models."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq.cli import main
from ddeq.data import CloudDataset, collate, load
from ddeq.evaluation import evaluate
from ddeq.measures.clouds import PointClouds
from ddeq.models.baselines import PCN
from ddeq.models.baselines.base import BaselineClassifier
from ddeq.tasks import PCNHolesTask, PCNTask, Task
from ddeq.training import PRESETS, train
from ddeq.training.data import CloudData
from ddeq.training.module import EquilibriumModule

NAMES = ("pointnet", "point-transformer", "deepsets", "set-transformer", "dgcnn", "pcn")
TINY = {"batch_size": 4, "warmup": 2, "epochs": 1, "max_points": 24, "validation": 0.2}
FEW = {"limit_train_batches": 3, "limit_val_batches": 1}


def digits(count: int = 40):
    return load("mnist-mini", "train").subset(np.arange(count))


@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_recipe_for_two_data_sets_and_the_embedded_one(name: str) -> None:
    recipes = [recipe for key, recipe in PRESETS.items() if key.startswith(f"{name}-m")]
    assert len(recipes) == 3
    assert {recipe.task.name for recipe in recipes} == {name}
    assert all(recipe.optimizer == "adamw" for recipe in recipes)


@pytest.mark.parametrize("name", NAMES)
def test_a_few_steps_leave_a_model_that_loads_and_is_measured(name: str, tmp_path: Path) -> None:
    recipe = replace(PRESETS[f"{name}-mini"], **TINY)
    data = CloudData(recipe, whole=digits())
    model = train(recipe, tmp_path, data=data, verbose=False, trainer_options=FEW)
    loaded = Task.of(name).model_type.from_pretrained(tmp_path / "model")
    for ours, theirs in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    report = evaluate(loaded, load("mnist-mini", "test").subset(np.arange(6)))
    assert all(np.isfinite(mean.value) for mean in report.metrics.values())
    assert "relative residual" not in report.metrics, "it has no equilibrium"
    assert ("accuracy" in report.metrics) == isinstance(model, BaselineClassifier)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_a_batch_falls(name: str) -> None:
    torch.manual_seed(0)
    recipe = replace(PRESETS[f"{name}-mini"], learning_rate=1e-3)
    task, clouds = recipe.task, recipe.task.prepare(digits(8))
    model = recipe.make_model(clouds).train()
    items = task.items(clouds, True, 0)
    batch = task.collate([items[i] for i in range(8)])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    losses = []
    for step in range(20):
        loss, solution = task.loss(model, batch, step)
        assert solution is None
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert min(losses[-3:]) < 0.9 * losses[0]


def test_weights_averaged_over_batch_norms(tmp_path: Path) -> None:
    recipe = replace(PRESETS["pointnet-mini"], average=0.9, **TINY)
    data = CloudData(recipe, whole=digits())
    model = train(recipe, tmp_path, data=data, verbose=False, trainer_options=FEW)
    assert int(model.points[1].num_batches_tracked) == 3


def test_a_replayed_batch_needs_no_particles() -> None:
    recipe = replace(PRESETS["deepsets-mini"], replay=3)
    module = EquilibriumModule(recipe.make_model(digits()), recipe)
    assert module._left(0) is None
    assert not module.particles


def test_fine_tuning_keeps_all_but_the_last_layer(tmp_path: Path) -> None:
    recipe = replace(PRESETS["deepsets-mini"], **TINY)
    torch.manual_seed(0)
    recipe.make_model(digits()).save_pretrained(tmp_path / "old")
    few = replace(digits(), labels=digits().labels % 2, classes=("even", "odd"))
    model = train(
        replace(recipe, learning_rate=1e-12),
        tmp_path / "new",
        data=CloudData(recipe, whole=few),
        init=str(tmp_path / "old"),
        verbose=False,
        trainer_options={**FEW, "limit_train_batches": 1},
    )
    old = type(model).from_pretrained(tmp_path / "old")
    assert torch.allclose(model.hidden.weight, old.hidden.weight)
    assert model.out.out_features == 2


def test_train_and_eval_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    options = ["--epochs", "1", "--batch-size", "64", "--max-points", "16", "--task.coarse", "8"]
    options += ["--validation", "0.99"]
    assert main(["train", "pcn-mini", *options, "-o", str(folder), "--log-every", "1"]) == 0
    assert "residual" not in capsys.readouterr().out
    words = ["eval", "pcn-mini", "--weights", str(folder / "model"), "--limit", "4"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "W2 whole" in printed
    assert "frame of the whole" in printed
    words = ["eval", "mini-completion", "--protocol", "--cut", "balls", "--limit", "4", "--told"]
    assert main([*words, "--pcn", str(folder / "model")]) == 0
    assert "PCN" in capsys.readouterr().out


def test_pcn_learns_to_fill_any_hole(tmp_path: Path) -> None:
    clouds = [np.random.default_rng(i).normal(size=(64, 3)) * [1, 2, 0.5] for i in range(12)]
    objects = CloudDataset.from_list(clouds, [0] * 12, ("object",), "objects")
    changes = {**TINY, "task": PCNHolesTask(coarse=16), "validation": 0.25, "batch_size": 4}
    recipe = replace(PRESETS["pcn-scans"], **changes)
    data = CloudData(recipe, whole=objects)
    model = train(recipe, tmp_path, data=data, verbose=False, trainer_options=FEW)
    assert model.proportions
    scaled, plain = ([1000.0 * c.astype(np.float32) for c in clouds], clouds)
    one = model.complete(PointClouds.from_list([torch.from_numpy(scaled[0])]))
    other = model.complete(PointClouds.from_list([torch.from_numpy(plain[0]).float()]))
    torch.testing.assert_close(one.points, 1000 * other.points, rtol=1e-3, atol=0.1)


def test_pcn_is_shown_the_frame_that_is_asked_for() -> None:
    torch.manual_seed(0)
    model, data = PCN(2, coarse=12), load("mnist-mini", "test").subset(np.arange(3))
    told, own = evaluate(model, data), evaluate(model, data, own_frame=True)
    assert told.metrics["W2 whole"].value != own.metrics["W2 whole"].value
    assert "own frame" in own.frame
    loss, solution = PCNTask(own_frame=1.0).loss(model, _batch(data), 0)
    assert loss.isfinite()
    assert solution is None


def test_logits_do_not_depend_on_the_seed() -> None:
    task = Task.of("pointnet")()
    x, _ = collate([digits()[i] for i in range(3)])
    model = task.make_model(digits())
    assert torch.equal(task.answer(model, x, 0)[0], task.answer(model, x, 1)[0])


def _batch(data):
    items = PCNTask().items(data, False, 0)
    return PCNTask().collate([items[i] for i in range(len(data))])
