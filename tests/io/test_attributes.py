"""Colour, normals, intensity and time in formats that keep numbers in their own ways."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from file_points import POINTS
from test_gltf import gltf

from ddeq.cli import main
from ddeq.io.files import has_fields, read_cloud, write_cloud

COLOUR = {name: np.arange(7, dtype=np.uint8) + i for i, name in enumerate(("red", "green", "blue"))}
OTHER = {"intensity": np.linspace(0, 1, 7), "time": np.arange(7, dtype=np.int32) - 3}
ROWS = np.array([[0.5, 1.5, -2], [3.25, 0, 7]])


@pytest.mark.parametrize("suffix", [".csv", ".xyz", ".txt", ".npz", ".csv.gz"])
def test_all_survive(suffix: str, tmp_path: Path) -> None:
    first, again = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for points in (POINTS, POINTS[:, :2]):
        write_cloud(first, points, attributes={**COLOUR, **OTHER}, force=True)
        cloud = read_cloud(first)
        assert np.array_equal(cloud.points, points)
        assert list(cloud.attributes) == [*COLOUR, *OTHER]
        for name, values in {**COLOUR, **OTHER}.items():
            assert cloud.attributes[name].dtype == values.dtype
            assert np.array_equal(cloud.attributes[name], values)
        write_cloud(again, cloud.points, attributes=cloud.attributes, force=True)
        assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("suffix", [".obj", ".off", ".obj.gz"])
def test_meshes_keep_colours(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    write_cloud(path, POINTS, attributes={**OTHER, **COLOUR}, new_from=3)
    cloud = read_cloud(path)
    assert np.array_equal(cloud.points, POINTS)
    assert {name: values.tolist() for name, values in cloud.attributes.items()} == {
        name: values.tolist() for name, values in COLOUR.items()
    }


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("cc.asc", "//X Y Z R G B\n2\n{0} 1 2 3\n{1} 4 5 6\n", {"r": [1, 4], "b": [3, 6]}),
        ("leica.pts", "2\n{0} -1200 1 2 3\n{1} -90 4 5 6\n", {"intensity": [-1200, -90]}),
        ("leica.pts", "2\n{0} -1200 1 2 3\n{1} -90 4 5 6\n", {"red": [1, 4], "blue": [3, 6]}),
        ("rgb.xyz", "{0} 1 2 3\n{1} 4 5 6\n", {"red": [1, 4], "green": [2, 5], "blue": [3, 6]}),
        ("normals.xyz", "{0} 0 0 1\n{1} 0.6 0 -0.8\n", {"nx": [0, 0.6], "nz": [1, -0.8]}),
        ("some.txt", "{0} 7.5 300\n{1} nan 4\n", {"column4": [7.5, None], "column5": [300, 4]}),
        ("gap.csv", 'x,y,z,a,"b c"\n{0},chair,1\n{1},table,2\n', {}),
        ("colours.obj", "v {0} 1 0 0.2\nv {1} 0 1 0.4\n", {"red": [255, 0], "blue": [51, 102]}),
        ("some.obj", "v {0} 1 0 0.2\nv {1}\n", {}),
        ("n.off", "NOFF\n2 0 0\n{0} 0 0 1\n{1} 1 0 0\n", {"nx": [0, 1], "nz": [1, 0]}),
        ("cn.off", "CNOFF\n2 0 0\n{0} 0 0 1 9 8 7\n{1} 1 0 0 6 5 4\n", {"nx": [0, 1]}),
        ("cn.off", "CNOFF\n2 0 0\n{0} 0 0 1 9 8 7\n{1} 1 0 0 6 5 4\n", {"red": [9, 6]}),
    ],
)
def test_what_other_programs_write(name: str, content: str, expected: dict, tmp_path: Path) -> None:
    separator = "," if name.endswith(".csv") else " "
    rows = [separator.join(f"{value:g}" for value in row) for row in ROWS]
    (tmp_path / name).write_text(content.format(*rows))
    cloud = read_cloud(tmp_path / name)
    assert np.array_equal(cloud.points, ROWS)
    assert bool(cloud.attributes) == bool(expected)
    for key, values in expected.items():
        found = cloud.attributes[key].tolist()
        assert [None if value != value else value for value in found] == values


def test_arrays_beside_the_points(tmp_path: Path) -> None:
    table = np.zeros(2, dtype=[("x", "f4"), ("y", "f4"), ("intensity", ">u2"), ("tag", "U3")])
    table["intensity"] = 7, 8
    np.save(tmp_path / "a.npy", table)
    cloud = read_cloud(tmp_path / "a.npy")
    assert list(cloud.attributes) == ["intensity"]
    assert cloud.attributes["intensity"].tolist() == [7, 8]
    colours, normals = np.array([[0, 0.2, 1.0]] * 2), np.eye(3, dtype=np.float32)[:2]
    np.savez(
        tmp_path / "a.npz", xyz=ROWS, colors=colours, normals=normals, t=[4, 5], faces=np.eye(5)
    )
    found = read_cloud(tmp_path / "a.npz").attributes
    assert set(found) == {"red", "green", "blue", "nx", "ny", "nz", "t"}
    assert [found[name][0] for name in ("red", "green", "blue")] == [0, 51, 255]
    assert found["ny"].tolist() == [0, 1]


def test_colours_and_normals_of_gltf_turn_with_their_node(tmp_path: Path) -> None:
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
    document = gltf(square)  # its normals and colours are its positions here
    document["meshes"][0]["primitives"][0]["attributes"] |= {"NORMAL": 0, "COLOR_0": 0}
    document["nodes"][0] |= {"rotation": [0, 0, np.sqrt(0.5), np.sqrt(0.5)], "scale": [2, 1, 1]}
    path = tmp_path / "a.gltf"
    path.write_text(json.dumps(document))
    cloud = read_cloud(path)
    assert np.allclose(cloud.points[1], [0, 2, 0], atol=1e-6)
    assert cloud.attributes["red"].tolist() == [0, 255, 255, 0]
    assert np.allclose([cloud.attributes[name][1] for name in ("nx", "ny", "nz")], [0, 1, 0])
    normal = np.array([cloud.attributes[name][2] for name in ("nx", "ny", "nz")])
    assert np.allclose(normal, np.array([-1, 0.5, 0]) / np.sqrt(1.25), atol=1e-6)
    document["meshes"][0]["primitives"].append({"attributes": {"POSITION": 0}, "mode": 0})
    path.write_text(json.dumps(document))
    assert read_cloud(path).attributes == {}  # the second part has neither


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".xyz", ".obj"])
def test_a_completed_file_keeps_them(suffix: str, tmp_path: Path) -> None:
    import ddeq

    small = {"features": 16, "head_size": 4, "cross_layers": 1}
    ddeq.Completer(dim=2, **small).save_pretrained(tmp_path / "weights")
    given, full = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_cloud(given, POINTS[:, :2], attributes=COLOUR)
    weights = str(tmp_path / "weights")
    if suffix == ".obj":
        ddeq.Completer(dim=3, **small).save_pretrained(weights)
    assert (
        main(["complete", str(given), "-o", str(full), "--points", "4", "--weights", weights]) == 0
    )
    cloud = read_cloud(full)
    assert len(cloud.points) == 11
    assert cloud.attributes["red"][:7].tolist() == list(range(7))
    assert set(cloud.attributes["red"][7:]) <= set(range(7))
    assert ("new" in cloud.attributes) == has_fields(full)
