"""MNIST-mini: 6,000 + 1,000 real digits that come with the package.

The digits are binary images of 28 x 28 pixels, eight pixels to a byte: a cloud of MNIST-pc knows
only which pixels are not zero, so nothing of it is lost. The file is made from the full set by
``python -m ddeq.data.sets.mini ROOT OUT``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.mnist import CLASSES, images_to_clouds, load_mnist
from ddeq.data.sets.registry import Entry, register
from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path

__all__ = ["load_mini", "make_mini"]

PER_CLASS = {"train": 600, "test": 100}
_SIDE = 28
_FILE = "mnist_mini.npz"


def load_mini(split: str) -> CloudDataset:
    """The embedded digits: 600 (``"train"``) or 100 (``"test"``) of each class."""
    if split not in PER_CLASS:
        raise DdeqError(f"split must be 'train' or 'test', got {split!r}")
    source = resources.files("ddeq.data") / "embedded" / _FILE
    with source.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        packed, labels = file[f"{split}_images"], file[f"{split}_labels"]
    images = np.unpackbits(packed, axis=1).reshape(-1, _SIDE, _SIDE)
    return CloudDataset.from_flat(*images_to_clouds(images), labels, CLASSES, f"mnist-mini/{split}")


def make_mini(root: str | Path, out: str | Path, seed: int = 0) -> None:
    """Draws the digits from the full set under ``root`` and writes them to the file ``out``."""
    arrays: dict[str, np.ndarray] = {}
    for split, count in PER_CLASS.items():
        full = load_mnist(root, split)
        rng = np.random.default_rng(seed)
        chosen = [
            rng.choice(np.flatnonzero(full.labels == c), count, replace=False) for c in range(10)
        ]
        part = full.subset(rng.permutation(np.concatenate(chosen)))
        images = np.zeros((len(part), _SIDE, _SIDE), dtype=np.uint8)
        for image, cloud in zip(images, part.clouds, strict=True):
            column, row = cloud.astype(np.int64).T
            image[_SIDE - 1 - row, column] = 1
        arrays[f"{split}_images"] = np.packbits(images.reshape(len(part), -1), axis=1)
        arrays[f"{split}_labels"] = part.labels.astype(np.uint8)
    with atomic_path(out) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(
            file,
            train_images=arrays["train_images"],
            train_labels=arrays["train_labels"],
            test_images=arrays["test_images"],
            test_labels=arrays["test_labels"],
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of :func:`make_mini`."""
    parser = argparse.ArgumentParser(description="Make the embedded digits from the full MNIST.")
    parser.add_argument("root", help="data folder with the MNIST idx files in mnist/")
    parser.add_argument("out", help=f"file to write, e.g. {_FILE}")
    options = parser.parse_args(arguments)
    make_mini(options.root, options.out)


register(
    Entry(
        name="mnist-mini",
        about="handwritten digits, a subset that comes with the package",
        dim=2,
        num_classes=10,
        sizes={split: 10 * count for split, count in PER_CLASS.items()},
        licence="CC BY-SA 3.0",
        load=lambda root, split: load_mini(split),
    )
)


if __name__ == "__main__":
    main()
