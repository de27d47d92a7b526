"""The folder of a run: nothing trained is lost, a run is held by one process, signals are heard."""

import os
import shutil
import signal
import time
import warnings
from pathlib import Path

import pytest
import torch
from commands import WAIT, finish, logged, start, write_clouds

import ddeq
from ddeq.cli import main
from ddeq.errors import DdeqError
from ddeq.training import PRESETS, Recipe, train
from ddeq.training.checkpoints import WholeCheckpoints, find_checkpoint
from ddeq.training.folder import claimed
from ddeq.training.module import EquilibriumModule

SHORT = {"batch_size": 4, "warmup": 2, "train_steps": (1, 2), "solver.max_steps": 2, "epochs": 1}
FEW = {"limit_train_batches": 2, "limit_val_batches": 1}


def recipe(**fields: object) -> Recipe:
    return PRESETS["mini-classification"].changed({**SHORT, **fields})


def words(data: Path, out: Path) -> list[str]:
    short = {"--batch-size": "4", "--train-steps": "[1,2]", "--solver.max-steps": "2"}
    options = {**short, "--data": str(data), "--validation": "0.25", "--epochs": "2"}
    pairs = [word for pair in options.items() for word in pair]
    return ["train", "mini-classification", *pairs, "-o", str(out)]


def weights(out: Path) -> bytes:
    return (out / "model" / "model.safetensors").read_bytes()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    out = tmp_path / "run"
    train(recipe(), out, verbose=False, trainer_options=FEW)
    return out


@pytest.mark.parametrize("wrong", [["--data", "nope"], ["--init", "nope"], ["--epochs", "0"]])
def test_force_destroys_nothing_when_something_is_wrong(
    run: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert main(["train", "mini-classification", *wrong, "--force", "-o", str(run)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_force_deletes_the_old_run_last(run: Path) -> None:
    old = weights(run)
    with pytest.raises(DdeqError, match="--resume to go on with it, --force to start over"):
        train(recipe(seed=1), run, verbose=False, trainer_options=FEW)
    train(recipe(seed=1), run, force=True, verbose=False, trainer_options=FEW)
    assert weights(run) != old
    assert not (run / "replaced-run").exists()


def test_a_failed_run_brings_the_old_one_back(run: Path) -> None:
    old = sorted(run.iterdir()), weights(run)
    options = {**FEW, "max_steps": "many"}
    with pytest.raises(TypeError):
        train(recipe(), run, force=True, verbose=False, trainer_options=options)
    assert (sorted(run.iterdir()), weights(run)) == old


def test_a_run_that_was_replaced_stays_until_there_is_a_model(run: Path) -> None:
    old = weights(run)

    def halfway() -> None:
        with claimed(run, resume=False, force=True):
            (run / "checkpoints").mkdir()
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        halfway()
    assert weights(run / "replaced-run" / "0") == old


def test_a_typo_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "a" / "run"
    assert main(["train", "mini-classification", "--data", "nope", "-o", str(out)]) == 2
    assert main(["train", "mini-classification", "--init", "nope", "-o", str(out)]) == 2
    assert not list(tmp_path.iterdir())


def test_one_run_at_a_time(run: Path) -> None:
    with (
        claimed(run, resume=True, force=False),
        pytest.raises(DdeqError, match="in use by another training"),
    ):
        train(recipe(), run, resume=True, verbose=False)


def test_a_damaged_checkpoint_falls_back(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run / "checkpoints"
    longer = recipe(epochs=3)
    train(longer, run, resume=True, verbose=False, trainer_options=FEW)
    whole = weights(run)
    (folder / "last.ckpt").write_bytes(b"")
    saved = find_checkpoint(folder, EquilibriumModule(ddeq.load(run / "model"), longer))
    assert saved is not None
    assert (saved.step, saved.damaged) == (4, folder / "last.ckpt")
    train(longer, run, resume=True, verbose=False, trainer_options=FEW)
    assert "last.ckpt is damaged: going on from the one before, step 4" in capsys.readouterr().out
    assert weights(run) == whole
    for path in folder.iterdir():
        path.write_bytes(b"PK")
    with pytest.raises(DdeqError, match="is damaged"):
        train(longer, run, resume=True, verbose=False, trainer_options=FEW)


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "last.ckpt"
    WholeCheckpoints().save_checkpoint({"global_step": 1}, path)

    def full(value: object, file: Path) -> None:
        Path(file).write_bytes(b"half")
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        with pytest.raises(OSError, match="no space"):
            WholeCheckpoints().save_checkpoint({"global_step": 2}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["last.ckpt"]
    assert torch.load(path, weights_only=True) == {"global_step": 1}


def test_a_copied_run_goes_on_with_its_own_model(run: Path, tmp_path: Path) -> None:
    copy, old = tmp_path / "copy", weights(run)
    shutil.copytree(run, copy)
    train(recipe(seed=3), run, force=True, verbose=False, trainer_options=FEW)
    model = train(recipe(), copy, resume=True, verbose=False, trainer_options=FEW)
    assert weights(copy) == old
    assert torch.equal(model.head.weight, type(model).from_pretrained(copy / "model").head.weight)


def test_a_model_of_another_run_is_not_taken_for_the_best(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    train(recipe(seed=3), other, verbose=False, trainer_options=FEW)
    shutil.rmtree(run / "model")
    shutil.copytree(other / "model", run / "model")
    train(recipe(), run, resume=True, verbose=False, trainer_options=FEW)
    assert "is not the best model of this run" in capsys.readouterr().out
    assert weights(run) != weights(other)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"network.bilinear": 8}, "is of another network than these options make: model.network"),
        ({"optimizer": "adamw"}, "begun with the optimizer 'muon', not 'adamw'"),
    ],
)
def test_options_that_do_not_fit_leave_the_recipe(
    run: Path, options: dict[str, object], words: str
) -> None:
    text = (run / "recipe.yaml").read_text()
    other = recipe(epochs=2, **options)
    with pytest.raises(DdeqError, match=words):
        train(other, run, resume=True, verbose=False, trainer_options=FEW)
    assert (run / "recipe.yaml").read_text() == text


def test_training_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    before = dict(os.environ), list(warnings.filters), signal.getsignal(signal.SIGTERM)
    numbers = torch.random.get_rng_state()
    train(recipe(), tmp_path, verbose=False, trainer_options=FEW)
    after = dict(os.environ), list(warnings.filters), signal.getsignal(signal.SIGTERM)
    assert after == before
    assert torch.equal(torch.random.get_rng_state(), numbers)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_says_how_to_go_on(
    tmp_path: Path,
    number: signal.Signals,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = write_clouds(tmp_path / "clouds")
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert main(words(data, whole)) == 0
    original = EquilibriumModule.loss

    def loss(self: EquilibriumModule, *rest: object) -> object:
        if self.global_step == 16:  # in the second epoch of 15 steps
            os.kill(os.getpid(), number)
        return original(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(EquilibriumModule, "loss", loss)
        assert main(words(data, stopped)) == status
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert f"after step 17: go on with ddeq train --resume {stopped}" in shown
    assert weights(stopped)  # of the first validation
    assert main(["train", "--resume", str(stopped)]) == 0
    assert weights(stopped) == weights(whole)


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no SIGTERM here")
def test_a_process_that_is_terminated_ends_with_its_status(tmp_path: Path) -> None:
    data = write_clouds(tmp_path / "clouds")
    process = start([*words(data, tmp_path / "run"), "--log-every", "1", "--epochs", "50"])
    end = time.monotonic() + WAIT
    while max(logged(tmp_path / "run", "train/loss"), default=0) < 4 and time.monotonic() < end:
        time.sleep(0.002)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    assert finish(process) == 143
    assert (tmp_path / "run" / "checkpoints" / "last.ckpt").exists()
