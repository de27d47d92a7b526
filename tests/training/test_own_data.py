"""Training on a user's own clouds: folders, CSV files, meshes, shipped weights to start from."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import logged, write_clouds

from ddeq.cli import main
from ddeq.cli.train import parse_recipe
from ddeq.data import load
from ddeq.errors import DdeqError
from ddeq.models import Classifier
from ddeq.models.regressor import Regressor
from ddeq.training import PRESETS, train
from ddeq.training.own_data import own_recipe
from ddeq.training.plan import Plan

QUICK = ["--train-steps", "[1,2]", "--solver.max-steps", "2", "--epochs", "1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve clouds with their widths, as a CSV file."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(12):
        np.save(tmp_path / f"{i}.npy", rng.normal(size=(20, 2)) * [1 + i, 1.0])
        rows.append({"file": f"{i}.npy", "target": 1 + i + 0.5})
    return write_table(tmp_path / "widths.csv", rows)


def write_table(path: Path, rows: list[dict]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_table_has_numbers(table: Path) -> None:
    parts = [load(str(table), split) for split in ("train", "test")]
    assert [len(part) for part in parts] == [10, 2]
    assert parts[0].classes == ()
    found = sorted(np.concatenate([part.labels for part in parts]).tolist())
    assert found == [1.5 + i for i in range(12)]


def test_a_table_has_classes_and_splits(table: Path) -> None:
    names = ["wide", "round"]
    rows = [
        {"file": f"{i}.npy", "label": names[i % 2], "split": "test" if i == 3 else "train"}
        for i in range(12)
    ]
    path = write_table(table.parent / "kinds.csv", rows)
    test = load(str(path), "test")
    assert (len(test), test.classes, test.labels.tolist()) == (1, ("round", "wide"), [0])
    assert len(load(str(path), "train")) == 11


@pytest.mark.parametrize(
    "text",
    [
        "",
        "file,colour\na.npy,red\n",
        "file,label,target\na.npy,red,1\n",
        "file,target\n0.npy,wide\n",
        "file,target\n0.npy\n",
        "file,target\n0.npy,1,2\n",
        "file,label\nnowhere.npy,a\n",
        "\x00",
    ],
)
def test_malformed_tables_are_one_line(
    text: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_text(text)
    assert main(["train", str(table), "-o", str(table.parent / "run")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (table.parent / "run").exists()


def test_numbers_are_learned_from_a_table(table: Path) -> None:
    out = table.parent / "run"
    assert main(["train", str(table), "-o", str(out), *QUICK]) == 0
    recipe = parse_recipe(str(out / "recipe.yaml"), [])
    assert recipe.task.name == "regression"
    assert isinstance(Regressor.from_pretrained(out / "model"), Regressor)
    assert main(["eval", str(out / "recipe.yaml"), "--weights", str(out / "model")]) == 0


def test_a_folder_starts_from_shipped_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write_clouds(tmp_path / "clouds"), tmp_path / "run"
    rate = ["--learning-rate", "1e-9", "--average", "0"]
    assert main(["train", str(data), "-o", str(out), *QUICK, *rate]) == 0
    shown = capsys.readouterr().out
    assert "51 clouds in batches of 6: 8 steps in 1 epoch, validated every epoch" in shown
    assert "warning: 8 steps cannot be enough" in shown
    model, source = (Classifier.from_pretrained(name) for name in (out / "model", "mnist-pc"))
    assert model.classes == ["long", "round"]
    for ours, theirs in zip(model.network.parameters(), source.network.parameters(), strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-5)


def test_from_scratch_and_completion(tmp_path: Path) -> None:
    data = str(write_clouds(tmp_path / "clouds"))
    shipped, fresh = own_recipe(data), own_recipe(data, transfer=False)
    assert (shipped.init, fresh.init) == ("mnist-pc", None)
    assert fresh.recipe.network == PRESETS["mini-classification"].network
    whole = own_recipe(data, "completion")
    assert (whole.recipe.task.name, whole.init) == ("completion", "digits")
    with pytest.raises(DdeqError, match="has one class"):
        own_recipe(str(tmp_path / "clouds" / "long"))


def test_meshes_of_a_folder_are_sampled(tmp_path: Path) -> None:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(3):
            (tmp_path / name / f"{i}.obj").write_text(corners)
    assert set(load(str(tmp_path), "all", surface=50).lengths) == {50}  # type: ignore[comparison-overlap]
    assert own_recipe(str(tmp_path), surface=50).recipe.surface == 50


def test_runs_scale_with_their_data() -> None:
    recipe = PRESETS["mini-classification"]
    assert Plan(recipe, 5400).validate_every == 1
    small = Plan(replace(recipe, epochs=400, batch_size=32), 54)
    assert (small.per_epoch, small.steps, small.validate_every) == (1, 400, 40)
    assert len(small.lines()) == 1
    few = Plan(replace(recipe, epochs=30), 54)
    assert "30 steps cannot be enough, 300 may be: add --epochs 300" in few.lines()[1]
    assert "10 minutes" in Plan(replace(recipe, minutes=10), 54).lines()[0]
    (line,) = Plan(replace(recipe, minutes=1), 1).lines()
    assert line.startswith("1 cloud in batches of 1: 1 minute, validated")


def test_minutes_are_a_budget(tmp_path: Path) -> None:
    changes = {"minutes": 0.05, "batch_size": 4, "train_steps": (1, 2), "solver.max_steps": 2}
    recipe = PRESETS["mini-classification"].changed(changes)
    train(recipe, tmp_path, verbose=False, trainer_options={"limit_val_batches": 1})
    assert (tmp_path / "model" / "model.safetensors").exists()
    with (tmp_path / "metrics.csv").open() as file:
        steps = [int(row["step"]) for row in csv.DictReader(file)]
    assert 0 < max(steps) < 1350
    validated = logged(tmp_path, "val/accuracy")
    assert max(validated) == max(steps)  # the last weights, though the epoch was cut
