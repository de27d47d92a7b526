"""Cloud files damaged at random: a finite cloud or one line, in bounded time."""

import numpy as np
from mutations import REFUSED, attempt, damaged_bytes

from ddeq.io.files import READABLE, WRITABLE, CloudFileError, read_cloud, write_cloud

CASES = {"short": 400, "long": 8000}
ASCII = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n" \
    "property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n" \
    "0 0 0\n1 0 0\n1 1 0\n0 1 1\n3 0 1 2\n4 0 1 2 3\n"  # fmt: skip
STL = b"solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendsolid\n"


def originals(folder):
    """A whole file of every format."""
    points = np.random.default_rng(0).normal(size=(6, 3))
    whole = [(".ply", ASCII.encode()), (".obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")]
    whole += [(suffix, STL) for suffix in READABLE if suffix not in WRITABLE]
    for suffix in WRITABLE:
        write_cloud(folder / f"whole{suffix}", points, new_from=4)
        whole.append((suffix, (folder / f"whole{suffix}").read_bytes()))
        write_cloud(folder / f"whole{suffix}.gz", points)
        whole.append((f"{suffix}.gz", (folder / f"whole{suffix}.gz").read_bytes()))
    return whole


def test_damaged_files(effort, tmp_path, tally):
    whole, rng = originals(tmp_path), np.random.default_rng(1)
    for case in range(CASES[effort]):
        suffix, content = whole[case % len(whole)]
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(damaged_bytes(content, rng))
        samples = [None, 7][case % 2]
        cloud, message = attempt(
            lambda path=path, samples=samples: read_cloud(path, surface_points=samples),
            CloudFileError,
        )
        if cloud is None:
            assert str(path) in message
        else:
            assert cloud.points.shape[1] in (2, 3)
            assert np.isfinite(cloud.points).all()
        tally[REFUSED if cloud is None else "read"] += 1
        path.unlink()
