"""The command line itself: exit status, one clear line for bad input, nothing overwritten."""

import json
from pathlib import Path

import numpy as np
import pytest

import ddeq
from ddeq.cli import COMMANDS, main
from ddeq.io.files import read_cloud, write_cloud
from ddeq.models.baselines import PointNet


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    points = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32) * 1000 + 5e4
    write_cloud(tmp_path / "scan.ply", points)
    return tmp_path / "scan.ply"


@pytest.fixture(scope="module")
def completer(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("completer")
    ddeq.Completer(dim=2, features=16, head_size=4, cross_layers=1).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("classifier")
    model = ddeq.Classifier(2, 3, features=16, head_size=4, classes=["cat", "dog", "owl"])
    model.save_pretrained(folder)
    return str(folder)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert len(capsys.readouterr().out) > 200


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["flow", "--no-such-option", "1"]])
def test_bad_usage_is_status_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2


def test_complete_keeps_every_input_point(
    scan: Path, completer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "full.ply"
    argv = ["complete", str(scan), "-o", str(out), "--weights", completer, "--points", "7"]
    assert main(argv) == 0
    before, after = read_cloud(scan).points, read_cloud(out).points
    assert after.shape == (67, 2)
    assert after[:60].tobytes() == before.tobytes()
    assert "60 points kept, 7 added" in capsys.readouterr().out
    assert main(argv) == 2
    assert "--force" in one_line(capsys)
    assert main([*argv, "--force"]) == 0


def test_complete_is_the_same_for_the_same_seed(scan: Path, completer: str, tmp_path: Path) -> None:
    results = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        out = tmp_path / f"{name}.npy"
        assert (
            main(["complete", str(scan), "-o", str(out), "--weights", completer, "--seed", seed])
            == 0
        )
        results.append(np.load(out))
    assert (results[0] == results[1]).all()
    assert (results[0] != results[2]).any()


def test_one_bad_file_does_not_stop_the_others(
    scan: Path, completer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.ply"
    bad.write_text("this is not a cloud")
    out = tmp_path / "out"
    argv = ["complete", str(bad), str(scan), "-o", str(out), "--weights", completer]
    assert main(argv) == 1
    assert "bad.ply" in one_line(capsys)
    assert [path.name for path in out.iterdir()] == ["scan.ply"]


def test_complete_writes_picture_and_animation(scan: Path, completer: str, tmp_path: Path) -> None:
    png, html = tmp_path / "full.png", tmp_path / "full.html"
    argv = ["complete", str(scan), "-o", str(tmp_path / "full.csv"), "--weights", completer]
    assert main([*argv, "--show", str(png), "--trajectory", str(html)]) == 0
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert "<html" in html.read_text()


def test_classify_prints_probabilities(
    scan: Path, classifier: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["classify", str(scan), "--weights", classifier, "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert set(result["probabilities"]) == {"cat", "dog", "owl"}
    assert sum(result["probabilities"].values()) == pytest.approx(1.0, abs=1e-5)
    assert result["class"] == max(result["probabilities"], key=result["probabilities"].get)


def test_wrong_dimension_is_one_line(
    classifier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "solid.npy", np.zeros((5, 3)))
    assert main(["classify", str(tmp_path / "solid.npy"), "--weights", classifier]) == 2
    assert "3-D" in one_line(capsys)


def test_missing_file_and_weights_are_one_line(
    scan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["classify", "no-such-file.ply"]) == 2
    assert "no-such-file.ply" in one_line(capsys)
    assert main(["classify", str(scan), "--weights", "no-such-weights"]) == 2
    assert "no-such-weights" in one_line(capsys)


def test_recipe_fields_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "mini-classification", "--epochs", "3", "--print"]) == 0
    assert "epochs: 3" in capsys.readouterr().out
    assert main(["train", "mini-classification", "--epochz", "3", "--print"]) == 2
    assert "epochz" in one_line(capsys)
    assert main(["train", "no-such-recipe"]) == 2
    assert "no-such-recipe" in one_line(capsys)


def test_info_describes_clouds_and_weights(
    scan: Path, completer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(scan)]) == 0
    assert "60 points" in capsys.readouterr().out
    assert main(["info", completer]) == 0
    assert "completer of 2-D clouds" in capsys.readouterr().out
    PointNet(2, 3).save_pretrained(tmp_path / "pointnet")
    assert main(["info", str(tmp_path / "pointnet")]) == 0
    assert "pointnet of 2-D clouds" in capsys.readouterr().out
    assert main(["info", "no-such-thing.ply"]) == 2
    assert "no-such-thing.ply" in one_line(capsys)
