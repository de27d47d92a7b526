"""E57."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest
from file_points import POINTS

from ddeq.io.files import CloudFileError, read_cloud
from ddeq.io.formats.e57 import _cartesian


def write_e57(path: Path, *scans: dict[str, np.ndarray], **options: np.ndarray) -> None:
    pye57 = pytest.importorskip("pye57")
    file = pye57.E57(str(path), mode="w")
    for scan in scans:
        file.write_scan_raw(scan, **options)
    file.close()


def cartesian(points: np.ndarray, **others: np.ndarray) -> dict[str, np.ndarray]:
    return {f"cartesian{axis}": points[:, i].copy() for i, axis in enumerate("XYZ")} | others


def test_points_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "a.e57"
    points = POINTS.astype(np.float64)
    colours = {f"color{name}": np.arange(7, dtype=np.uint8) for name in ("Red", "Green", "Blue")}
    write_e57(path, cartesian(points, intensity=np.linspace(0, 1, 7, dtype=np.float32), **colours))
    cloud = read_cloud(path)
    assert cloud.kind == "E57, 7 points, 3-D"
    assert np.allclose(cloud.points, points, atol=1e-9)
    assert set(cloud.attributes) == {"intensity", "red", "green", "blue"}
    assert cloud.attributes["red"].tolist() == list(range(7))
    with pytest.raises(CloudFileError, match="limit"):
        read_cloud(path, max_points=3)


def test_scans_share_a_frame(tmp_path: Path) -> None:
    points = POINTS.astype(np.float64)
    bright = cartesian(points, intensity=np.ones(7, dtype=np.float32))
    quarter = np.array([np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)])  # about z
    moved = np.array([10.0, 20.0, 30.0])
    write_e57(tmp_path / "a.e57", bright, cartesian(points), rotation=quarter, translation=moved)
    cloud = read_cloud(tmp_path / "a.e57")
    expected = points @ np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + moved
    assert "2 scans, 14 points" in cloud.kind
    assert np.allclose(cloud.points, np.concatenate([expected, expected]), atol=1e-9)
    assert cloud.attributes == {}  # the second has no intensity


def test_invalid_points_are_left_out(tmp_path: Path) -> None:
    invalid = np.array([0, 1, 0, 0, 0, 2, 0], dtype=np.int8)
    write_e57(tmp_path / "a.e57", cartesian(POINTS.astype(float), cartesianInvalidState=invalid))
    points = read_cloud(tmp_path / "a.e57").points
    assert np.allclose(points, POINTS[invalid == 0], atol=1e-9)


def test_angles_are_points() -> None:
    table = {"Range": [1.0, 2.0, 3.0], "Azimuth": [0, np.pi / 2, 0], "Elevation": [0, 0, np.pi / 2]}
    found = _cartesian({f"spherical{name}": np.array(values) for name, values in table.items()})
    assert np.allclose(found, [[1, 0, 0], [0, 2, 0], [0, 0, 3]], atol=1e-9)


def test_damaged_files_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.e57"
    write_e57(path, cartesian(POINTS.astype(np.float64)))
    whole = path.read_bytes()
    for content in (whole[:10], whole[: len(whole) // 2], b"ASTM-E57" + bytes(3000), b"points"):
        path.write_bytes(content)
        with pytest.raises(CloudFileError) as caught:
            read_cloud(path)
        assert str(caught.value).count("\n") == 0


def test_without_pye57_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.e57").write_bytes(b"ASTM-E57" + bytes(400))
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.startswith("pye57"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CloudFileError, match="need the package pye57: pip install"):
        read_cloud(tmp_path / "a.e57")
