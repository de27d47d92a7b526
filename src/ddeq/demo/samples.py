"""Clouds to start from, and ways to take a part of them away."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np
import torch

from ddeq.data import CloudDataset, load
from ddeq.data.cuts import CUTS, visible
from ddeq.data.sets.mnist import CLASSES as DIGITS

__all__ = ["DIGITS", "RANDOM_CUTS", "Samples", "camera_cut", "random_cut"]

RANDOM_CUTS = ("brush", "balls", "half", "view")  # the last one for solid clouds alone
_OFFERED = 7
_LONGEST = 14  # letters of a button
_CAMERA_DISTANCE = 3.0  # radii of the cloud, as in the cut ``view``


class Samples:
    """Digits and scanned objects that no model was trained on.

    Args:
        seed: Of which scans are offered, and which digit of a class comes.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rng = np.random.default_rng(seed)

    @cached_property
    def digits(self) -> CloudDataset:
        """The embedded digits of the test split."""
        return load("mnist-mini", "test")

    @cached_property
    def scans(self) -> CloudDataset:
        """The embedded scans of the test split."""
        return load("scans", "test")

    @cached_property
    def offered(self) -> dict[str, int]:
        """Short names of a few scans, and their numbers: drawn by the seed."""
        order = np.random.default_rng(self.seed).permutation(len(self.scans)).tolist()
        found: dict[str, int] = {}
        for index in order:
            name = _short(self.scans.names[index])
            if name and len(found) < _OFFERED:
                found.setdefault(name, index)
        return found

    def digit(self, name: str) -> np.ndarray:
        """One of the digits of a class, ``(N, 2)``."""
        of_class = np.flatnonzero(self.digits.labels == DIGITS.index(name))
        return self.digits.raw(int(self.rng.choice(of_class)))

    def scan(self, name: str | None) -> tuple[np.ndarray, str]:
        """A scan by its short name, or any, ``(N, 3)`` in metres, and its full name."""
        index = int(self.rng.integers(len(self.scans))) if name is None else self.offered[name]
        return self.scans.raw(index), self.scans.names[index].replace("_", " ")


def random_cut(points: np.ndarray, cut: str, rng: np.random.Generator) -> list[int]:
    """Numbers of the points that a cut of :data:`ddeq.data.cuts.CUTS` takes away."""
    tensor = torch.as_tensor(points)
    _, removed = CUTS[cut](tensor, rng)
    left = Counter(row.tobytes() for row in removed.numpy())
    gone = []
    for index, row in enumerate(tensor.numpy()):
        key = row.tobytes()
        if left[key]:
            left[key] -= 1
            gone.append(index)
    return gone


def camera_cut(points: np.ndarray, direction: np.ndarray) -> list[int]:
    """Numbers of the points of a 3-D cloud that a camera does not see.

    Args:
        points: ``(N, 3)``.
        direction: From the cloud's centre to the camera, ``(3,)``, of any length but 0.
    """
    exact = points.astype(np.float64)
    centre = exact.mean(0)
    radius = float(np.linalg.norm(exact - centre, axis=1).max())
    toward = direction / np.linalg.norm(direction)
    seen = visible(exact, centre + _CAMERA_DISTANCE * radius * toward)
    return np.flatnonzero(~seen).tolist()


def _short(name: str) -> str:
    """The first word of a product's name that says something, with the next if there is room."""
    words = [word for word in name.split("_") if word.isalpha() and len(word) > 2]
    if not words:
        return ""
    text = words[0]
    for word in words[1:]:
        if len(text) + 1 + len(word) > _LONGEST:
            break
        text += f" {word}"
    return text[:_LONGEST].strip().capitalize()
