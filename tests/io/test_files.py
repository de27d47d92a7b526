"""Cloud files: what is written reads back bit for bit, and files of other programs are read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from file_points import bits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ddeq.io.files import READABLE, WRITABLE, read_cloud, write_cloud

EXACT = (".ply", ".pcd", ".npy", ".npz")  # keep the dtype; the others give float64


SPATIAL = (".off", ".obj")  # always 3-D


POINTS = np.array([[0.1, -0.0, 5e-324], [1.7e308, 1 / 3, -2.5], [0.1, -0.0, 5e-324]])


def clouds() -> st.SearchStrategy[np.ndarray]:
    """Finite clouds of any values: denormals, -0.0, the largest floats, duplicates."""
    dtypes = st.sampled_from([np.float32, np.float64])
    shapes = st.tuples(st.integers(1, 12), st.sampled_from([2, 3]))

    def of(dtype: type) -> st.SearchStrategy[np.ndarray]:
        numbers = st.floats(allow_nan=False, allow_infinity=False)
        if dtype is np.float32:
            numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
        return hnp.arrays(dtype, shapes, elements=numbers)

    return dtypes.flatmap(of)


@pytest.mark.parametrize("suffix", WRITABLE)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(points=clouds(), marked=st.booleans())
def test_bits_in_are_bits_out(suffix: str, points: np.ndarray, marked: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"cloud{suffix}"
        write_cloud(path, points, new_from=len(points) // 2 if marked else None)
        cloud = read_cloud(path)
        assert [p.name for p in Path(folder).iterdir()] == [path.name]
    back, dim = cloud.points, points.shape[1]
    assert back.dtype == (points.dtype if suffix in EXACT else np.float64)
    assert back.shape[1] == (3 if suffix in SPATIAL else dim)
    assert bits(back[:, :dim].astype(points.dtype)) == bits(points)
    assert np.array_equal(back[:, :dim], points)  # the same numbers, not only after rounding
    assert f"{len(points):,} point" in cloud.kind
    assert cloud.kind.endswith(f"{back.shape[1]}-D")


def test_float32_to_text_and_back_to_binary_keeps_bits(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    for step in ("a.ply", "b.csv", "c.xyz", "d.obj", "e.pcd"):
        write_cloud(tmp_path / step, points)
        points = read_cloud(tmp_path / step).points
    expected = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    assert bits(points.astype(np.float32)) == bits(expected)


def test_marks_of_new_points(tmp_path: Path) -> None:
    for suffix in (".ply", ".pcd", ".csv", ".obj", ".npz"):
        write_cloud(tmp_path / f"c{suffix}", POINTS, new_from=2)
    head, body = (tmp_path / "c.ply").read_bytes().split(b"end_header\n")
    table = np.frombuffer(body, dtype=[("p", "<f8", 3), ("rgb", "u1", 3), ("new", "u1")])
    assert b"property double x" in head
    assert table["new"].tolist() == [0, 0, 1]
    assert table["rgb"].tolist() == [[150] * 3, [150] * 3, [255, 127, 14]]
    body = (tmp_path / "c.pcd").read_bytes().split(b"DATA binary\n")[1]
    assert np.frombuffer(body, dtype=[("p", "<f8", 3), ("new", "u1")])["new"].tolist() == [0, 0, 1]
    lines = (tmp_path / "c.csv").read_text().splitlines()
    assert lines[0] == "x,y,z,new"
    assert [line[-2:] for line in lines[1:]] == [",0", ",0", ",1"]
    lines = (tmp_path / "c.obj").read_text().splitlines()
    assert [line.endswith(" 1.0 0.5 0.05") for line in lines] == [False, False, True]
    with np.load(tmp_path / "c.npz") as arrays:
        assert arrays["new"].tolist() == [False, False, True]


def test_plane_in_space_stays_3d_and_suffix_case_is_free(tmp_path: Path) -> None:
    flat = np.column_stack([np.random.default_rng(0).random((5, 2)), np.zeros(5)])
    for suffix in WRITABLE:
        path = tmp_path / f"flat{suffix.upper()}"
        write_cloud(path, flat)
        assert bits(read_cloud(path).points) == bits(flat)


def test_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array, dtype in [
        (np.asfortranarray(POINTS), np.float64),
        (POINTS[::2, 1:].astype(">f4"), np.float32),
        (np.arange(6).reshape(3, 2), np.float64),
        (np.array([[0.5, 2]], dtype=np.float16), np.float32),
    ]:
        np.save(path, array)
        points = read_cloud(path).points
        assert points.dtype == dtype
        assert bits(points) == bits(array.astype(dtype))
    np.save(path, np.array([(1, 2, 3)], dtype=[("i", "i4"), ("y", "f4"), ("x", "f4")]))
    assert read_cloud(path).points.tolist() == [[3, 2]]
    np.savez_compressed(tmp_path / "named.npz", other=np.ones((9, 9)), xyz=POINTS)
    np.savez(tmp_path / "only.npz", n=np.ones(3), c=POINTS)
    for name in ("named.npz", "only.npz"):
        assert bits(read_cloud(tmp_path / name).points) == bits(POINTS)


def test_readable_covers_writable() -> None:
    assert set(WRITABLE) < set(READABLE)
