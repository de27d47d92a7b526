"""Recipes and runs: typed options, exact resuming, learning at all."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from commands import logged

from ddeq.cli.train import parse_recipe
from ddeq.models import Classifier, Completer
from ddeq.training import RECIPES, Recipe, train
from ddeq.training.module import ClassificationModule, visible_frame

TINY = {"batch_size": 4, "warmup": 2, "train_steps": (2, 3), "solver_steps": 3}
FEW = {"limit_train_batches": 4, "limit_val_batches": 1}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_survive_yaml(name: str, tmp_path: Path) -> None:
    import yaml

    from ddeq.cli.train import _plain

    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(_plain(RECIPES[name])))
    assert parse_recipe(str(path), []) == RECIPES[name]


def test_paper_recipes_use_the_papers_solver() -> None:
    solver = RECIPES["paper-mnist-classification"].make_solver()
    assert (type(solver).__name__, solver.max_steps) == ("WassersteinFlow", 200)
    assert solver.step_size == 5.0


def test_unknown_solver_is_named() -> None:
    with pytest.raises(ValueError, match="Newton"):
        replace(RECIPES["mini-classification"], solver="Newton").make_solver()


@pytest.mark.parametrize(
    ("name", "kind"), [("mini-classification", Classifier), ("mini-completion", Completer)]
)
def test_training_leaves_a_model(name: str, kind: type, tmp_path: Path) -> None:
    recipe = replace(RECIPES[name], epochs=1, **TINY)
    model = train(recipe, tmp_path, trainer_options=FEW)
    loaded = kind.from_pretrained(tmp_path / "model")
    for ours, theirs in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("visits", [1, 3])
def test_a_killed_run_resumes_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visits: int
) -> None:
    monkeypatch.setattr("ddeq.training.replay.SLOTS", 2)
    options = {**TINY, "epochs": 2, "dropout": 0.1, "visits": visits}
    recipe: Recipe = replace(RECIPES["mini-classification"], **options)
    whole = _losses(recipe, tmp_path / "whole", monkeypatch, kill_at=None)
    first = _losses(recipe, tmp_path / "killed", monkeypatch, kill_at=6)
    rest = _losses(recipe, tmp_path / "killed", monkeypatch, kill_at=None, resume=True)
    assert len(whole) == 8
    assert first == whole[:6]
    assert rest == whole[8 - len(rest) :]
    assert 0 < len(rest) < 8


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("save_every", [1, 4])
def test_a_run_killed_while_it_validates_validates_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epoch: int, save_every: int
) -> None:
    recipe: Recipe = replace(RECIPES["mini-classification"], **TINY, epochs=2)
    original, die = ClassificationModule.validation_step, True

    def validation_step(self: ClassificationModule, batch: object, index: int) -> object:
        if die and self.current_epoch == epoch:
            raise RuntimeError("killed")
        return original(self, batch, index)

    options = {**FEW, "log_every_n_steps": 1}
    train(recipe, tmp_path / "whole", save_every=save_every, trainer_options=options)
    monkeypatch.setattr(ClassificationModule, "validation_step", validation_step)
    killed = tmp_path / "killed"
    with pytest.raises(RuntimeError, match="killed"):
        train(recipe, killed, save_every=save_every, trainer_options=options)
    die = False
    train(recipe, killed, resume=True, save_every=save_every, trainer_options=options)
    for name, rows in (("train/loss", 8), ("val/loss", 2)):
        curve = logged(tmp_path / "whole", name)
        assert len(curve) == rows
        assert logged(killed, name) == curve
    weights = [run / "model" / "model.safetensors" for run in (tmp_path / "whole", killed)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_later_visits_settle_in_the_second_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def loss(self: ClassificationModule, batch: object, seed: int, start: object) -> object:
        seen.append((self.global_step, start is None, self.model.solver.settle))
        return original(self, batch, seed, start)

    original = ClassificationModule.loss
    monkeypatch.setattr("ddeq.training.replay.SLOTS", 2)
    monkeypatch.setattr(ClassificationModule, "loss", loss)
    recipe = replace(RECIPES["mini-classification"], **TINY, epochs=2, visits=3)
    model = train(recipe, tmp_path, trainer_options=FEW)
    assert len(seen) == 8
    assert {settle for step, _, settle in seen if step <= 4} == {None}
    assert {(fresh, settle) for step, fresh, settle in seen if step > 4} == {
        (True, None),
        (False, 1),
    }
    assert model.solver.settle == recipe.settle


def _losses(
    recipe: Recipe,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    kill_at: int | None,
    resume: bool = False,
) -> list[float]:
    losses: list[float] = []
    original = ClassificationModule.loss

    def loss(self: ClassificationModule, batch: object, seed: int, start: object) -> object:
        if self.global_step == kill_at:
            raise RuntimeError("killed")
        assert (start is None) == (seed == self.global_step)
        result = original(self, batch, seed, start)
        losses.append(float(result[0].detach()))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(ClassificationModule, "loss", loss)
        if kill_at is None:
            train(recipe, out, resume=resume, save_every=3, trainer_options=FEW)
        else:
            with pytest.raises(RuntimeError, match="killed"):
                train(recipe, out, resume=resume, save_every=3, trainer_options=FEW)
    return losses


def test_visible_frame_is_the_identity_elsewhere() -> None:
    from ddeq import PointClouds

    x = PointClouds.from_list([torch.randn(9, 2) * 3 + 1, torch.randn(5, 2) * 2])
    y = visible_frame(x, torch.tensor([True, False])).apply(x)
    assert torch.equal(y.points[1], x.points[1])
    torch.testing.assert_close(y.mean()[0], torch.zeros(2), atol=1e-6, rtol=0)
    torch.testing.assert_close(y.std()[0], torch.ones(2))
