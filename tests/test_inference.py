"""One path: a cloud in any units gives the same result wherever it is asked for."""

from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq.cli import main
from ddeq.data.view import NetworkView
from ddeq.demo.engine import Engine
from ddeq.errors import DdeqError
from ddeq.inference import (
    classifier_for,
    classify,
    complete,
    complete_cloud,
    completer_for,
)
from ddeq.io.files import read_cloud, write_cloud
from ddeq.measures.clouds import PointClouds

SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}


def bowl(count: int, dim: int, dtype: type = np.float64) -> np.ndarray:
    """Most of a circle or a sphere, in metres on a map."""
    points = np.random.default_rng(count).normal(size=(2 * count, dim))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points = points[points[:, -1] < 0.5][:count]
    return (40.0 * points + [5e5, 4e6, 100.0][:dim]).astype(dtype)


def by_command(cloud: np.ndarray, folder: Path) -> np.ndarray:
    write_cloud(folder / "cloud.npy", cloud)
    argv = ["complete", str(folder / "cloud.npy"), "-o", str(folder / "full.npy")]
    assert main(argv) == 0
    return np.load(folder / "full.npy")


def by_demo(cloud: np.ndarray, folder: Path) -> np.ndarray:
    write_cloud(folder / "upload.npy", cloud)
    engine = Engine()
    sent = engine.upload((folder / "upload.npy").read_bytes(), "upload.npy")
    answer = engine.complete({"points": sent["points"], "size": sent["size"]})
    return np.concatenate([cloud, np.array(answer["new"], cloud.dtype)])


def by_estimator(cloud: np.ndarray) -> np.ndarray:
    estimator = ddeq.PointCloudCompleter()
    estimator.model_, estimator.n_features_in_ = completer_for(cloud.shape[1]), cloud.shape[1]
    (full,) = estimator.predict([cloud])
    return full


@pytest.mark.parametrize(
    ("size", "dim"),
    [
        *((300, 2), (300, 3), (1_307, 2), (100_000, 2)),
        *(pytest.param(size, 3, marks=pytest.mark.slow) for size in (1_307, 100_000)),
    ],
)
def test_one_cloud_gives_the_same_points_everywhere(dim: int, size: int, tmp_path: Path) -> None:
    cloud = bowl(size, dim)
    full = complete(cloud)
    assert full[:size].tobytes() == cloud.tobytes()
    assert 0 < len(full) - size < 2 * size
    model = completer_for(dim)
    others = {
        "command": by_command(cloud, tmp_path),
        "demo": by_demo(cloud, tmp_path),
        "estimator": by_estimator(cloud),
        "model": model.complete(cloud),
        "batch": model.complete(PointClouds.from_list([cloud])).points[0].numpy(),
        "tensor": complete(torch.from_numpy(cloud)).numpy(),
    }
    for name, other in others.items():
        assert other.shape == full.shape, name
        assert other.tobytes() == full.tobytes(), name


@pytest.mark.parametrize("dim", [2, 3])
def test_one_cloud_has_the_same_classes_everywhere(dim: int, tmp_path: Path) -> None:
    cloud = bowl(1_307, dim)
    found = classify(cloud)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)
    shown = Engine().classify({"points": NetworkView(cloud).subsample.tolist()})
    if shown["classes"] is None:  # of a solid the demo says nothing that it cannot stand by
        assert (dim, found.unlike) in ((3, True), (3, None))
    for row in shown["classes"] or ():
        assert row["probability"] == pytest.approx(found[row["name"].replace(" ", "_")], abs=1e-4)
    estimator = ddeq.PointCloudClassifier()
    estimator.model_, estimator.n_features_in_ = classifier_for(dim), dim
    (row,) = estimator.predict_proba([cloud])
    assert row.max() == next(iter(found.values()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_precision_and_type_stay(dtype: type) -> None:
    cloud = bowl(60, 2, np.float64)
    cloud = (cloud - cloud.mean(0)).astype(dtype)
    full = complete(cloud, count=5)
    assert full.dtype == dtype
    assert full[:60].tobytes() == cloud.tobytes()
    tensor = complete(torch.from_numpy(cloud), count=5)
    assert tensor.dtype == torch.from_numpy(cloud).dtype
    np.testing.assert_array_equal(tensor.numpy(), full)


def test_integers_become_float64_and_keep_their_values() -> None:
    cloud = np.array([[2**40, 1], [2**40 + 1, 0], [2**40 + 3, 4], [2**40, 9]])
    full = complete(cloud, count=2)
    assert full.dtype == np.float64
    assert (full[:4] == cloud).all()


def test_a_subsample_is_completed_as_the_cloud_it_comes_from() -> None:
    cloud = bowl(5_000, 2)
    model = completer_for(2)
    seen = NetworkView(cloud).subsample
    expected = complete_cloud(cloud, model).new
    assert (complete_cloud(seen, model, size=5_000).new == expected).all()
    assert len(complete_cloud(seen, model).new) < len(expected)


@pytest.mark.parametrize("flat", [(2,), (0,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e4])
@pytest.mark.parametrize("size", [40, 3_000])
def test_a_flat_coordinate_stays_flat(flat: tuple[int, ...], unit: float, size: int) -> None:
    cloud = np.random.default_rng(0).normal(size=(size, 3))
    cloud[:, flat] = 2.1
    new = complete(cloud * unit, count=20)[size:]
    assert (new[:, flat] == (cloud * unit)[0, flat]).all()
    np.testing.assert_allclose(new / unit, complete(cloud, count=20)[size:], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("cloud", "words"),
    [
        (np.zeros((0, 2)), "shape"),
        (np.zeros(5), "shape"),
        (np.array([["a", "b"]]), "no cloud"),
        (np.array([[1.0, np.nan]]), "NaN"),
        (np.array([[1e200, 0.0]]), "unit"),
        (np.zeros((5, 4)), "4-D"),
        (np.zeros((5, 2)) + 1j, "no cloud"),
        (np.ma.masked_array(np.zeros((5, 2)), mask=np.eye(5, 2)), "masked"),
    ],
)
@pytest.mark.parametrize("work", [complete, classify])
def test_what_is_no_cloud_is_refused_in_one_line(work, cloud: np.ndarray, words: str) -> None:
    with pytest.raises(DdeqError, match=words) as caught:
        work(cloud)
    assert "\n" not in str(caught.value)


def test_weights_that_changed_on_disk_are_read_again(tmp_path: Path) -> None:
    for seed in (0, 1):
        torch.manual_seed(seed)
        ddeq.Completer(2, **SMALL).save_pretrained(tmp_path)
        loaded = ddeq.Completer.from_pretrained(tmp_path)
        cloud = bowl(30, 2)
        assert (complete(cloud, weights=tmp_path) == loaded.complete(cloud)).all()
    with pytest.raises(DdeqError, match="2-D clouds, this one is 3-D"):
        complete(bowl(30, 3), weights=tmp_path)


def test_the_file_that_a_command_writes_holds_the_same_points(tmp_path: Path) -> None:
    cloud = bowl(300, 3, np.float32)
    write_cloud(tmp_path / "a.ply", cloud)
    assert main(["complete", str(tmp_path / "a.ply"), "-o", str(tmp_path / "b.ply")]) == 0
    assert read_cloud(tmp_path / "b.ply").points.tobytes() == complete(cloud).tobytes()
