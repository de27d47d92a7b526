"""Formats enter themselves, keep attributes, may be packed."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from file_points import POINTS

from ddeq.io.files import READABLE, WRITABLE, CloudFileError, is_readable, read_cloud, write_cloud
from ddeq.io.formats import base
from ddeq.io.formats.base import Content, Parsed, Source, reads, writes


@pytest.fixture
def big_endian():
    """A new format: big-endian doubles without a header."""
    before = dict(base.READERS), dict(base.WRITERS)

    @reads(".f8")
    def read(source: Source) -> Parsed:
        return Parsed(np.fromfile(source.path, dtype=">f8").reshape(-1, 3), "F8")

    @writes(".f8")
    def write(out, cloud: Content) -> None:
        out.write(cloud.points.astype(">f8").tobytes())

    yield
    for table, old in zip((base.READERS, base.WRITERS), before, strict=True):
        table.clear()
        table.update(old)


def test_a_new_format_is_one_module(big_endian, tmp_path: Path) -> None:
    assert ".f8" in READABLE
    assert ".f8" in WRITABLE
    for name in ("a.f8", "a.f8.gz"):
        write_cloud(tmp_path / name, POINTS)
        cloud = read_cloud(tmp_path / name)
        assert np.array_equal(cloud.points, POINTS)
        assert cloud.kind == "F8, 7 points, 3-D"


def test_formats_that_leave_are_gone() -> None:
    assert ".f8" not in READABLE


@pytest.mark.parametrize("suffix", WRITABLE)
def test_packed_files_read_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"cloud{suffix}.gz"
    assert is_readable(path)
    write_cloud(path, POINTS, new_from=4)
    first = path.read_bytes()
    assert first[:2] == b"\x1f\x8b"
    assert np.array_equal(read_cloud(path).points, POINTS)
    assert read_cloud(path).path == path
    write_cloud(path, POINTS, new_from=4, force=True)
    assert path.read_bytes() == first  # no time of writing inside


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.xyz.gz", gzip.compress(b"1 2 3\n4 5 6\n", mtime=0)[:-6], "not a whole gzip file"),
        ("a.xyz.gz", b"1 2 3\n", "not a whole gzip file"),
        ("a.xyz.gz", gzip.compress(b"", mtime=0), "empty"),
        ("a.gz", gzip.compress(b"1 2 3\n", mtime=0), "unknown suffix"),
        ("a.tar.gz", gzip.compress(b"1 2 3\n", mtime=0), "unknown suffix"),
        ("a.csv.gz", gzip.compress(b"1,2\n3,x\n", mtime=0), "line 2"),
    ],
)
def test_bad_packed_files(name: str, content: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CloudFileError) as error:
        read_cloud(tmp_path / name)
    assert word in str(error.value)
    assert str(tmp_path / name) in str(error.value)  # not the name of the unpacked copy
    assert "\n" not in str(error.value)


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xyz.gz"
    path.write_bytes(gzip.compress(b"0 " * (16 << 20)))
    with pytest.raises(CloudFileError, match="unpacks to more than"):
        read_cloud(path, max_points=1000)


ATTRIBUTES = {
    "red": np.arange(7, dtype=np.uint8),
    "green": np.arange(7, 14, dtype=np.uint8),
    "blue": np.full(7, 255, dtype=np.uint8),
    "nx": np.linspace(0, 1, 7, dtype=np.float32),
    "intensity": np.linspace(0, 1e9, 7),
    "time": np.arange(7, dtype=np.int32) - 3,
}


@pytest.mark.parametrize("suffix", [".ply", ".pcd"])
def test_attributes_survive(suffix: str, tmp_path: Path) -> None:
    write_cloud(tmp_path / f"a{suffix}", POINTS, attributes=ATTRIBUTES)
    cloud = read_cloud(tmp_path / f"a{suffix}")
    assert np.array_equal(cloud.points, POINTS)
    assert set(cloud.attributes) == set(ATTRIBUTES)
    for name, values in ATTRIBUTES.items():
        assert cloud.attributes[name].dtype == values.dtype
        assert np.array_equal(cloud.attributes[name], values)
    write_cloud(tmp_path / f"b{suffix}", cloud.points, attributes=cloud.attributes)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [".ply", ".pcd"])
def test_new_points_have_the_attributes_of_the_point_next_to_them(
    suffix: str, tmp_path: Path
) -> None:
    full = np.concatenate([POINTS, POINTS[[4, 1]] + 1e-3])
    path = tmp_path / f"full{suffix}"
    write_cloud(path, full, new_from=7, attributes=ATTRIBUTES)
    back = read_cloud(path).attributes
    assert back["red"].tolist() == [*range(7), 4, 1]
    assert back["green"].tolist() == [*range(7, 14), 11, 8]
    assert back["new"].tolist() == [0] * 7 + [1, 1]
    assert back["time"].tolist() == [-3, -2, -1, 0, 1, 2, 3, 1, -2]
    assert set(back) == {*ATTRIBUTES, "new"}
    write_cloud(path, full, new_from=8, attributes=back, force=True)  # marked anew
    assert read_cloud(path).attributes["new"].tolist() == [0] * 8 + [1]
    with pytest.raises(CloudFileError, match="attribute 'red'"):
        write_cloud(tmp_path / "short.ply", POINTS[:3], attributes=ATTRIBUTES)
    assert not (tmp_path / "short.ply").exists()


@pytest.mark.parametrize("kind", ["ply", "pcd"])
def test_attributes_of_text(kind: str, tmp_path: Path) -> None:
    rows = "0 0 1 200 0.5\n1 0 1 100 nan\n0 1 1 50 2.5\n"
    heads = {
        "ply": "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
        "property float z\nproperty uchar red\nproperty float quality\nend_header\n",
        "pcd": "FIELDS x y z red quality\nSIZE 4 4 4 1 4\nTYPE F F F U F\nCOUNT 1 1 1 1 1\n"
        "WIDTH 3\nHEIGHT 1\nPOINTS 3\nDATA ascii\n",
    }
    path = tmp_path / f"a.{kind}"
    path.write_text(heads[kind] + rows)
    cloud = read_cloud(path)
    assert cloud.points.tolist() == [[0, 0, 1], [1, 0, 1], [0, 1, 1]]
    assert cloud.attributes["red"].tolist() == [200, 100, 50]
    assert cloud.attributes["red"].dtype == np.uint8
    assert cloud.attributes["quality"].dtype == np.float32
    path.write_text(heads[kind] + rows.replace("200", "red"))  # a colour that is no number
    cloud = read_cloud(path)
    assert list(cloud.attributes) == ["quality"]
    assert len(cloud.points) == 3


def test_faces_of_obj_without_texture(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_text(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0 # the last\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\n"
    )
    sampled = read_cloud(path, surface_points=500)
    assert sampled.kind == "OBJ, sampled surface, 500 points, 3-D"
    assert sampled.points[:, 2].tolist() == [0] * 500
    assert 0 < sampled.points.min(initial=1, where=sampled.points > 0) < 0.2
    assert read_cloud(path).kind == "OBJ, mesh vertices, 4 points, 3-D"


def test_stl_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "a.stl"
    lines = ["SOLID CUBE", "FACET NORMAL 0 0 1", "OUTER LOOP", "VERTEX 0 0 0", "VERTEX 1 0 0"]
    lines += ["VERTEX 0 1 0", "ENDLOOP", "ENDFACET", "ENDSOLID CUBE", ""]
    path.write_text("\n".join(lines))
    assert read_cloud(path).points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert len(read_cloud(path, surface_points=9).points) == 9
