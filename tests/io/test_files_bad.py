"""Cloud files that cannot be read or written: one clear line, and nothing is left behind."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddeq.io import files
from ddeq.io.files import READABLE, WRITABLE, CloudFileError, read_cloud, write_cloud

POINTS = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [3.0, 4.0, 5.0]])
TRILLION = 10**12
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + bytes(range(256))
PLY = "ply\nformat {}\nelement vertex {}\nproperty float x\nproperty float y\nend_header\n"
PCD = "FIELDS x y\nSIZE 4 4\nTYPE F F\nCOUNT 1 1\nWIDTH {0}\nHEIGHT 1\nPOINTS {0}\nDATA {1}\n"


def ply(kind: str, count: int, body: bytes = b"") -> bytes:
    return PLY.format(f"{kind} 1.0", count).encode() + body


def pcd(kind: str, count: int, body: bytes = b"") -> bytes:
    return PCD.format(count, kind).encode() + body


def npy_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def fails(path: Path, *words: str, **options: int) -> None:
    """Reading `path` fails with one line that names it and says `words`."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(CloudFileError) as caught:
        read_cloud(path, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert str(path) in message
    for word in words:
        assert word in message, message
    assert sorted(path.parent.iterdir()) == before


BAD = [
    ("empty.ply", b"", "empty"),
    ("cut.ply", ply("binary_little_endian", 3, bytes(20)), "4 bytes are missing"),
    ("cut.ply", ply("ascii", 3, b"1 2\n3 4.000000000\n"), "only 2 rows"),
    ("huge.ply", ply("binary_big_endian", TRILLION, bytes(8)), "1,000,000,000,000 points"),
    ("huge.ply", ply("ascii", TRILLION, b"1 2\n"), "1,000,000,000,000 points"),
    ("zero.ply", ply("ascii", 0), "no points"),
    ("nan.ply", ply("binary_little_endian", 2, struct.pack("<4f", 1, 2, 3, np.nan)), "point 2"),
    ("text.ply", b"1 2 3\n4 5 6\n", "not a PLY file"),
    ("head.ply", b"ply\nformat ascii 1.0\nelement vertex 3\n", "end_header"),
    ("type.ply", ply("ascii", 1, b"1 2\n").replace(b"float x", b"quad x"), "property quad x"),
    ("none.ply", ply("ascii", 1, b"1 2\n").replace(b"vertex", b"camera"), "vertex"),
    ("axis.ply", ply("ascii", 1, b"1 2\n").replace(b"float y", b"float q"), "x and y"),
    ("word.ply", ply("ascii", 2, b"1 2\n3 four\n"), "line 8: 'four'"),
    ("cut.pcd", pcd("binary", 3, bytes(20)), "4 bytes are missing"),
    ("cut.pcd", pcd("ascii", 3, b"1 2\n3 4.000000000\n"), "only 2 rows"),
    ("cut.pcd", pcd("binary_compressed", 3, bytes(4)), "missing"),
    ("huge.pcd", pcd("binary", TRILLION), "bytes are missing"),
    ("text.pcd", b"1 2 3\n", "not a PCD file"),
    ("kind.pcd", pcd("zipped", 3), "zipped"),
    ("photo.xyz", JPEG, "not a text table"),
    ("wide.txt", "1 2\n3 4\n".encode("utf-16"), "UTF-16"),
    ("prose.txt", b"Dear reader,\nthis is a letter.\n", "line 2"),
    ("ragged.csv", b"x,y,z\n1,2,3\n\n4,5\n", "line 4 has 2 columns"),
    ("ragged.csv", b"1,2,3,4\n1,2,3\n", "line 2 has 3 columns"),
    ("comma.csv", b"x;y\n1,5;2,5\n", "line 2: '1,5'", "point"),
    ("nan.xyz", b"1 2 3\nnan 0 0\n1 1 1\n1 inf 1\n", "2 of 4 points", "point 2"),
    ("one.xyz", b"1\n2\n3\n", "1 column"),
    ("count.pts", b"5\n1 2 3\n4 5 6\n", "promises 5 points"),
    ("names.csv", b"x,y,z\n1,2,3,4\n", "names 3 columns"),
    ("comments.xyz", b"# nothing\n\n", "no points"),
    ("text.npy", b"1 2 3\n", "not an NPY"),
    ("huge.npy", npy_header(f"{{'descr':'<f8','fortran_order':False,'shape':({TRILLION},3)}}"),
     "bytes are missing"),
    ("evil.npy", npy_header("{'descr':'|O','fortran_order':False,'shape':(1,3)}") + b"cos",
     "Python objects"),
    ("text.npz", b"1 2 3\n", "not a whole NPZ"),
    ("text.off", b"1 2 3\n", "not an OFF"),
    ("cut.off", b"OFF\n3 0 0\n1.0000 2.0000 3.0000\n", "only 1 rows"),
    ("huge.off", b"OFF 1000000000000 0 0\n1 2 3\n", "1,000,000,000,000 vertices"),
    ("four.off", b"4OFF\n1 0 0\n1 2 3 4\n", "4OFF"),
    ("word.obj", b"v 1 2 3\nv 1 2 three\n", "line 2: 'three'"),
    ("bare.obj", b"v 1 2 3\nv\nv 1 2 3\n", "line 2 has 0 columns"),
    ("bare.stl", b"solid a\nvertex 1 2 3\nvertex\nvertex 1 2 4\n", "line 3 has 0 columns"),
    ("flat.obj", b"v 1 2\n", "line 1 has 2 columns"),
    ("none.obj", b"vn 1 2 3\n", "no points"),
    ("text.stl", b"1 2 3\n", "not an STL"),
    ("cut.stl", bytes(80) + struct.pack("<I", 3) + bytes(60), "90 bytes are missing"),
    ("cut.stl", b"solid a\nfacet\nvertex 1 2 3\nvertex 1 2 4\n", "whole triangles"),
    ("scan.fbx", b"Kaydara", ".fbx", ".npz .obj .off .pcd .ply"),
    ("scan.ply.gz", b"\x1f\x8b", "not a whole gzip file"),
    ("scan.xyz", gzip.compress(b"1 2 3\n", mtime=0), "named .gz"),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case[0]}-{case[2][:20]}")
def test_bad_file(tmp_path: Path, case: tuple) -> None:
    name, content, *words = case
    (tmp_path / name).write_bytes(content)
    fails(tmp_path / name, *words)


def test_bad_arrays(tmp_path: Path) -> None:
    for array, word in [
        (np.ones((4, 1)), "(4, 1)"),
        (np.ones((9, 4)), "(9, 4)"),
        (np.ones(6), "(6,)"),
        (np.ones((3, 9)), "transpose"),
        (np.ones((0, 3)), "no points"),
        (np.ones((4, 3), dtype=complex), "complex"),
        (np.array([[2**62 + 1, 0]]), "2^53"),
        (np.array([["a", "b"]]), "not real numbers"),
    ]:
        np.save(tmp_path / "a.npy", array)
        fails(tmp_path / "a.npy", word)
    np.save(tmp_path / "o.npy", np.array([[{}, 1]]), allow_pickle=True)
    fails(tmp_path / "o.npy", "Python objects")
    np.savez(tmp_path / "two.npz", a=POINTS, b=POINTS)
    fails(tmp_path / "two.npz", "a (3, 3)", "'points'")
    whole = (tmp_path / "two.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:-60])
    fails(tmp_path / "cut.npz", "not a whole NPZ")


def test_missing_folder_pipe_and_limits(tmp_path: Path) -> None:
    fails(tmp_path / "missing.ply", "no such file")
    (tmp_path / "folder.ply").mkdir()
    fails(tmp_path / "folder.ply", "is a folder")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.xyz")
        fails(tmp_path / "pipe.xyz", "regular file")
    for suffix in WRITABLE:
        write_cloud(tmp_path / f"three{suffix}", POINTS)
        assert len(read_cloud(tmp_path / f"three{suffix}", max_points=3).points) == 3
        fails(tmp_path / f"three{suffix}", "limit of 2", max_points=2)
    fails(tmp_path / "three.obj", "cannot sample", surface_points=0)


def test_bad_surfaces(tmp_path: Path) -> None:
    vertices = "v 0 0 0\nv 1 0 0\nv 2 0 0\n"
    for face, word in [("f 1 2 3", "no area"), ("f 1 2 9", "refer"), ("f 1 b 3", "line 4")]:
        (tmp_path / "m.obj").write_text(f"{vertices}{face}\n")
        fails(tmp_path / "m.obj", word, surface_points=5)
    (tmp_path / "m.obj").write_text(vertices)
    assert len(read_cloud(tmp_path / "m.obj", surface_points=5).points) == 3  # no faces: points


def test_message_is_one_line_for_any_name(tmp_path: Path) -> None:
    with pytest.raises(CloudFileError) as caught:
        read_cloud(tmp_path / "two\nlines.ply")
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(CloudFileError):
        read_cloud("nul\0byte.ply")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damage_never_escapes_as_another_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    suffix = data.draw(st.sampled_from(READABLE))
    path = folder / f"damaged{suffix}"
    path.unlink(missing_ok=True)
    whole = b"solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
    if suffix in WRITABLE:
        write_cloud(path, POINTS, new_from=2)
        whole = path.read_bytes()
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    surface_points = data.draw(st.sampled_from([None, 4]))
    try:
        points = read_cloud(path, surface_points=surface_points).points
    except CloudFileError as error:
        points, message = POINTS, str(error)
    else:
        message = str(path)
    assert str(path) in message
    assert len(message.splitlines()) == 1
    assert len(points) > 0
    assert points.shape[1] in (2, 3)
    assert np.isfinite(points).all()


# ---------------------------------------------------------------- writing


def test_overwriting_needs_force(tmp_path: Path) -> None:
    for suffix in WRITABLE:
        path = tmp_path / f"kept{suffix}"
        path.write_bytes(b"old")
        with pytest.raises(CloudFileError, match="--force"):
            write_cloud(path, POINTS)
        assert path.read_bytes() == b"old"
        write_cloud(path, POINTS, force=True)
        assert np.array_equal(read_cloud(path).points, POINTS)
    assert len(list(tmp_path.iterdir())) == len(WRITABLE)


def test_bad_writes_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.ply").mkdir()
    cases: list[tuple[str, np.ndarray, dict[str, Any], str]] = [
        ("a.stl", POINTS, {}, ".pcd .ply"),
        ("a.ply", np.empty((0, 3)), {}, "no points"),
        ("a.ply", np.ones((2, 4)), {}, "(2, 4)"),
        ("a.ply", np.full((2, 2), np.inf), {}, "not finite"),
        ("a.ply", np.ones((2, 2), dtype=complex), {}, "complex"),
        ("a.ply", np.ma.masked_array(POINTS, mask=np.eye(3)), {}, "masked"),
        ("a.ply", POINTS, {"new_from": 4}, "new_from"),
        ("folder.ply", POINTS, {"force": True}, "is a folder"),
        ("none/a.ply", POINTS, {}, "does not exist"),
        ("a" * 300 + ".ply", POINTS, {}, "cannot be written"),
        ("nul\0byte.ply", POINTS, {}, "cannot be written"),
    ]
    for name, points, options, word in cases:
        with pytest.raises(CloudFileError) as caught:
            write_cloud(tmp_path / name, points, **options)
        message = str(caught.value)
        assert word in message
        assert name in message
        assert len(message.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["folder.ply"]


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scan.xyz"
    write_cloud(path, POINTS)
    old = path.read_bytes()

    def full_disk(out, cloud):  # type: ignore[no-untyped-def]
        out.write(b"half")
        raise OSError(28, "No space left on device")

    def stopped(out, cloud):  # type: ignore[no-untyped-def]
        out.write(b"half")
        raise KeyboardInterrupt

    for writer, error in [(full_disk, CloudFileError), (stopped, KeyboardInterrupt)]:
        monkeypatch.setitem(files.WRITERS, ".xyz", writer)
        with pytest.raises(error):
            write_cloud(path, 2 * POINTS, force=True)
        assert path.read_bytes() == old
        assert list(tmp_path.iterdir()) == [path]


def test_links_and_modes_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "real.xyz", tmp_path / "link.xyz"
    write_cloud(target, POINTS)
    target.chmod(0o640)
    link.symlink_to(target)
    write_cloud(link, 2 * POINTS, force=True)
    assert link.is_symlink()
    assert np.array_equal(read_cloud(target).points, 2 * POINTS)
    assert target.stat().st_mode & 0o777 == 0o640
