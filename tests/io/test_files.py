"""Cloud files: what is written reads back bit for bit, and files of other programs are read."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ddeq.io.files import READABLE, WRITABLE, CloudFileError, read_cloud, write_cloud

EXACT = (".ply", ".pcd", ".npy", ".npz")  # keep the dtype; the others give float64
SPATIAL = (".off", ".obj")  # always 3-D
POINTS = np.array([[0.1, -0.0, 5e-324], [1.7e308, 1 / 3, -2.5], [0.1, -0.0, 5e-324]])


def bits(points: np.ndarray) -> bytes:
    """The exact content; unlike ==, tells -0.0 from 0.0."""
    return np.ascontiguousarray(points).tobytes()


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
    table = np.frombuffer(body, dtype=[("p", "<f8", 3), ("rgb", "u1", 3), ("label", "u1")])
    assert b"property double x" in head
    assert table["label"].tolist() == [0, 0, 1]
    assert table["rgb"].tolist() == [[150] * 3, [150] * 3, [255, 127, 14]]
    body = (tmp_path / "c.pcd").read_bytes().split(b"DATA binary\n")[1]
    assert np.frombuffer(body, dtype=[("p", "<f8", 3), ("l", "<u4")])["l"].tolist() == [0, 0, 1]
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


# ---------------------------------------------------------------- files of other programs

MESHLAB = """ply\r
format ascii 1.0\r
comment VCGLIB generated\r
element vertex 3\r
property float x\r
property float y\r
property float z\r
property uchar red\r
property uchar green\r
property uchar blue\r
property uchar alpha\r
element face 1\r
property list uchar int vertex_indices\r
end_header\r
0 0 0.1 255 0 0 255 \r
1 0 0.2 255 0 0 255 \r
0 1 0.3 255 0 0 255 \r
3 0 1 2 \r
"""


def packed(rows: list[tuple[float, ...]], form: str) -> bytes:
    return b"".join(struct.pack(form, *row) for row in rows)


XYZ = [(0.5, 1.5, -2.0), (3.25, 0.0, 7.0)]
CLOUDCOMPARE = (
    b"ply\nformat binary_little_endian 1.0\ncomment Created by CloudCompare v2.12\n"
    b"comment Created Mon Jan 1 00:00:00 2024\nobj_info Generated by CloudCompare!\n"
    b"element vertex 2\nproperty float x\nproperty float y\nproperty float z\n"
    b"property uchar red\nproperty uchar green\nproperty uchar blue\n"
    b"property float scalar_Intensity\nend_header\n"
) + packed([(*p, 1, 2, 3, float("nan")) for p in XYZ], "<fffBBBf")
OPEN3D = (
    b"ply\nformat binary_little_endian 1.0\ncomment Created by Open3D\nelement vertex 2\n"
    b"property double x\nproperty double y\nproperty double z\n"
    b"property double nx\nproperty double ny\nproperty double nz\nend_header\n"
) + packed([(*p, 0, 0, 1) for p in XYZ], "<6d")
FACES_FIRST = (
    b"ply\r\nformat binary_big_endian 1.0\r\nelement face 2\r\n"
    b"property list uint8 int32 vertex_indices\r\nproperty uint8 flag\r\nelement vertex 2\r\n"
    b"property int8 quality\r\nproperty float32 z\r\nproperty float32 y\r\n"
    b"property float32 x\r\nend_header\r\n"
    + struct.pack(">B3iBB4iB", 3, 0, 1, 0, 9, 4, 0, 1, 0, 1, 9)
    + packed([(7, *p[::-1]) for p in XYZ], ">bfff")
)
LIST_IN_VERTEX = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty list uchar short ring\n"
    b"property float x\nproperty float y\nproperty float z\nend_header\n"
    + struct.pack("<B2hfff", 2, 5, 6, *XYZ[0])
    + struct.pack("<Bfff", 0, *XYZ[1])
)
INTEGERS = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty short x\n"
    b"property short y\nproperty uint z\nend_header\n"
) + packed([(1, -2, 3), (4, 5, 4_000_000_000)], "<hhI")
PCL_HEAD = (
    "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z {name}\n"
    "SIZE 4 4 4 4\nTYPE F F F {kind}\nCOUNT 1 1 1 {count}\nWIDTH 2\nHEIGHT 1\n"
    "VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA {data}\n"
)
PCL_ASCII = PCL_HEAD.format(name="rgb", kind="F", count=1, data="ascii").encode() + (
    b"0.5 1.5 -2 4.2108e+06\n3.25 0 7 nan\n"
)
PCL_BINARY = PCL_HEAD.format(name="_", kind="U", count=2, data="binary").encode() + packed(
    [(*p, 0, 0) for p in XYZ], "<fffII"
)


@pytest.mark.parametrize(
    ("name", "content", "dtype"),
    [
        ("cloudcompare.ply", CLOUDCOMPARE, np.float32),
        ("open3d.ply", OPEN3D, np.float64),
        ("faces_first.ply", FACES_FIRST, np.float32),
        ("list_in_vertex.ply", LIST_IN_VERTEX, np.float32),
        ("pcl.pcd", PCL_ASCII, np.float64),
        ("pcl.pcd", PCL_BINARY, np.float32),
        ("pcl.pcd", PCL_BINARY.replace(b"\nDATA", b"\r\nDATA"), np.float32),
        ("plain.xyz", b"0.5 1.5 -2\n3.25\t0 7", np.float64),
        ("utf8.xyz", b"\xef\xbb\xbf0.5 1.5 -2\r\n\r\n3.25 0 7\r\n", np.float64),
        ("cc.asc", b"//X Y Z R G B\n2\n0.5 1.5 -2 1 2 3\n3.25 0 7 1 2 3\n", np.float64),
        ("leica.pts", b"2\n0.5 1.5 -2 -1200 1 2 3\n3.25 0 7 -1200 1 2 3\n", np.float64),
        ("named.csv", b'"id","Z","X","Y"\na,-2,0.5,1.5\nb,"7",3.25,0\n', np.float64),
        ("pandas.csv", b",x,y,z\n0,0.5,1.5,-2.0\n1,3.25,0.0,7.0\n", np.float64),
        ("semi.csv", b"lon;lat;h;\n0.5;1.5;-2;\n3.25; 0;7;\n", np.float64),
        ("savetxt.txt", b"# scan of x and y\n# t x y z\n9 0.5 1.5 -2\n9 3.25 0 7\n", np.float64),
        ("words.xyz", b"0.5 1.5 -2 chair # c\n3.25 0 7 table // d\n", np.float64),
        ("mixed.obj", b"# c\nv 0.5 1.5 -2 1 0 0\nvn 0 0 1\nv  3.25 0 7\nf 1 2 1\n", np.float64),
        ("glued.off", b"OFF2 0 0\n0.5 1.5 -2\n3.25 0 7\n", np.float64),
        ("colour.off", b"COFF # c\n\n2 0 0\n0.5 1.5 -2 9 9 9 9\n3.25 0 7 9 9 9 9\n", np.float64),
    ],
)
def test_other_programs(tmp_path: Path, name: str, content: bytes, dtype: type) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    points = read_cloud(path).points
    assert points.dtype == dtype
    assert points.flags.writeable
    assert bits(points) == bits(np.array(XYZ, dtype=dtype))


def test_meshlab_and_integers(tmp_path: Path) -> None:
    (tmp_path / "m.ply").write_text(MESHLAB, newline="")
    cloud = read_cloud(tmp_path / "m.ply")
    assert cloud.kind == "PLY ascii, mesh vertices, 3 points, 3-D"
    assert cloud.points.tolist() == [[0, 0, 0.1], [1, 0, 0.2], [0, 1, 0.3]]
    assert "sampled surface, 9 points" in read_cloud(tmp_path / "m.ply", surface_points=9).kind
    plane = MESHLAB.replace("property float z\r\n", "").replace(" 0.", " ")
    (tmp_path / "p.ply").write_text(plane.replace(" 255 0 0", " 0 0"), newline="")
    flat = read_cloud(tmp_path / "p.ply", surface_points=900)
    assert flat.points.shape == (900, 2)
    assert np.abs(flat.points.mean(0) - 1 / 3).max() < 0.03
    (tmp_path / "i.ply").write_bytes(INTEGERS)
    cloud = read_cloud(tmp_path / "i.ply")
    assert cloud.points.dtype == np.float64
    assert cloud.points[1, 2] == 4e9


def test_columns_are_named_in_kind(tmp_path: Path) -> None:
    for text, dim, words in [
        ("1,2\n3,4\n", 2, "CSV text, 2 points, 2-D"),
        ("1,2,3,4\n3,4,5,6\n", 3, "CSV text, first 3 of 4 columns, 2 points, 3-D"),
        ("y,x,label\n1,2,3\n3,4,3\n", 2, "CSV text, columns x, y, 2 points, 2-D"),
    ]:
        (tmp_path / "c.csv").write_text(text)
        cloud = read_cloud(tmp_path / "c.csv")
        assert cloud.points.shape == (2, dim)
        assert cloud.kind == words
    assert cloud.points.tolist() == [[2, 1], [4, 3]]


def lzf(data: bytes) -> bytes:
    """A plain LZF compressor: runs and repeats where it sees one, literals elsewhere."""
    out, literals, at = bytearray(), bytearray(), 0

    def flush() -> None:
        for start in range(0, len(literals), 32):
            part = literals[start : start + 32]
            out.extend(bytes([len(part) - 1]) + part)
        literals.clear()

    while at < len(data):
        window = max(0, at - 8192)
        found = data.rfind(data[at : at + 3], window, at + 2) if at + 3 <= len(data) else -1
        if found < 0:
            literals.append(data[at])
            at += 1
            continue
        length = 3
        while (
            length < 264 and at + length < len(data) and data[found + length] == data[at + length]
        ):
            length += 1
        flush()
        back = at - found - 1
        out.append(min(length - 2, 7) << 5 | back >> 8)
        out.extend([length - 9] if length >= 9 else [])
        out.append(back & 255)
        at += length
    flush()
    return bytes(out)


def test_compressed_pcd(tmp_path: Path) -> None:
    points = np.round(np.random.default_rng(0).normal(size=(300, 3)), 1).astype("<f4")
    points[100:200] = 1.0  # long runs, which copy from themselves
    extra = np.zeros((300, 1), "<f4")
    columns = np.concatenate([points, extra], axis=1).T.tobytes()
    body = lzf(columns)
    head = PCL_HEAD.format(name="i", kind="F", count=1, data="binary_compressed")
    head = head.replace("WIDTH 2", "WIDTH 300").replace("POINTS 2", "POINTS 300")
    whole = head.encode() + struct.pack("<II", len(body), len(columns)) + body
    path = tmp_path / "c.pcd"
    path.write_bytes(whole)
    assert len(body) < len(columns)
    assert bits(read_cloud(path).points) == bits(points)
    for damaged in (whole[:-5], whole[:-200] + b"\xff" * 200, whole.replace(b"300", b"299")):
        path.write_bytes(damaged)
        with pytest.raises(CloudFileError, match=r"damaged|compressed data"):
            read_cloud(path)


@pytest.mark.parametrize("suffix", [".ply", "-ascii.ply", ".off", ".obj", ".stl", "-ascii.stl"])
def test_trimesh_exports(tmp_path: Path, suffix: str) -> None:
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box(extents=(1, 2, 3))
    options = {"-ascii.ply": {"encoding": "ascii"}, "-ascii.stl": {"file_type": "stl_ascii"}}
    path = tmp_path / f"box{suffix}"
    box.export(path, **options.get(suffix, {}))
    cloud = read_cloud(path)
    corners = cloud.points.astype(np.float64)
    assert sorted(corners.tolist()) == sorted(box.vertices.tolist())
    assert "vertices, 8 points, 3-D" in cloud.kind
    surface = read_cloud(path, surface_points=4000, seed=3)
    assert surface.kind.endswith("sampled surface, 4,000 points, 3-D")
    _, distance, _ = trimesh.proximity.closest_point_naive(box, surface.points[:200])
    assert distance.max() < 1e-6
    on_top = np.isclose(surface.points[:, 2], 1.5).mean()  # area 2 of 22
    assert abs(on_top - 2 / 22) < 0.02
    assert bits(read_cloud(path, surface_points=4000, seed=3).points) == bits(surface.points)
    assert bits(read_cloud(path, surface_points=4000, seed=4).points) != bits(surface.points)


def test_faces_of_obj_and_stl_that_says_solid(tmp_path: Path) -> None:
    square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
    for face in ("f 1/1/1 2/2/1 3/3/1 4//1", "f -4 -3 -2 -1", "f 1 2 3\nf 1 3 4"):
        (tmp_path / "s.obj").write_text(square + face + "\nv 9 9 9\n")
        points = read_cloud(tmp_path / "s.obj", surface_points=2000).points
        assert np.abs(points.mean(0) - [0.5, 0.5, 0]).max() < 0.03
        assert points.max() <= 1
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4")
    body = np.zeros(3, "<f4").tobytes() + corners.tobytes() + b"\0\0"
    (tmp_path / "s.stl").write_bytes(b"solid x".ljust(80) + struct.pack("<I", 2) + body * 2)
    cloud = read_cloud(tmp_path / "s.stl")
    assert cloud.kind == "STL binary, unique mesh vertices, 3 points, 3-D"
    assert bits(cloud.points) == bits(corners)


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
