"""MNIST-pc: handwritten digits as 2-D point clouds, one point per non-zero pixel.

Two sources are read: the four original idx files (plain or gzipped), and the CSV files of the
Kaggle set ``pointcloudmnist2d``. Both give points ``(x, y) = (column, 27 - row)``, so that a plot
with upward y shows the digit upright.
"""

from __future__ import annotations

import gzip
import math
import warnings
import zlib
from pathlib import Path

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.registry import Entry, register
from ddeq.errors import DdeqError

__all__ = ["CLASSES", "images_to_clouds", "load_mnist", "mnist_present", "read_csv", "read_idx"]

CLASSES = tuple(str(digit) for digit in range(10))
_FOLDERS = ("mnist", "MNIST/raw", "pointcloudmnist2d", ".")
_PREFIX = {"train": "train", "test": "t10k"}


def load_mnist(root: str | Path, split: str) -> CloudDataset:
    """MNIST-pc from the files under ``root``.

    Looks in ``root/mnist``, ``root/MNIST/raw``, ``root/pointcloudmnist2d`` and ``root`` for the
    idx files (``train-images-idx3-ubyte[.gz]`` and so on), then for ``train.csv`` / ``test.csv``.

    Args:
        root: The data folder.
        split: ``"train"`` (60,000 clouds) or ``"test"`` (10,000).

    Raises:
        FileNotFoundError: when no source is there; the message names what was looked for.
        DdeqError: when a file is damaged; the message names the file.
    """
    if split not in _PREFIX:
        raise DdeqError(f"split must be 'train' or 'test', got {split!r}")
    name = f"mnist-pc/{split}"
    images = _find(root, f"{_PREFIX[split]}-images-idx3-ubyte")
    labels = _find(root, f"{_PREFIX[split]}-labels-idx1-ubyte")
    if images and labels:
        return _from_idx(images, labels, name)
    table = _find(root, f"{split}.csv")
    if table:
        return read_csv(table, name)
    raise FileNotFoundError(
        f"no MNIST files in {root}: put {_PREFIX[split]}-images-idx3-ubyte.gz and "
        f"{_PREFIX[split]}-labels-idx1-ubyte.gz in {Path(root) / 'mnist'}, "
        "or run: ddeq data fetch mnist-pc"
    )


def mnist_present(root: str | Path) -> bool:
    """Whether ``root`` holds files for both splits."""
    return all(
        (_find(root, f"{prefix}-images-idx3-ubyte") and _find(root, f"{prefix}-labels-idx1-ubyte"))
        or _find(root, f"{split}.csv")
        for split, prefix in _PREFIX.items()
    )


def read_idx(path: str | Path) -> np.ndarray:
    """The unsigned bytes of an idx file, plain or gzipped.

    Format: two zero bytes, the type (8 = unsigned byte), the number of axes, one big-endian
    32-bit size per axis, then the data.

    Raises:
        DdeqError: when the file is not idx, damaged or of the wrong size; names the file.
    """
    path = Path(path)
    data = path.read_bytes()
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DdeqError(f"{path}: cannot be read, truncated or damaged ({error})") from error
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise DdeqError(f"{path}: not an idx file of unsigned bytes")
    header = 4 + 4 * data[3]
    shape = [int.from_bytes(data[i : i + 4], "big") for i in range(4, header, 4)]
    expected = header + math.prod(shape)
    if len(data) != expected:
        raise DdeqError(
            f"{path}: truncated or damaged, {len(data)} bytes where its header asks for {expected}"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)


def images_to_clouds(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The non-zero pixels of images, one cloud after another.

    Args:
        images: ``(n, height, width)`` with sides of at most 256.

    Returns:
        The points ``(column, height - 1 - row)``, ``(T, 2)`` uint8, in reading order, and the
        number of points of each image, ``(n,)`` int64.

    Example:
        >>> points, lengths = images_to_clouds(np.array([[[0, 7], [0, 0]], [[0, 0], [1, 1]]]))
        >>> points.tolist(), lengths.tolist()
        ([[1, 1], [0, 0], [1, 0]], [1, 2])
    """
    height, width = images.shape[1:]
    on = np.ascontiguousarray(images != 0)
    pixel = (np.flatnonzero(on) % (height * width)).astype(np.int32)
    points = np.empty((len(pixel), 2), dtype=np.uint8)
    points[:, 0] = pixel % width
    points[:, 1] = height - 1 - pixel // width
    return points, on.sum(axis=(1, 2))


def read_csv(path: str | Path, name: str = "mnist-pc") -> CloudDataset:
    """The Kaggle table: a header, then per digit ``label, x0, y0, v0, x1, ...``; -1 is padding.

    Raises:
        DdeqError: when a row is cut short or holds impossible values; names the file.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an empty file: it is an error below
            table = np.loadtxt(path, dtype=np.int16, delimiter=",", skiprows=1, ndmin=2)
    except ValueError as error:
        reason = str(error).split(";")[0].splitlines()[0]
        raise DdeqError(f"{path}: truncated or damaged ({reason})") from error
    if len(table) == 0 or table.shape[1] % 3 != 1 or table.shape[1] < 4:
        raise DdeqError(f"{path}: expected rows of a label and x,y,v triples, got {table.shape}")
    labels = table[:, 0]
    xy = table[:, 1:].reshape(len(table), -1, 3)[:, :, :2]
    real = (xy >= 0).all(2)
    points = xy[real]
    if labels.min() < 0 or labels.max() > 9 or (len(points) and points.max() > 27):
        raise DdeqError(f"{path}: labels must lie in 0..9 and coordinates in 0..27")
    return CloudDataset.from_flat(points.astype(np.uint8), real.sum(1), labels, CLASSES, name)


def _from_idx(images_path: Path, labels_path: Path, name: str) -> CloudDataset:
    """MNIST-pc from a file of images ``(n, 28, 28)`` and one of labels ``(n,)``."""
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or max(images.shape[1:]) > 256:
        raise DdeqError(f"{images_path}: expected images (n, 28, 28), got {images.shape}")
    if labels.shape != images.shape[:1]:
        raise DdeqError(f"{labels_path}: labels {labels.shape} for images {images.shape}")
    if len(labels) and labels.max() > 9:
        raise DdeqError(f"{labels_path}: labels must lie in 0..9, got {labels.max()}")
    return CloudDataset.from_flat(*images_to_clouds(images), labels, CLASSES, name)


def _find(root: str | Path, stem: str) -> Path | None:
    """The first file called ``stem`` (or ``images.idx3`` for ``images-idx3``), plain or gzipped."""
    for folder in _FOLDERS:
        for variant in (stem, stem.replace("-idx", ".idx")):
            for suffix in ("", ".gz"):
                path = Path(root) / folder / (variant + suffix)
                if path.is_file():
                    return path
    return None


register(
    Entry(
        name="mnist-pc",
        about="handwritten digits, one point per non-zero pixel",
        dim=2,
        num_classes=10,
        sizes={"train": 60000, "test": 10000},
        licence="CC BY-SA 3.0",
        load=load_mnist,
        present=mnist_present,
    )
)
