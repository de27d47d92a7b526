"""Recipes and runs: typed options, exact resuming, learning at all."""

from pathlib import Path

import pytest
import torch
from commands import logged

from ddeq.cli.train import parse_recipe
from ddeq.models import Classifier, Completer
from ddeq.solvers import Chain, Picard, Solver, WassersteinFlow, Weiszfeld
from ddeq.tasks.completion import visible_frame
from ddeq.training import PRESETS, Recipe, train
from ddeq.training.fields import to_yaml
from ddeq.training.module import EquilibriumModule

TINY = {"batch_size": 4, "warmup": 2, "train_steps": (2, 3), "solver.max_steps": 3}
FEW = {"limit_train_batches": 4, "limit_val_batches": 1}


@pytest.mark.parametrize("name", PRESETS)
def test_recipes_survive_yaml(name: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(to_yaml(PRESETS[name]))
    assert parse_recipe(str(path), []) == PRESETS[name]


def test_paper_recipes_use_the_papers_solver() -> None:
    solver = PRESETS["paper-mnist-classification"].solver
    assert isinstance(solver, WassersteinFlow)
    assert (solver.max_steps, solver.step_size) == (200, 5.0)


@pytest.mark.parametrize(
    ("name", "kind"), [("mini-classification", Classifier), ("mini-completion", Completer)]
)
def test_training_leaves_a_model(name: str, kind: type, tmp_path: Path) -> None:
    recipe = PRESETS[name].changed({**TINY, "epochs": 1})
    model = train(recipe, tmp_path, trainer_options=FEW)
    loaded = kind.from_pretrained(tmp_path / "model")
    for ours, theirs in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("replay", [1, 3])
def test_a_killed_run_resumes_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replay: int
) -> None:
    monkeypatch.setattr("ddeq.training.replay.SLOTS", 2)
    options = {**TINY, "epochs": 2, "network.dropout": 0.1, "replay": replay}
    recipe: Recipe = PRESETS["mini-classification"].changed(options)
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
    recipe: Recipe = PRESETS["mini-classification"].changed({**TINY, "epochs": 2})
    original, die = EquilibriumModule.validation_step, True

    def validation_step(self: EquilibriumModule, batch: object, index: int) -> object:
        if die and self.current_epoch == epoch:
            raise RuntimeError("killed")
        return original(self, batch, index)

    options = {**FEW, "log_every_n_steps": 1}
    train(recipe, tmp_path / "whole", save_every=save_every, trainer_options=options)
    monkeypatch.setattr(EquilibriumModule, "validation_step", validation_step)
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


def test_later_replay_settle_in_the_second_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def settled(solver: Solver) -> int | None:
        return solver.parts[0].max_steps if isinstance(solver, Chain) else None

    def loss(self: EquilibriumModule, batch: object, seed: int, start: object) -> object:
        seen.append((self.global_step, start is None, settled(self.model.solver)))
        return original(self, batch, seed, start)

    original = EquilibriumModule.loss
    monkeypatch.setattr("ddeq.training.replay.SLOTS", 2)
    monkeypatch.setattr(EquilibriumModule, "loss", loss)
    settling = {"solver": Chain(Weiszfeld(4), Picard(26)), **TINY}
    recipe = PRESETS["mini-classification"].changed({**settling, "epochs": 2, "replay": 3})
    model = train(recipe, tmp_path, trainer_options=FEW)
    assert len(seen) == 8
    assert {settle for step, _, settle in seen if step <= 4} == {None}
    assert {(fresh, settle) for step, fresh, settle in seen if step > 4} == {
        (True, None),
        (False, 1),
    }
    assert model.solver == recipe.solver


def _losses(
    recipe: Recipe,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    kill_at: int | None,
    resume: bool = False,
) -> list[float]:
    losses: list[float] = []
    original = EquilibriumModule.loss

    def loss(self: EquilibriumModule, batch: object, seed: int, start: object) -> object:
        if self.global_step == kill_at:
            raise RuntimeError("killed")
        assert (start is None) == (seed == self.global_step)
        result = original(self, batch, seed, start)
        losses.append(float(result[0].detach()))
        return result

    with monkeypatch.context() as patch:
        patch.setattr(EquilibriumModule, "loss", loss)
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
