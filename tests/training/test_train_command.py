"""``ddeq train``: every field is an option, weights to start from, loggers that may be missing."""

import importlib.util
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq.cli import main
from ddeq.cli.train import parse_recipe
from ddeq.training import PRESETS, Recipe
from ddeq.training.finetune import start_from


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_data_is_not_short_for_data_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "mini-classification", "--data", "shapes", "--print"]) == 0
    assert "data: shapes" in capsys.readouterr().out


def test_a_printed_recipe_is_a_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", "paper-mnist-completion", "--replay", "3", "--print"]
    assert main(argv) == 0
    file = tmp_path / "mine.yaml"
    file.write_text(capsys.readouterr().out)
    assert parse_recipe(str(file), []) == replace(PRESETS["paper-mnist-completion"], replay=3)
    assert parse_recipe(str(file), ["--seed", "4"]).seed == 4


def test_help_explains_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    for field in fields(Recipe):
        assert f"  --{field.name} " in shown


@pytest.mark.skipif(importlib.util.find_spec("wandb") is not None, reason="it is installed")
def test_missing_wandb_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert main(["train", "mini-classification", "--wandb", "-o", str(out)]) == 2
    assert "pip install wandb" in one_line(capsys)
    assert not out.exists()


SHORT = ["--batch-size", "4", "--solver.max-steps", "2", "--train-steps", "[1,2]", "--epochs", "1"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run of two training steps on twelve clouds."""
    folder = tmp_path / "clouds"
    rng = np.random.default_rng(0)
    for name in ("disc", "line"):
        (folder / name).mkdir(parents=True)
        for i in range(6):
            np.save(folder / name / f"{i}.npy", rng.normal(size=(12, 2)))
    out = tmp_path / "run"
    argv = ["train", "mini-classification", "--data", str(folder), "-o", str(out), *SHORT]
    assert main([*argv, "--save-every", "1"]) == 0
    return out


def test_a_run_is_measured_by_its_own_recipe(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["eval", str(run / "recipe.yaml"), "--weights", str(run / "model")]
    assert main(argv) == 0
    assert "disc" in capsys.readouterr().out
    assert main([*argv, "--data", "mnist-mini"]) == 2
    assert "it knows 2 classes, mnist-mini/test has 10" in one_line(capsys)
    assert main([*argv, "--data", "shapes"]) == 2
    assert "it is for 2-D clouds" in one_line(capsys)
    assert main([*argv, "--limit", "-1"]) == 2
    assert "--limit must be at least 1" in one_line(capsys)


def test_resuming_takes_the_recipe_of_the_run(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = parse_recipe(str(run / "recipe.yaml"), [])
    argv = ["train", "mini-classification", "--data", own.data, "-o", str(run), "--resume"]
    assert main(argv) == 0
    assert parse_recipe(str(run / "recipe.yaml"), []) == own
    assert main([*argv, "--epochs", "2"]) == 0
    assert parse_recipe(str(run / "recipe.yaml"), []) == replace(own, epochs=2)
    capsys.readouterr()
    assert main(["train", "mini-completion", "-o", str(run), "--resume"]) == 2
    assert "holds classification of" in one_line(capsys)


def test_start_from_copies_weights(tmp_path: Path) -> None:
    source = ddeq.Classifier(2, 3, head_size=32, particles=4, classes=["a", "b", "c"])
    source.save_pretrained(tmp_path)
    target = ddeq.Classifier(2, 3, head_size=32, particles=10)
    start_from(target, str(tmp_path))
    assert target.particles == 10
    for ours, theirs in zip(target.parameters(), source.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cross_layers": 2}, "--network.cross_layers 1"),
        ({"pushforward": True}, "--network.pushforward False"),
        ({"head_size": 32}, "--network.head_size 4"),
        ({"fourier": 2}, "--network.fourier 0"),
        ({"dim": 3}, "2-D clouds, the data are 3-D"),
    ],
)
def test_start_from_says_what_differs(options: dict, says: str, tmp_path: Path) -> None:
    base = {"dim": 2, "num_classes": 3, "cross_layers": 1}
    ddeq.Classifier(**base).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=says):
        start_from(ddeq.Classifier(**{**base, **options}), str(tmp_path))


@pytest.mark.parametrize(("given", "wanted"), [(False, True), (True, False), (True, True)])
def test_start_from_with_and_without_an_estimate(given: bool, wanted: bool, tmp_path: Path) -> None:
    source = ddeq.Completer(2, cross_layers=1, estimate=given)
    source.save_pretrained(tmp_path)
    target = ddeq.Completer(2, cross_layers=1, estimate=wanted)
    start_from(target, str(tmp_path))
    theirs = source.state_dict()
    for name, value in target.state_dict().items():
        if given or not name.startswith("missing."):
            assert torch.equal(value, theirs[name])


def test_start_from_weights_without_marks(tmp_path: Path) -> None:
    plain = ddeq.Completer(2, features=16, head_size=4, cross_layers=1)
    plain.save_pretrained(tmp_path)
    marked = ddeq.Completer(2, features=16, head_size=4, cross_layers=1, marks=2)
    start_from(marked, str(tmp_path))
    x = ddeq.PointClouds.from_list([torch.randn(9, 2), torch.randn(5, 2)])
    torch.testing.assert_close(marked(x).points, plain(x).points)  # they have no effect yet


def test_start_from_with_other_classes_has_a_new_head(tmp_path: Path) -> None:
    source = ddeq.Classifier(2, 3, classes=["a", "b", "c"])
    source.save_pretrained(tmp_path)
    target = ddeq.Classifier(2, 5)
    fresh = target.head.weight.clone()
    start_from(target, str(tmp_path))
    assert torch.equal(target.head.weight, fresh)
    assert torch.equal(next(target.network.parameters()), next(source.network.parameters()))


def test_start_from_refuses_the_other_kind(tmp_path: Path) -> None:
    ddeq.Completer(2).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="a completer, not a classifier"):
        start_from(ddeq.Classifier(2, 3), str(tmp_path))


@pytest.mark.parametrize("task", ["classification", "completion"])
def test_every_epoch_leaves_a_picture(task: str, tmp_path: Path) -> None:
    from ddeq.training import train

    tiny = {"batch_size": 4, "warmup": 2, "train_steps": (2, 3), "solver.max_steps": 3, "epochs": 1}
    few = {"limit_train_batches": 2, "limit_val_batches": 2, "log_every_n_steps": 1}
    train(PRESETS[f"mini-{task}"].changed(tiny), tmp_path, trainer_options=few)
    (picture,) = (tmp_path / "samples").iterdir()
    assert picture.name == "epoch-001.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("task", ["classification", "completion"])
def test_a_training_in_mixed_precision_leaves_whole_weights(
    task: str, run: Path, tmp_path: Path
) -> None:
    out, data = tmp_path / "mixed", tmp_path / "clouds"
    argv = ["train", f"mini-{task}", "--data", str(data), "-o", str(out), *SHORT]
    assert main([*argv, "--precision", "bf16-mixed"]) == 0
    weights = ddeq.load(out / "model").state_dict().values()
    assert all(value.isfinite().all() for value in weights)
    assert {value.dtype for value in weights if value.is_floating_point()} == {torch.float32}
