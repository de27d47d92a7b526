"""Random changes of a cloud that keep its class: pure functions ``(cloud, rng) -> cloud``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ddeq.data.dataset import normalize_points
from ddeq.errors import DdeqError

__all__ = [
    "Augmentation",
    "affine",
    "distort",
    "drop",
    "even",
    "jitter",
    "mirror",
    "rotate_z",
    "scatter",
    "shift",
    "stretch",
    "subsample",
]

Augmentation = Callable[[Tensor, np.random.Generator], Tensor]


def rotate_z(cloud: Tensor, rng: np.random.Generator) -> Tensor:
    """Turns a 3-D cloud ``(N, 3)`` about the vertical z axis by a uniform angle.

    Meant for a cloud in its true proportions; one that is normalised per coordinate is sheared.
    """
    if cloud.shape[1] != 3:
        raise DdeqError(f"rotate_z needs points in 3 dimensions, got {cloud.shape[1]}")
    cos, sin = _cos_sin(rng.uniform(0, 2 * np.pi))
    turn = torch.tensor([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    return cloud @ turn.T.to(cloud)


def affine(
    cloud: Tensor,
    rng: np.random.Generator,
    angle: float = 0.2,
    scale: float = 0.15,
    shear: float = 0.2,
) -> Tensor:
    """A small random affine change ``x -> R S H x`` of a 2-D cloud ``(N, 2)``.

    Args:
        cloud: The points, about centred.
        rng: Source of the four random numbers.
        angle: The rotation ``R`` is uniform in ``[-angle, angle]`` radians.
        scale: The diagonal of ``S`` is uniform in ``[1 - scale, 1 + scale]``, per coordinate.
        shear: ``H = [[1, s], [0, 1]]`` with ``s`` uniform in ``[-shear, shear]``.
    """
    if cloud.shape[1] != 2:
        raise DdeqError(f"affine needs points in 2 dimensions, got {cloud.shape[1]}")
    cos, sin = _cos_sin(rng.uniform(-angle, angle))
    turn = np.array([[cos, -sin], [sin, cos]])
    stretch = np.diag(1 + rng.uniform(-scale, scale, size=2))
    slant = np.array([[1.0, rng.uniform(-shear, shear)], [0.0, 1.0]])
    return cloud @ torch.from_numpy(turn @ stretch @ slant).T.to(cloud)


def mirror(cloud: Tensor, rng: np.random.Generator) -> Tensor:
    """Reflects the horizontal axes of a 3-D cloud ``(N, 3)``, each with probability 1/2."""
    if cloud.shape[1] != 3:
        raise DdeqError(f"mirror needs points in 3 dimensions, got {cloud.shape[1]}")
    signs = torch.tensor([*rng.choice([-1.0, 1.0], size=2), 1.0], dtype=torch.float64)
    return cloud * signs.to(cloud)


def distort(cloud: Tensor, rng: np.random.Generator, std: float = 0.1) -> Tensor:
    """``x -> (I + E) x``, the entries of ``E`` from ``N(0, std^2)``: leans and turns a cloud."""
    dim = cloud.shape[1]
    change = np.eye(dim) + std * rng.standard_normal((dim, dim))
    return cloud @ torch.from_numpy(change).T.to(cloud)


def shift(cloud: Tensor, rng: np.random.Generator, most: float = 0.2) -> Tensor:
    """Moves the whole cloud by up to ``most`` of its radius in each coordinate."""
    radius = float((cloud - cloud.mean(0, keepdim=True)).norm(dim=1).max())
    away = radius * rng.uniform(-most, most, size=cloud.shape[1])
    return cloud + torch.from_numpy(away).to(cloud)


def stretch(cloud: Tensor, rng: np.random.Generator, most: float = 0.25) -> Tensor:
    """Scales each coordinate by a factor of its own, ``e^s`` with ``s`` in ``[-most, most]``."""
    factors = np.exp(rng.uniform(-most, most, size=cloud.shape[1]))
    return cloud * torch.from_numpy(factors).to(cloud)


def even(cloud: Tensor, rng: np.random.Generator, share: float = 0.25) -> Tensor:
    """Gives a cloud unit variance per coordinate with probability ``share``.

    A classifier that takes clouds in their proportions then also knows those that come to it
    normalised per coordinate.
    """
    if rng.random() >= share:
        return cloud
    return torch.from_numpy(normalize_points(cloud.numpy()))


def jitter(cloud: Tensor, rng: np.random.Generator, std: float = 0.02) -> Tensor:
    """Moves every point by ``N(0, std^2)`` in each coordinate."""
    return cloud + torch.from_numpy(std * rng.standard_normal(tuple(cloud.shape))).to(cloud)


def drop(cloud: Tensor, rng: np.random.Generator, most: float = 0.5) -> Tensor:
    """A random subset, without a share uniform in ``[0, most]`` of the points."""
    kept = max(1, round(len(cloud) * (1 - rng.uniform(0, most))))
    return subsample(cloud, rng, kept)


def scatter(
    cloud: Tensor, rng: np.random.Generator, share: float = 0.3, most: float = 0.03
) -> Tensor:
    """Adds points that do not belong to the object, with probability ``share``.

    They are uniform in the ball around the mean that holds the cloud, up to ``most`` of its points.
    """
    count = round(len(cloud) * rng.uniform(0, most))
    if rng.random() >= share or count == 0:
        return cloud
    centre = cloud.mean(0, keepdim=True)
    radius = float((cloud - centre).norm(dim=1).max())
    away = rng.standard_normal((count, cloud.shape[1]))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    away *= radius * rng.random((count, 1)) ** (1 / cloud.shape[1])
    return torch.cat([cloud, centre + torch.from_numpy(away).to(cloud)])


def subsample(cloud: Tensor, rng: np.random.Generator, most: int = 128) -> Tensor:
    """A random subset of at most ``most`` points, in their order."""
    if len(cloud) <= most:
        return cloud
    return cloud[torch.from_numpy(np.sort(rng.choice(len(cloud), most, replace=False)))]


def _cos_sin(angle: float) -> tuple[float, float]:
    return float(np.cos(angle)), float(np.sin(angle))
