"""LAS and LAZ."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest
from file_points import POINTS

from ddeq.io.files import CloudFileError, read_cloud, write_cloud


def write_las(path: Path, points: np.ndarray) -> None:
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.scales, header.offsets = [0.001] * 3, [1000, 2000, 0]
    las = laspy.LasData(header)
    las.x, las.y, las.z = points.T
    las.intensity = np.arange(len(points), dtype=np.uint16)
    las.red = np.full(len(points), 40_000, dtype=np.uint16)
    las.gps_time = np.linspace(0, 1, len(points))
    las.write(str(path))


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_las(suffix: str, tmp_path: Path) -> None:
    if suffix == ".laz":
        pytest.importorskip("lazrs")
    points = np.round(POINTS + np.array([1000, 2000, 0]), 3)
    path = tmp_path / f"a{suffix}"
    write_las(path, points)
    cloud = read_cloud(path)
    assert np.allclose(cloud.points, points, atol=1e-9)
    assert cloud.kind == f"{suffix[1:].upper()}, 7 points, 3-D"
    assert cloud.attributes["intensity"].tolist() == list(range(7))
    assert cloud.attributes["red"].dtype == np.uint16
    write_cloud(tmp_path / "b.ply", cloud.points, attributes=cloud.attributes)
    back = read_cloud(tmp_path / "b.ply")
    assert np.array_equal(back.points, cloud.points)
    assert np.array_equal(back.attributes["gps_time"], np.linspace(0, 1, 7))
    whole = path.read_bytes()
    for end in (10, 100, 230, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:end])
        with pytest.raises(CloudFileError):
            read_cloud(path)
    path.write_bytes(b"LASF" + bytes(400))
    with pytest.raises(CloudFileError):
        read_cloud(path)
    path.write_bytes(whole)
    with pytest.raises(CloudFileError, match="limit"):
        read_cloud(path, max_points=3)


def test_las_without_laspy_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.las").write_bytes(b"LASF" + bytes(400))
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.startswith("laspy"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CloudFileError, match="need the package laspy: pip install"):
        read_cloud(tmp_path / "a.las")
