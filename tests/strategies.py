"""Clouds for hypothesis: awkward ones, and pairs of clouds whose distances are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from ddeq import PointClouds

KINDS = ("normal", "single", "origin", "duplicates", "coincident", "collinear", "off_centre")
seeds = st.integers(0, 2**31 - 1)


def make_cloud(kind: str, size: int, dim: int, seed: int, dtype=torch.float64) -> Tensor:
    """One cloud of the given kind, ``(size, dim)`` (one point for ``single``)."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((1 if kind == "single" else size, dim))
    if kind == "origin":
        points[rng.integers(len(points))] = 0.0
    elif kind == "duplicates":
        points = points[rng.integers(0, max(len(points) // 2, 1), len(points))]
    elif kind == "coincident":
        points[:] = points[0]
    elif kind == "collinear":
        points = points[:, :1] * points[0] + points[-1]
    elif kind == "off_centre":
        points += 20.0 * rng.standard_normal(dim)
    return torch.as_tensor(points, dtype=dtype)


def clouds(dim: int, max_size: int = 9, kinds=KINDS, dtype=torch.float64):
    """Single clouds ``(n, dim)`` of every kind."""
    return st.builds(
        make_cloud,
        kind=st.sampled_from(kinds),
        size=st.integers(1, max_size),
        dim=st.just(dim),
        seed=seeds,
        dtype=st.just(dtype),
    )


def cloud_lists(dim: int, min_clouds: int = 1, max_clouds: int = 4, **options):
    """Lists of clouds of different sizes and kinds."""
    return st.lists(clouds(dim, **options), min_size=min_clouds, max_size=max_clouds)


def any_dim(strategy, **options):
    """``strategy(dim, ...)`` in one, two or three dimensions."""
    return st.sampled_from([1, 2, 3]).flatmap(lambda dim: strategy(dim, **options))


def batch_pairs(dim: int, clouds_per_batch: int = 3, **options):
    """Two batches of as many clouds in one dimension, sizes independent of each other."""
    count = {"min_clouds": clouds_per_batch, "max_clouds": clouds_per_batch}
    one = cloud_lists(dim, **count, **options).map(PointClouds.from_list)
    return st.tuples(one, one)


@dataclass(frozen=True)
class Known:
    """Two clouds with their energy distance and 2-Wasserstein distance in closed form."""

    x: Tensor
    y: Tensor
    energy: float
    w2: float


def _diracs(rng, n):
    gap = rng.uniform(0.1, 3.0)
    return np.zeros((n, 1)), np.full((n + 2, 1), gap), 2.0 * gap, gap


def _two_sites(rng, n):
    """``a`` and ``b`` of the mass at distance ``L``: ``2 (a - b)^2 L`` and ``L sqrt|a - b|``."""
    length = rng.uniform(0.1, 3.0)
    sizes = np.array([n + 1, n + 3])
    there = np.array([rng.integers(0, size + 1) for size in sizes])
    x, y = (length * (np.arange(s) < t)[:, None] for s, t in zip(sizes, there, strict=True))
    a, b = there / sizes
    return x, y, 2.0 * (a - b) ** 2 * length, length * np.sqrt(abs(a - b))


def _shifted_grid(rng, n):
    """``n`` points at distance ``h``, moved by ``t <= h``: ``F - G`` is ``1/n`` on ``n t``."""
    h = rng.uniform(0.5, 2.0)
    t = rng.uniform(0.0, h)
    grid = h * np.arange(n)[:, None]
    return grid, grid + t, 2.0 * t / n, t


def _copies(rng, n):
    """A cloud and the same measure with every point three times, in another order."""
    x = rng.standard_normal((n, 1))
    return x, rng.permutation(np.repeat(x, 3, axis=0)), 0.0, 0.0


def _polygon(rng, n):
    """The centre of a regular polygon and its corners."""
    corners, radius = n + 2, rng.uniform(0.1, 3.0)
    angle = 2 * np.pi * np.arange(corners) / corners
    y = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    mean_chord = 2 * radius / corners / np.tan(np.pi / (2 * corners))
    return np.zeros((1, 2)), y, 2 * radius - mean_chord, radius


KNOWN = (_diracs, _two_sites, _shifted_grid, _copies, _polygon)


@st.composite
def known_pairs(draw, dims=(1, 2, 3)) -> Known:
    """A pair with known distances, put somewhere in ``R^d`` by a random isometry."""
    dim = draw(st.sampled_from(dims))
    recipe = draw(st.sampled_from([r for r in KNOWN if dim > 1 or r is not _polygon]))
    rng = np.random.default_rng(draw(seeds))
    x, y, energy, w2 = recipe(rng, draw(st.integers(1, 12)))
    frame = np.linalg.qr(rng.standard_normal((dim, dim)))[0][: x.shape[1]]
    shift = rng.standard_normal(dim)
    x, y = (torch.as_tensor(points @ frame + shift) for points in (x, y))
    return Known(x, y, float(energy), float(w2))
