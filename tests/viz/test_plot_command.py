"""``ddeq plot`` and the figures of :mod:`ddeq.viz.diagrams`."""

from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq.cli import main
from ddeq.viz import diagrams
from ddeq.viz.drawing import save
from ddeq.viz.from_model import check_method, choose, flatten, match, principal_plane

SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    ddeq.Completer(2, **SMALL).save_pretrained(folder / "completer")
    ddeq.Completer(3, **SMALL).save_pretrained(folder / "solid")
    ddeq.Classifier(2, 10, **SMALL).save_pretrained(folder / "classifier")
    return {path.name: str(path) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("kind", "model", "options"),
    [
        ("samples", "completer", ["--count", "2"]),
        ("samples", "solid", ["--count", "2", "--data", "shapes"]),
        ("flow", "completer", ["--seed", "7"]),
        ("scans", "solid", ["--count", "2", "--cut", "view"]),
        ("fixed-points", "completer", ["--count", "2"]),
        ("fixed-points", "classifier", ["--task", "classification"]),
        ("embeddings", "classifier", ["--count", "12", "--method", "pca"]),
        ("embeddings", "completer", ["--count", "5", "--method", "pca", "--task", "completion"]),
    ],
)
def test_every_kind_leaves_a_picture(
    kind: str, model: str, options: list[str], weights: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "picture.svg"
    argv = ["plot", kind, "--weights", weights[model], "-o", str(out), *options]
    assert main(argv) == 0
    assert "<svg" in out.read_text()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.png"
    out.write_text("mine")
    assert main(["plot", "flow", "-o", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    new = str(tmp_path / "new.png")
    for argv in (["-o", "picture.txt"], ["-o", new, "--count", "0"], ["-o", new, "--seed", "-1"]):
        assert main(["plot", "flow", *argv]) == 2
    assert main(["plot", "turning", "-o", new]) == 2
    for task in ("regression", "nothing"):
        assert main(["plot", "embeddings", "--method", "pca", "--task", task, "-o", new]) == 2
    assert "completion" in capsys.readouterr().err


@pytest.mark.parametrize(
    "kind", ["samples", "flow", "scans", "turning", "fixed-points", "embeddings"]
)
def test_every_kind_explains_itself(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["plot", kind, "--help"])
    assert stop.value.code == 0
    assert "Example" in capsys.readouterr().out


@pytest.mark.parametrize("size", [2, 10, 40])
def test_confusion_of_any_number_of_classes(size: int, tmp_path: Path) -> None:
    counts = np.eye(size, dtype=int) * 9
    counts[0, 1] = 3
    figure = diagrams.confusion(counts, [f"class {i}" for i in range(size)])
    (ax,) = figure.axes
    (image,) = ax.images
    cells = np.asarray(image.get_array())
    assert cells.shape == (size, size, 3)
    assert cells[0, 1, 0] > cells[0, 1, 2]  # wrong is red
    assert cells[1, 1, 2] > cells[1, 1, 0]  # right is blue
    assert (cells[1, 0] == 1).all()
    assert f"{9 * size} of {9 * size + 3} right" in ax.get_title()
    assert (len(ax.texts) > 0) == (size <= 15)
    save(figure, tmp_path / "confusion.png")
    with pytest.raises(ValueError, match="classes need counts"):
        diagrams.confusion(counts, ["one"])


@pytest.mark.parametrize("count", [1, 8, 10, 40])
def test_class_colors_differ(count: int) -> None:
    assert len({tuple(np.round(color, 3)) for color in diagrams.class_colors(count)}) == count


def test_matching_finds_the_permutation() -> None:
    z = ddeq.PointClouds.from_tensor(torch.randn(1, 6, 5))
    reverse = ddeq.solvers.Picard(max_steps=1)
    solution = reverse.solve(lambda clouds: clouds.map(lambda points: points.flip(1)), z)
    (point,), shares = match(solution, ["cloud"])
    np.testing.assert_allclose(point.z, point.image, atol=1e-6)
    assert point.z.shape == (6, 2)
    assert 0 < shares[1] <= shares[0] <= 1


def test_principal_plane_of_a_plane() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 2)) * [3.0, 1.0] @ rng.normal(size=(2, 7)) + 5.0
    mean, axes, shares = principal_plane(rows)
    assert sum(shares) == pytest.approx(1.0)
    np.testing.assert_allclose(axes.T @ axes, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(mean + (rows - mean) @ axes @ axes.T, rows, atol=1e-10)


def test_choose_takes_the_classes_in_turn() -> None:
    data = ddeq.data.load("mnist-mini", "test")
    chosen = choose(data, 25, seed=1)
    assert data.labels[chosen].tolist() == [i % 10 for i in range(25)]
    assert len(set(chosen)) == 25
    assert choose(data, 5, 1) == chosen[:5] != choose(data, 5, 2)
    assert sorted(choose(data, 10**6, 0)) == list(range(len(data)))


def test_embedding_methods() -> None:
    features = np.random.default_rng(0).normal(size=(20, 6))
    assert flatten(features, "pca").shape == (20, 2)
    with pytest.raises(ValueError, match="at least 3"):
        flatten(features[:2], "pca")
    with pytest.raises(ValueError, match="nonsense"):
        check_method("nonsense")
    pytest.importorskip("sklearn")
    first, second = (flatten(features, "tsne", seed=1) for _ in range(2))
    assert first.shape == (20, 2)
    assert (first == second).all()


def test_eval_draws_confusions(
    weights: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "confusion.png"
    argv = ["eval", "mini-classification", "--weights", weights["classifier"], "--limit", "9"]
    assert main([*argv, "--confusion", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert main([*argv, "--confusion", str(out)]) == 2
    assert main(["eval", "mini-completion", "--confusion", str(tmp_path / "other.png")]) == 2
