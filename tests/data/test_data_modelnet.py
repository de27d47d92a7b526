"""The voxel grid, meshes, the sources of ModelNet40-s and the cache."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ddeq.cli import main
from ddeq.data import cache
from ddeq.data.sets.modelnet import EIGHT, load_modelnet
from ddeq.data.voxels import voxel_downsample

DATA = os.environ.get("DDEQ_DATA")

CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DDEQ_CACHE", str(tmp_path / "cache"))


def cube_text(header: str = "OFF\n8 6 12\n") -> str:
    corners = "".join(f"{x} {y} {z}\n" for x, y, z in CUBE)
    return header + corners + "".join("4 " + " ".join(map(str, s)) + "\n" for s in SIDES)


def write_meshes(root: Path, classes=("bowl", "chair"), each: int = 2) -> None:
    for c, name in enumerate(classes):
        for split in ("train", "test"):
            folder = root / "ModelNet40" / name / split
            folder.mkdir(parents=True)
            for i in range(each):
                text = cube_text("OFF8 6 12\n" if i % 2 else "OFF\n8 6 12\n")
                (folder / f"{name}_{i:04d}.off").write_text(
                    text.replace("1 1 1\n", f"1 1 {c + 2}\n")
                )


def write_npz(path: Path, count: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    points = rng.integers(-32767, 32768, (count, 1024, 3)).astype(np.int16)
    labels = (np.arange(count) % 2).astype(np.uint8)
    classes = np.array(["bowl", "chair"])
    parts = {f"{k}_{s}": v for s in ("train", "test") for k, v in (("X", points), ("y", labels))}
    np.savez(path, classes=classes, **parts)
    return points


points_in = st.integers(1, 3).flatmap(
    lambda dim: hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 120), st.just(dim)),
        elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, -1e300, 1e300, 1e-300]),
    )
)


@settings(max_examples=80, deadline=None)
@given(points=points_in, limit=st.integers(1, 130))
def test_voxels_keep_the_limit_and_the_bounds(points, limit):
    thin = voxel_downsample(points, limit)
    assert 1 <= len(thin) <= min(limit, len(points))
    assert np.isfinite(thin).all()
    slack = 1e-9 * np.abs(points).max() + 1e-300
    assert (thin >= points.min(0) - slack).all()
    assert (thin <= points.max(0) + slack).all()
    if len(points) <= limit:
        assert (thin == points).all()


@pytest.mark.parametrize("limit", [1, 50, 800])
@pytest.mark.parametrize("dim", [2, 3])
def test_voxels_use_up_most_of_the_limit(limit, dim):
    points = np.random.default_rng(0).normal(size=(3000, dim))
    assert len(voxel_downsample(points, limit)) >= 0.9 * limit


def test_voxels_do_not_depend_on_place_or_scale():
    points = np.random.default_rng(0).random((2000, 3))
    assert len(voxel_downsample(points * 1e-8 + 5)) == len(voxel_downsample(points)) > 780


def test_voxels_of_duplicates_and_integers():
    assert voxel_downsample(np.ones((900, 3)), 10).tolist() == [[1.0, 1.0, 1.0]]
    assert len(voxel_downsample(np.arange(100)[:, None], 10)) == 10
    with pytest.raises(ValueError, match="finite"):
        voxel_downsample(np.full((4, 2), np.nan))
    with pytest.raises(ValueError, match="N >= 1"):
        voxel_downsample(np.zeros((0, 3)))


def test_a_truncated_mesh_is_named(tmp_path):
    write_meshes(tmp_path)
    path = tmp_path / "ModelNet40" / "chair" / "train" / "chair_0001.off"
    path.write_text(path.read_text()[:30])
    with pytest.raises(ValueError, match=path.name) as caught:
        load_modelnet(tmp_path, "train")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("surface", [False, True])
def test_meshes_keep_class_and_split(tmp_path, surface):
    write_meshes(tmp_path)
    data = load_modelnet(tmp_path, "train", max_points=100, surface=surface)
    assert data.classes == ("bowl", "chair")
    assert data.labels.tolist() == [0, 0, 1, 1]
    assert data.lengths.max() <= 100
    assert (data.lengths > 8).all() == surface
    assert [round(float(c[:, 2].max())) for c in data.clouds] == [2, 2, 3, 3]


def test_npz_is_scaled_and_thinned(tmp_path):
    points = write_npz(tmp_path / "modelnet40_1024_int16.npz")
    data = load_modelnet(tmp_path, "test")
    assert data.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert 700 < data.lengths.min() <= data.lengths.max() <= 800
    assert np.abs(data.points).max() <= 1
    whole = load_modelnet(tmp_path, "test", max_points=1024)
    assert np.allclose(whole.raw(3), points[3] / 32767, atol=1e-6)


def test_hdf5_is_turned_upright(tmp_path):
    h5py = pytest.importorskip("h5py")
    folder = tmp_path / "modelnet40_ply_hdf5_2048"
    folder.mkdir()
    (folder / "shape_names.txt").write_text("bowl\nchair\n")
    points = np.random.default_rng(0).random((3, 2048, 3)).astype(np.float32)
    for part in range(2):
        with h5py.File(folder / f"ply_data_train{part}.h5", "w") as file:
            file["data"], file["label"] = points, np.array([[1], [0], [1]], dtype=np.uint8)
    data = load_modelnet(tmp_path, "train", max_points=2048)
    assert data.labels.tolist() == [1, 0, 1, 1, 0, 1]
    assert (data.raw(2)[:, 2] == points[2][:, 1]).all()
    assert (data.raw(2)[:, 1] == -points[2][:, 2]).all()
    (folder / "ply_data_train1.h5").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"ply_data_train1\.h5"):
        load_modelnet(tmp_path, "train", max_points=2048)


def test_hdf5_without_h5py_is_one_line(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "modelnet40_ply_hdf5_2048"
    folder.mkdir()
    (folder / "shape_names.txt").write_text("bowl\nchair\n")
    for split in ("train", "test"):
        (folder / f"ply_data_{split}0.h5").write_bytes(b"\x89HDF")
    monkeypatch.setitem(sys.modules, "h5py", None)
    argv = ["eval", "modelnet40-classification"]
    assert main([*argv, "--data-root", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == "ddeq: reading ply_data_test0.h5 needs h5py: pip install h5py\n"


def test_a_damaged_npz_is_named(tmp_path):
    path = tmp_path / "modelnet40_1024_int16.npz"
    write_npz(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match=path.name):
        load_modelnet(tmp_path, "train")


def test_missing_files_say_what_to_put_where(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ModelNet40\.zip"):
        load_modelnet(tmp_path, "train")


def test_the_cache_serves_the_second_load_and_survives_damage(tmp_path, monkeypatch):
    write_npz(tmp_path / "modelnet40_1024_int16.npz")
    first = load_modelnet(tmp_path, "train")
    (stored,) = (cache.cache_dir() / "prepared").iterdir()

    def never(*args):
        raise AssertionError("the source was read again")

    with monkeypatch.context() as patch:
        patch.setattr("ddeq.data.sets.modelnet._read_npz", never)
        second = load_modelnet(tmp_path, "train")
        assert (first.points == second.points).all()
        assert (first.labels == second.labels).all()
        with pytest.raises(AssertionError):
            load_modelnet(tmp_path, "train", max_points=100)
    stored.write_bytes(stored.read_bytes()[:1000])
    assert (load_modelnet(tmp_path, "train").points == first.points).all()
    assert [p.name for p in stored.parent.iterdir()] == [stored.name]


def test_a_cache_that_cannot_be_written_is_only_a_warning(tmp_path, monkeypatch):
    write_npz(tmp_path / "modelnet40_1024_int16.npz")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DDEQ_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="not cached"):
        assert len(load_modelnet(tmp_path, "train")) == 6


@pytest.mark.skipif(not DATA, reason="DDEQ_DATA is not set")
def test_the_full_test_set():
    data = load_modelnet(DATA, "test")
    assert len(data) == 2468
    assert len(data.classes) == 40
    assert data.lengths.max() <= 800
    assert len(data.only(EIGHT)) == 590
