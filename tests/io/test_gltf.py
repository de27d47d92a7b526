"""glTF and GLB."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from file_points import POINTS

from ddeq.io.files import CloudFileError, read_cloud


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_gltf_of_trimesh(suffix: str, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    box, ball = trimesh.creation.box(extents=(1, 2, 3)), trimesh.creation.icosphere(2)
    scene = trimesh.Scene()
    scene.add_geometry(box, transform=trimesh.transformations.translation_matrix([5, 0, 0]))
    turn = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3])
    scene.add_geometry(ball, transform=turn)
    if suffix == ".glb":
        scene.export(str(tmp_path / "a.glb"))
    else:
        for name, content in scene.export(file_type="gltf").items():
            (tmp_path / ("a.gltf" if name.endswith(".gltf") else name)).write_bytes(content)
    expected = scene.to_geometry().vertices
    cloud = read_cloud(tmp_path / f"a{suffix}")
    assert "mesh vertices" in cloud.kind
    assert cloud.points.shape == expected.shape
    assert np.allclose(np.sort(cloud.points, axis=0), np.sort(expected, axis=0), atol=1e-6)
    sampled = read_cloud(tmp_path / f"a{suffix}", surface_points=4000).points
    far = (sampled[:, 0] > 3).mean()
    assert abs(far - box.area / (box.area + ball.area)) < 0.03


def gltf(positions: np.ndarray, indices: np.ndarray | None = None, **changes) -> dict:
    """A document with one mesh; ``changes`` replace entries."""
    data = positions.astype("<f4").tobytes()
    views = [{"buffer": 0, "byteOffset": 0, "byteLength": len(data)}]
    accessors = [{"bufferView": 0, "componentType": 5126, "count": len(positions), "type": "VEC3"}]
    primitive = {"attributes": {"POSITION": 0}, "mode": 0}
    if indices is not None:
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": 2 * len(indices)})
        accessors.append(
            {"bufferView": 1, "componentType": 5123, "count": len(indices), "type": "SCALAR"}
        )
        data += indices.astype("<u2").tobytes()
        primitive = {"attributes": {"POSITION": 0}, "indices": 1}
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"uri": uri, "byteLength": len(data)}],
    }
    return {**document, **changes}


def test_points_strips_and_fans_of_gltf(tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
    path.write_text(json.dumps(gltf(square)))
    cloud = read_cloud(path, surface_points=5)  # no faces: its points
    assert cloud.points.dtype == np.float32
    assert np.array_equal(cloud.points, square)
    for mode, order in ((6, [0, 1, 2, 3]), (5, [0, 1, 3, 2])):
        document = gltf(square, np.array(order))
        document["meshes"][0]["primitives"][0]["mode"] = mode
        path.write_text(json.dumps(document))
        points = read_cloud(path, surface_points=4000).points
        assert np.allclose(points.mean(axis=0), [0.5, 0.5, 0], atol=0.03)


BAD_GLTF = {
    "no JSON": "{",
    "a list": "[]",
    "no mesh": json.dumps({"asset": {}}),
    "deep": "[" * 100_000,
    "count": lambda d: d["accessors"][0].update(count=10**12),
    "negative count": lambda d: d["accessors"][0].update(count=-1),
    "count of text": lambda d: d["accessors"][0].update(count="4"),
    "offset": lambda d: d["bufferViews"][0].update(byteOffset=10**9),
    "stride": lambda d: d["bufferViews"][0].update(byteStride=1),
    "index": lambda d: d["accessors"][0].update(bufferView=7),
    "sparse": lambda d: d["accessors"][0].pop("bufferView"),
    "type": lambda d: d["accessors"][0].update(type="MAT4"),
    "kind": lambda d: d["accessors"][0].update(componentType=1),
    "cycle": lambda d: d["nodes"][0].update(children=[0]),
    "outside": lambda d: d["buffers"][0].update(uri="../../etc/passwd"),
    "network": lambda d: d["buffers"][0].update(uri="http://example.org/a.bin"),
    "base64": lambda d: d["buffers"][0].update(uri="data:x;base64,!!!"),
    "draco": lambda d: d.update(extensionsRequired=["KHR_draco_mesh_compression"]),
    "matrix": lambda d: d["nodes"][0].update(matrix=[1, 2]),
    "face": lambda d: d["meshes"][0]["primitives"].append(
        {"attributes": {"POSITION": 0}, "indices": 1}
    ),
}


@pytest.mark.parametrize("change", BAD_GLTF.values(), ids=BAD_GLTF)
def test_bad_gltf(change, tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    if callable(change):
        document = gltf(np.zeros((4, 3)), np.array([0, 1, 9]))
        document["meshes"][0]["primitives"][0].pop("indices")
        change(document)
        path.write_text(json.dumps(document))
    else:
        path.write_text(change)
    with pytest.raises(CloudFileError) as error:
        read_cloud(path, surface_points=3)
    assert "\n" not in str(error.value)


def test_instances_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    nodes = [{"mesh": 0}] * 50_000
    many = {"scenes": [{"nodes": list(range(len(nodes)))}], "nodes": nodes}
    path = tmp_path / "a.gltf"
    path.write_text(json.dumps(gltf(np.ones((1000, 3)), **many)))
    with pytest.raises(CloudFileError, match="limit"):
        read_cloud(path, max_points=100_000)


def test_glb_that_is_cut_off(tmp_path: Path) -> None:
    text = json.dumps(gltf(POINTS)).encode()
    whole = b"glTF" + struct.pack("<IIII", 2, 20 + len(text), len(text), 0x4E4F534A) + text
    (tmp_path / "a.glb").write_bytes(whole)
    assert np.array_equal(read_cloud(tmp_path / "a.glb").points, POINTS.astype(np.float32))
    for end in (3, 11, 25, len(whole) - 1):
        (tmp_path / "a.glb").write_bytes(whole[:end])
        with pytest.raises(CloudFileError):
            read_cloud(tmp_path / "a.glb")
