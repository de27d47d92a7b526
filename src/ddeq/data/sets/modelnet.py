"""ModelNet40: 3-D shapes of 40 classes, thinned on a voxel grid to at most 800 points.

Three sources are read, whichever is in the data folder (in this order):

- ``modelnet40_1024_int16.npz``: 1,024 surface points per shape as int16, to be divided by 32767;
- ``ModelNet40/<class>/{train,test}/*.off``: Princeton's meshes, vertices or surface samples;
- ``modelnet40_ply_hdf5_2048/ply_data_{train,test}*.h5``: 2,048 surface points per shape (y up in
  the files, turned here so that z is up as in the other two). Needs ``h5py``.

The thinned clouds are cached, see :func:`ddeq.data.cache.cached`.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ddeq.data.cache import cached, fingerprint
from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.registry import Entry, register
from ddeq.data.voxels import voxel_downsample
from ddeq.errors import DdeqError
from ddeq.io.files import read_cloud

__all__ = ["EIGHT", "load_modelnet", "modelnet_present", "modelnet_source"]

EIGHT = ("airplane", "bathtub", "bowl", "car", "chair", "cone", "toilet", "vase")
"""The classes of the completion experiments."""

_NPZ = "modelnet40_1024_int16.npz"
_OFF = "ModelNet40"
_HDF5 = "modelnet40_ply_hdf5_2048"
_SURFACE_SAMPLES = 4  # surface points drawn for each point that may remain

Labelled = tuple[Iterable[np.ndarray], np.ndarray, tuple[str, ...]]


@dataclass(frozen=True)
class Source:
    """Where one split comes from.

    Attributes:
        kind: ``"npz"``, ``"off"`` or ``"hdf5"``.
        files: The files it is made of.
        read: Gives clouds ``(N_i, 3)``, labels ``(n,)`` and class names.
    """

    kind: str
    files: list[Path]
    read: Callable[[], Labelled]


def load_modelnet(
    root: str | Path, split: str, max_points: int = 800, surface: bool = False
) -> CloudDataset:
    """ModelNet40-s from the files under ``root``.

    Args:
        root: The data folder.
        split: ``"train"`` (9,843 shapes) or ``"test"`` (2,468).
        max_points: Limit of the voxel grid.
        surface: For meshes, sample the surface by area; otherwise take the vertices, as the paper
            does. The other two sources hold surface points only.

    Raises:
        FileNotFoundError: when no source is there; the message says what to put where.
        DdeqError: when a file is damaged; the message names the file.
    """
    source = modelnet_source(root, split, max_points, surface)
    name = f"modelnet40/{split}"
    key = [source.kind, split, max_points, surface and source.kind == "off"]

    def build() -> CloudDataset:
        clouds, labels, classes = source.read()
        thin = [voxel_downsample(c, max_points).astype(np.float32) for c in clouds]
        return CloudDataset.from_list(thin, labels, classes, name)

    return cached(name, [*key, fingerprint(source.files)], build)


def modelnet_source(
    root: str | Path, split: str, max_points: int = 800, surface: bool = False
) -> Source:
    """The first source of a split under ``root``; arguments as in :func:`load_modelnet`."""
    if split not in ("train", "test"):
        raise DdeqError(f"split must be 'train' or 'test', got {split!r}")
    root = Path(root)
    archive = root / _NPZ
    if archive.is_file():
        return Source("npz", [archive], lambda: _read_npz(archive, split))
    meshes = sorted((root / _OFF).glob(f"*/{split}/*.off"))
    if meshes:
        samples = _SURFACE_SAMPLES * max_points if surface else None
        return Source("off", meshes, lambda: _read_meshes(meshes, samples))
    tables = sorted((root / _HDF5).glob(f"ply_data_{split}*.h5"))
    if tables:
        return Source("hdf5", tables, lambda: _read_hdf5(tables))
    raise FileNotFoundError(
        f"no ModelNet40 in {root}: unpack ModelNet40.zip from modelnet.cs.princeton.edu there, "
        f"so that {root / _OFF / 'airplane' / split} holds .off files"
    )


def modelnet_present(root: str | Path) -> bool:
    """Whether ``root`` holds files for both splits."""
    try:
        return all(modelnet_source(root, split) is not None for split in ("train", "test"))
    except FileNotFoundError:
        return False


def _read_npz(path: Path, split: str) -> Labelled:
    """Surface points ``(n, 1024, 3)`` stored as int16."""
    try:
        with np.load(path, allow_pickle=False) as file:
            points, labels = file[f"X_{split}"], file[f"y_{split}"]
            classes = tuple(str(c) for c in file["classes"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DdeqError(f"{path}: truncated or damaged ({error})") from error
    if points.ndim != 3 or points.shape[2] != 3 or labels.shape != points.shape[:1]:
        raise DdeqError(f"{path}: points {points.shape} and labels {labels.shape} do not fit")
    return (cloud.astype(np.float32) / 32767 for cloud in points), labels, classes


def _read_meshes(files: list[Path], samples: int | None) -> Labelled:
    """Vertices, or ``samples`` surface points, of each mesh; the class is the grandparent folder.

    Class names come from all sub-folders, so that both splits number them alike.
    """
    classes = tuple(sorted(p.name for p in files[0].parents[2].iterdir() if p.is_dir()))
    labels = np.array([classes.index(file.parents[1].name) for file in files])

    def clouds() -> Iterable[np.ndarray]:
        for index, file in enumerate(files):
            yield read_cloud(file, surface_points=samples, seed=index).points

    return clouds(), labels, classes


def _read_hdf5(files: list[Path]) -> Labelled:
    """Surface points ``(n, 2048, 3)``, turned from y up to z up: ``(x, y, z) -> (x, -z, y)``."""
    try:
        import h5py
    except ImportError as error:
        raise DdeqError(f"reading {files[0].name} needs h5py: pip install h5py") from error
    points, labels = [], []
    for file in files:
        try:
            with h5py.File(file, "r") as table:
                points.append(np.asarray(table["data"], dtype=np.float32))
                labels.append(np.asarray(table["label"]).reshape(-1))
        except (OSError, KeyError) as error:
            raise DdeqError(f"{file}: truncated or damaged ({error})") from error
        if points[-1].ndim != 3 or points[-1].shape[2] != 3 or len(points[-1]) != len(labels[-1]):
            raise DdeqError(f"{file}: points and labels do not fit")
    names = files[0].parent / "shape_names.txt"
    label = np.concatenate(labels)
    classes = tuple(names.read_text().split()) if names.is_file() else _numbers(label)
    flip = np.array([1, -1, 1], dtype=np.float32)
    return (cloud[:, [0, 2, 1]] * flip for part in points for cloud in part), label, classes


def _numbers(labels: np.ndarray) -> tuple[str, ...]:
    """Class names for a release without a list of them."""
    return tuple(str(i) for i in range(int(labels.max()) + 1))


register(
    Entry(
        name="modelnet40",
        about="shapes of 40 classes, at most 800 surface points",
        dim=3,
        num_classes=40,
        sizes={"train": 9843, "test": 2468},
        licence="academic use",
        load=load_modelnet,
        present=modelnet_present,
    )
)
register(
    Entry(
        name="modelnet8",
        about="the eight classes of modelnet40 used for completion",
        dim=3,
        num_classes=8,
        sizes={"train": 2868, "test": 590},
        licence="academic use",
        load=lambda root, split: load_modelnet(root, split).only(EIGHT, f"modelnet8/{split}"),
        present=modelnet_present,
    )
)
