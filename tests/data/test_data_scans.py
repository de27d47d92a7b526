"""The embedded scans, the paper's mesh vertices, and data sets that register themselves."""

import os

import numpy as np
import pytest

import ddeq.data.sets as sets
from ddeq.data import DATASETS, load
from ddeq.data.sets.modelnet_vertices import load_vertices
from ddeq.data.sets.registry import Entry, register
from ddeq.data.sets.scans import decode, encode, families, load_scans, make_scans, share_out

DATA = os.environ.get("DDEQ_DATA")
SPLITS = ("train", "validation", "test")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DDEQ_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def scans():
    return {split: load("scans", split) for split in SPLITS}


def test_scans_come_with_the_package_in_metres(scans):
    assert {split: len(data) for split, data in scans.items()} == DATASETS["scans"].sizes
    assert sum(len(data) for data in scans.values()) == 808
    for data in scans.values():
        assert data.dim == 3
        assert (data.lengths == 1024).all()
        radius = np.array([np.linalg.norm(cloud, axis=1).max() for cloud in data.clouds])
        assert 0.01 < radius.min() < radius.max() < 0.5
        assert len(set(data.names)) == len(data)
    with pytest.raises(ValueError, match="split"):
        load_scans("all")


def test_no_maker_is_in_two_splits(scans):
    makers = [{name.split("_")[0].lower() for name in data.names} for data in scans.values()]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert makers[a].isdisjoint(makers[b])


def test_a_subset_keeps_names_with_clouds(scans):
    few = scans["test"].subset([5, 2])
    assert few.names == (scans["test"].names[5], scans["test"].names[2])
    assert (few.raw(1) == scans["test"].raw(2)).all()
    assert (load_scans("test").raw(2) == scans["test"].raw(2)).all()


def test_the_first_points_are_a_fair_sample(scans):
    means = [cloud[:256].mean(0) - cloud.mean(0) for cloud in scans["test"].clouds]
    sizes = [cloud.std(0).max() / 16 for cloud in scans["test"].clouds]
    share = np.mean([np.abs(m).max() < 3 * s for m, s in zip(means, sizes, strict=True)])
    assert share > 0.95


def test_stored_points_are_those_of_the_source():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (3, 50, 3))
    stored = decode(*encode(points))
    for cloud, back in zip(points, stored, strict=True):
        order = np.argsort(np.round(cloud[:, 0] * 2047), kind="stable")
        assert np.abs(back - cloud[order]).max() <= 0.5 / 2047 + 1e-12


def test_families_join_makers_and_near_copies():
    rng = np.random.default_rng(0)

    def box(sides):
        points = rng.uniform(-1, 1, (512, 3))
        rows = np.arange(512)
        points[rows, rng.integers(3, size=512)] = rng.choice([-1, 1], 512)
        return points * np.array(sides) / np.linalg.norm(sides)

    wide, flat = (1, 1, 1), (1, 0.5, 0.2)
    points = np.stack([box(wide), box(flat), box(wide), box(flat), box(wide)])
    names = ["Acme_cube", "ACME_flat", "Other_cube", "Third_flat_large", "Fourth_cube_small"]
    family = families(names, points, np.array([0.1, 0.1, 0.1, 0.2, 0.05]))
    assert family[0] == family[1] == family[2]
    assert len(set(family.tolist())) == 3


def test_families_stay_together():
    rng = np.random.default_rng(0)
    family = rng.integers(0, 150, 400)
    names = [f"{number}_{i}" for i, number in enumerate(family)]
    split = share_out(names, family)
    assert all(len(set(split[family == number].tolist())) == 1 for number in set(family.tolist()))
    assert abs((split == 2).mean() - 0.2) < 0.02
    assert abs((split == 1).mean() - 0.1) < 0.02
    assert (share_out(names, family) == split).all()


def test_the_file_is_made_from_a_source(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.integers(-32767, 32768, (4, 2048, 3)).astype(np.int16)
    names = np.array(["a_1", "b_1", "c_1", "c_2"])
    np.savez(tmp_path / "in.npz", points=points, names=names, radius_m=np.ones(4, np.float32))
    make_scans(tmp_path / "in.npz", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as file:
        stored = decode(file["x_steps"], file["yz_high"], file["yz_low"])
        assert file["split"][2] == file["split"][3]
    wanted = points[:, :1024] / 32767
    assert np.abs(np.sort(stored[:, :, 0]) - np.sort(wanted[:, :, 0])).max() < 1e-3


def write_off(path, vertices):
    path.parent.mkdir(parents=True)
    rows = "".join(f"{x:.7f} {y:.7f} {z:.7f}\n" for x, y, z in vertices)
    path.write_text(f"OFF\n{len(vertices)} 0 0\n{rows}")


def test_meshes_and_the_prepared_file_give_the_same_clouds(tmp_path):
    rng = np.random.default_rng(0)
    clouds = [rng.uniform(-1, 1, (n, 3)) for n in (30, 70)]
    unit = [(c - (c.min(0) + c.max(0)) / 2) for c in clouds]
    unit = [c / np.linalg.norm(c, axis=1).max() for c in unit]
    arrays = {"classes": np.array(["bowl", "chair"])}
    for split in ("train", "test"):
        arrays[f"points_{split}"] = np.round(np.concatenate(unit) * 32767).astype(np.int16)
        arrays[f"lengths_{split}"] = np.array([30, 70], dtype=np.int16)
        arrays[f"y_{split}"] = np.array([0, 1], dtype=np.uint8)
        for name, cloud in zip(("bowl", "chair"), clouds, strict=True):
            file = tmp_path / "off" / "ModelNet40" / name / split / f"{name}_0001.off"
            write_off(file, np.concatenate([cloud, cloud[:5]]) * 3 + 7)
    (tmp_path / "npz").mkdir()
    np.savez(tmp_path / "npz" / "modelnet40s_vertices_int16.npz", **arrays)
    for split in ("train", "test"):
        ours, theirs = (load("modelnet40-s", split, tmp_path / s) for s in ("off", "npz"))
        assert ours.classes == theirs.classes == ("bowl", "chair")
        assert ours.labels.tolist() == theirs.labels.tolist()
        for a, b in zip(ours.clouds, theirs.clouds, strict=True):
            gap = np.linalg.norm(a[:, None] - b[None], axis=2)
            assert a.shape == b.shape
            assert gap.min(0).max() < 1e-4


def test_missing_and_damaged_vertices_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"ModelNet40\.zip"):
        load("modelnet8-s", "train", tmp_path)
    (tmp_path / "modelnet40s_vertices_int16.npz").write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="modelnet40s_vertices"):
        load_vertices(tmp_path, "test")


@pytest.mark.skipif(not DATA, reason="DDEQ_DATA is not set")
def test_the_paper_clouds():
    data = load("modelnet40-s", "test", DATA)
    assert len(data.classes) == 40
    assert len(data) > 2300
    assert data.lengths.max() <= 800
    assert np.linalg.norm(data.raw(0), axis=1).max() == pytest.approx(1, abs=1e-3)


MODULE = """
import numpy as np
from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.registry import Entry, register


def load_dots(root, split):
    return CloudDataset.from_list([np.eye(2)], [0], ("dot",), f"dots/{split}")


sizes = {"train": 1, "test": 1}
register(Entry("dots", "two points", 2, 1, sizes, "none", load_dots))
"""


def test_a_new_data_set_is_one_new_file(tmp_path, monkeypatch):
    (tmp_path / "dots.py").write_text(MODULE)
    monkeypatch.setattr(sets, "__path__", [*sets.__path__, str(tmp_path)])
    monkeypatch.setitem(DATASETS, "dots", None)
    sets.discover()
    assert load("dots", "test").raw(0).tolist() == [[1, 0], [0, 1]]


def test_an_entry_without_a_test_set_is_refused():
    with pytest.raises(ValueError, match="'test'"):
        register(Entry("half", "", 2, 1, {"train": 1}, "none", lambda root, split: None))
    assert "half" not in DATASETS
