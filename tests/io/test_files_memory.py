"""Files made to exhaust a reader: memory grows with the size of the file, by a small factor."""

import tracemalloc

import numpy as np
import pytest

from ddeq.io.files import CloudFileError, read_cloud

MEGABYTE = 1 << 20


def one_face(path, corners, index="uchar", length="uint"):
    """A binary PLY of three vertices and one face with very many corners."""
    header = (
        "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\n"
        "property float y\nproperty float z\nelement face 1\n"
        f"property list {length} {index} vertex_indices\nend_header\n"
    )
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4")
    face = (np.arange(corners) % 3).astype({"uchar": "u1", "int": "<i4"}[index])
    count = np.array([corners], dtype="<u4").tobytes()
    path.write_bytes(header.encode() + vertices.tobytes() + count + face.tobytes())


def text_face(path, corners):
    """The same as text, in lines that a reader accepts."""
    per_line = 250_000
    faces = corners // per_line
    header = (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
        f"property float z\nelement face {faces}\nproperty list uint uchar vertex_indices\n"
        "end_header\n0 0 0\n1 0 0\n0 1 0\n"
    )
    line = f"{per_line} " + "0 1 2 " * (per_line // 3) + "0 " * (per_line % 3) + "\n"
    path.write_text(header + line * faces)


def off_faces(path, corners):
    per_line = 250_000
    faces = corners // per_line
    line = f"{per_line} " + "0 1 2 " * (per_line // 3) + "0 " * (per_line % 3) + "\n"
    path.write_text(f"OFF\n3 {faces} 0\n0 0 0\n1 0 0\n0 1 0\n" + line * faces)


def obj_faces(path, corners):
    line = "f " + "1 2 3 " * 80_000 + "\n"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n" + line * (corners // 240_000))


BOMBS = {
    "binary.ply": lambda path: one_face(path, 6 * MEGABYTE),
    "wide.ply": lambda path: one_face(path, 2 * MEGABYTE, "int"),
    "text.ply": lambda path: text_face(path, MEGABYTE),
    "text.off": lambda path: off_faces(path, MEGABYTE),
    "text.obj": lambda path: obj_faces(path, MEGABYTE),
}


@pytest.mark.parametrize("name", BOMBS)
def test_polygons_with_very_many_corners_take_bounded_memory(name, tmp_path):
    path = tmp_path / name
    BOMBS[name](path)
    tracemalloc.start()
    try:
        read_cloud(path, surface_points=10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    per_byte = peak / path.stat().st_size
    print(f"{name}: {per_byte:.0f} bytes of memory per byte of file")
    assert per_byte < 60


@pytest.mark.parametrize("name", ["binary.ply", "text.obj"])
def test_more_triangles_than_the_limit_are_refused(name, tmp_path):
    BOMBS[name](tmp_path / name)
    with pytest.raises(CloudFileError, match="triangles, more than the limit of 200,000"):
        read_cloud(tmp_path / name, surface_points=10, max_points=100_000)
    assert len(read_cloud(tmp_path / name, max_points=100_000).points) == 3  # faces are not read


def test_large_faces_are_cut_as_small_ones(tmp_path):
    """A fan of a regular polygon covers it evenly, whatever the number of corners."""
    corners = 3000
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    lines = [f"v {np.cos(t)} {np.sin(t)} 0" for t in angles]
    path = tmp_path / "disc.obj"
    path.write_text("\n".join([*lines, "f " + " ".join(map(str, range(1, corners + 1)))]) + "\n")
    points = read_cloud(path, surface_points=20_000).points
    radius = np.linalg.norm(points[:, :2], axis=1)
    assert abs((radius < np.sqrt(0.5)).mean() - 0.5) < 0.02
