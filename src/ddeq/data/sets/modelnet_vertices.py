"""ModelNet40-s as the paper has it: mesh vertices, thinned on a voxel grid to at most 800 points.

Vertices are few and uneven, and harder to classify than the surface points of ``modelnet40``:
figures of the one are never compared with figures of the other. Two sources are read, whichever is
in the data folder (in this order):

- ``modelnet40s_vertices_int16.npz``: prepared clouds as int16, to be divided by 32767;
- ``ModelNet40/<class>/{train,test}/*.off``: Princeton's meshes.

Both give clouds with the centre of the bounding box at 0 and largest radius 1, z up.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from ddeq.data.cache import cached, fingerprint
from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.modelnet import EIGHT
from ddeq.data.sets.registry import Entry, register
from ddeq.data.voxels import voxel_downsample
from ddeq.errors import DdeqError
from ddeq.io.files import read_cloud

__all__ = ["load_vertices", "vertex_cloud", "vertices_present"]

_NPZ = "modelnet40s_vertices_int16.npz"
_OFF = "ModelNet40"
_MAX_POINTS = 800


def load_vertices(root: str | Path, split: str) -> CloudDataset:
    """ModelNet40-s from the files under ``root``.

    Args:
        root: The data folder.
        split: ``"train"`` (9,843 meshes) or ``"test"`` (2,468). The prepared file lacks the 406
            largest meshes.

    Raises:
        FileNotFoundError: when no source is there; the message says what to put where.
        DdeqError: when a file is damaged; the message names the file.
    """
    if split not in ("train", "test"):
        raise DdeqError(f"split must be 'train' or 'test', got {split!r}")
    root, name = Path(root), f"modelnet40-s/{split}"
    if (root / _NPZ).is_file():
        return _read_npz(root / _NPZ, split, name)
    meshes = sorted((root / _OFF).glob(f"*/{split}/*.off"))
    if not meshes:
        raise FileNotFoundError(
            f"no ModelNet40 meshes in {root}: unpack ModelNet40.zip from modelnet.cs.princeton.edu "
            f"there, so that {root / _OFF / 'airplane' / split} holds .off files"
        )
    return cached(name, ["vertices", split, fingerprint(meshes)], lambda: _read_off(meshes, name))


def vertex_cloud(vertices: np.ndarray) -> np.ndarray:
    """Vertices of a mesh as a cloud: merged, thinned, centred, at radius 1, ``(n, 3)`` float32.

    Example:
        >>> vertex_cloud(np.array([[0.0, 0, 0], [0, 0, 0], [4, 0, 0]])).tolist()
        [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    points = voxel_downsample(np.unique(vertices.astype(np.float64), axis=0), _MAX_POINTS)
    points = points - (points.min(0) + points.max(0)) / 2
    radius = np.linalg.norm(points, axis=1).max()
    return (points / (radius if radius > 0 else 1.0)).astype(np.float32)


def vertices_present(root: str | Path) -> bool:
    """Whether ``root`` holds files for both splits."""
    meshes = Path(root) / _OFF
    return (Path(root) / _NPZ).is_file() or all(
        any(meshes.glob(f"*/{split}/*.off")) for split in ("train", "test")
    )


def _read_npz(path: Path, split: str, name: str) -> CloudDataset:
    """Clouds that stand one after another as int16, ``(T, 3)``."""
    try:
        with np.load(path, allow_pickle=False) as file:
            points, lengths = file[f"points_{split}"], file[f"lengths_{split}"]
            labels, classes = file[f"y_{split}"], [str(c) for c in file["classes"]]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DdeqError(f"{path}: truncated or damaged ({error})") from error
    unit = points.astype(np.float32) / 32767
    return CloudDataset.from_flat(unit, lengths, labels, classes, name)


def _read_off(files: list[Path], name: str) -> CloudDataset:
    """Vertices of each mesh; the class is the grandparent folder, numbered over both splits."""
    classes = tuple(sorted(p.name for p in files[0].parents[2].iterdir() if p.is_dir()))
    labels = [classes.index(file.parents[1].name) for file in files]
    clouds = [vertex_cloud(np.asarray(read_cloud(file).points)) for file in files]
    return CloudDataset.from_list(clouds, labels, classes, name)


register(
    Entry(
        name="modelnet40-s",
        about="the paper's clouds: mesh vertices of 40 classes, at most 800 points",
        dim=3,
        num_classes=40,
        sizes={"train": 9843, "test": 2468},
        licence="academic use",
        load=load_vertices,
        present=vertices_present,
    )
)
register(
    Entry(
        name="modelnet8-s",
        about="the eight classes of modelnet40-s used for completion",
        dim=3,
        num_classes=8,
        sizes={"train": 2868, "test": 590},
        licence="academic use",
        load=lambda root, split: load_vertices(root, split).only(EIGHT, f"modelnet8-s/{split}"),
        present=vertices_present,
    )
)
