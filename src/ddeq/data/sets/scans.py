"""Scans: 808 real household objects that come with the package, 1,024 surface points each.

They are a compact form of Google Scanned Objects (Downs et al., 2022; CC BY 4.0), z up, in metres.
No object of a maker, and no near copy of another maker's object, is in two splits. The file is made
by ``python -m ddeq.data.sets.scans SOURCE OUT``; see ``README.md`` beside it.

Points are stored in steps of 1/2047 of the object's radius, sorted by x: differences of x, then y
and z as high and low bytes, which compress to 3 MB.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.registry import Entry, register
from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path

__all__ = ["decode", "encode", "families", "load_scans", "make_scans", "share_out"]

SPLITS = ("train", "validation", "test")
_FILE = "scans.npz"
_POINTS = 1024
_STEPS = 2047
_SHARES = {"test": 0.2, "validation": 0.1}
_LARGEST = 0.025
_SAME_SIZE = 0.05
_SAME_SURFACE = 1.2
_INSIDE = ("tieks", "nintendo")  # makers that do not stand first
_SPELLED = {"perricoen": "perricone", "tiek": "tieks", "nestl": "nestle"}


def load_scans(split: str) -> CloudDataset:
    """The embedded scans of a split, in metres, with their names.

    The points of a cloud stand in a fixed random order, so that any first few of them are a fair
    sample of its surface.
    """
    if split not in SPLITS:
        raise DdeqError(f"split must be one of {SPLITS}, got {split!r}")
    source = resources.files("ddeq.data") / "embedded" / _FILE
    with source.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        rows = np.flatnonzero(file["split"] == SPLITS.index(split))
        points = decode(file["x_steps"][rows], file["yz_high"][rows], file["yz_low"][rows])
        metres = points * file["radius_m"][rows, None, None]
        names = tuple(str(name) for name in file["names"][rows])
    order = np.random.default_rng(0).permuted(np.tile(np.arange(_POINTS), (len(rows), 1)), axis=1)
    clouds = np.take_along_axis(metres, order[:, :, None], axis=1).astype(np.float32)
    labels = np.zeros(len(rows), dtype=np.int64)
    data = CloudDataset.from_list(list(clouds), labels, ("object",), f"scans/{split}")
    return replace(data, names=names)


def encode(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clouds in the unit ball, ``(n, N, 3)``, as steps of x, high and low bytes of y and z."""
    steps = np.round(points * _STEPS).astype(np.int16)
    order = np.argsort(steps[:, :, 0], axis=1, kind="stable")
    steps = np.take_along_axis(steps, order[:, :, None], axis=1)
    yz = steps[:, :, 1:]
    x_steps = np.diff(steps[:, :, 0], axis=1, prepend=np.int16(0))
    return x_steps, (yz >> 8).astype(np.int8), (yz & 255).astype(np.uint8)


def decode(x_steps: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """What :func:`encode` stored, ``(n, N, 3)`` float64, up to half a step.

    Example:
        >>> stored = decode(*encode(np.array([[[0.5, -1.0, 0.25], [0.0, 1.0, 0.0]]])))
        >>> stored.round(3).tolist()
        [[[0.0, 1.0, 0.0], [0.5, -1.0, 0.25]]]
    """
    x = np.cumsum(x_steps, axis=1, dtype=np.int64)[:, :, None]
    yz = high.astype(np.int64) * 256 + low
    return np.concatenate([x, yz], axis=2) / _STEPS


def families(names: Sequence[str], points: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Number of the family of each object, ``(n,)``.

    Two objects are of one family if they have one maker (the first word of the name), or if they
    are near copies: radii within 5 %, and the points of each as near to the other's
    surface as a second sample of that surface would be, but for 20 %. Families are closed under
    both. ``points (n, N, 3)`` are in units of ``radius (n,)``.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    first: dict[str, int] = {}
    pairs = [(i, first.setdefault(m, i)) for i, name in enumerate(names) for m in _makers(name)]
    half = points.shape[1] // 2
    surface = [cKDTree(cloud[:half]) for cloud in points]
    sample = [cloud[half:] for cloud in points]
    own = [tree.query(few)[0].mean() for tree, few in zip(surface, sample, strict=True)]
    extent = np.ptp(points, axis=1) * radius[:, None]
    for i in range(len(names)):
        alike = np.abs(extent[:i] - extent[i]).max(1, initial=0.0) <= _SAME_SIZE * radius[i]
        for j in np.flatnonzero(alike & (np.abs(np.log(radius[:i] / radius[i])) <= _SAME_SIZE)):
            ratio = radius[j] / radius[i]
            there = surface[i].query(sample[j] * ratio)[0].mean() / own[i]
            back = surface[j].query(sample[i] / ratio)[0].mean() / own[j]
            if max(there, back) < _SAME_SURFACE:
                pairs.append((i, int(j)))
    rows, columns = np.array(pairs).T
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(names),) * 2)
    return connected_components(graph, directed=False)[1]


def _makers(name: str) -> list[str]:
    """The first word of a name, whatever its case and accents, and makers that stand elsewhere."""
    words = name.encode("ascii", "ignore").decode().casefold().split("_")
    return [_SPELLED.get(words[0], words[0]), *(word for word in _INSIDE if word in words)]


def share_out(names: Sequence[str], family: np.ndarray) -> np.ndarray:
    """Split of each object, an index into :data:`SPLITS`, ``(n,)``: families stay together.

    Families come in the order of a hash of their first name and fill the test set up to 20 % of
    the objects, then the validation set up to 10 %; the others are for training, and so is every
    family of more than 2.5 %, so that no maker fills the test set.
    """
    members = [np.flatnonzero(family == number) for number in np.unique(family)]
    key = [min(names[int(i)] for i in rows) for rows in members]
    order = sorted(range(len(members)), key=lambda k: hashlib.sha256(key[k].encode()).hexdigest())
    split = np.zeros(len(names), dtype=np.uint8)
    for name, share in _SHARES.items():
        for k in order:
            room = share * len(names) - (split == SPLITS.index(name)).sum()
            free = not split[members[k]].any()
            if free and len(members[k]) <= min(room, _LARGEST * len(names)):
                split[members[k]] = SPLITS.index(name)
    return split


def make_scans(source: str | Path, out: str | Path) -> None:
    """Writes the embedded file from one with ``points``, ``names`` and ``radius_m``.

    ``points (n, 2048, 3)`` are int16, to be divided by 32767, in units of ``radius_m (n,)``; the
    first 1,024 are kept.
    """
    with np.load(source, allow_pickle=False) as file:
        points = file["points"].astype(np.float64) / 32767
        names, radius = [str(name) for name in file["names"]], file["radius_m"]
    split = share_out(names, families(names, points, radius))
    x_steps, high, low = encode(points[:, :_POINTS])
    with atomic_path(out) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(
            stream,
            x_steps=x_steps,
            yz_high=high,
            yz_low=low,
            names=np.array(names),
            radius_m=radius.astype(np.float32),
            split=split,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line of :func:`make_scans`."""
    parser = argparse.ArgumentParser(description="Make the embedded scans.")
    parser.add_argument("source", help="npz with points, names and radius_m")
    parser.add_argument("out", help=f"file to write, e.g. {_FILE}")
    options = parser.parse_args(arguments)
    make_scans(options.source, options.out)


register(
    Entry(
        name="scans",
        about="real household objects, 3-D scans of 1,024 points, come with the package",
        dim=3,
        num_classes=1,
        sizes={"train": 567, "validation": 80, "test": 161},
        licence="CC BY 4.0",
        load=lambda root, split: load_scans(split),
    )
)


if __name__ == "__main__":
    main()
