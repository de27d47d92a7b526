"""A cloud of any size, precision and place, as a network can take it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ddeq.data.voxels import voxel_downsample
from ddeq.measures.clouds import PointClouds

__all__ = ["NETWORK_POINTS", "NetworkView"]

NETWORK_POINTS = 1024
"""A network trained on hundreds of points sees at most this many; the cloud keeps them all."""

_DRAWN = 100_000
"""So many points tell where a cloud lies; sorting millions into voxels would take a minute."""


@dataclass(frozen=True, eq=False)
class NetworkView:
    """What a network sees of a cloud, and the way back to the cloud's units and precision.

    Float32 cannot hold map coordinates, so the mean is taken off in float64 first.

    Attributes:
        cloud: The points as their owner has them, ``(N, d)`` floating, finite.

    Example:
        >>> view = NetworkView(np.random.default_rng(0).normal(5e6, 2.0, (3000, 2)))
        >>> x = view.for_network()
        >>> bool(x.lengths <= NETWORK_POINTS), float(x.points.abs().max()) < 10
        (True, True)
    """

    cloud: np.ndarray

    @cached_property
    def thinned(self) -> np.ndarray:
        """All points, or a voxel-thinned part of many, ``(n, d)`` with ``n <= NETWORK_POINTS``."""
        points = self.cloud
        if len(points) > _DRAWN:
            points = points[np.random.default_rng(0).integers(len(points), size=_DRAWN)]
        return voxel_downsample(points, NETWORK_POINTS)

    @cached_property
    def shift(self) -> np.ndarray:
        """Mean of what the network sees, ``(d,)``."""
        return self.thinned.mean(0, dtype=np.float64)

    @cached_property
    def scale(self) -> float:
        """Its largest deviation of a coordinate, 1 for a single place."""
        return float(self.thinned.std(0, dtype=np.float64).max()) or 1.0

    def for_network(self) -> PointClouds:
        """One cloud of at most :data:`NETWORK_POINTS` points in float32, at unit size."""
        points = (self.thinned.astype(np.float64) - self.shift) / self.scale
        return PointClouds.from_list([torch.as_tensor(points, dtype=torch.float32)])

    def from_network(self, points: torch.Tensor) -> np.ndarray:
        """Points of the network's frame in the cloud's units and precision, ``(n, d)``."""
        own = points.detach().double().numpy() * self.scale + self.shift
        return own.astype(self.cloud.dtype)
