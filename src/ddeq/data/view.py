"""Clouds of any size, precision and place, as a network can take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ddeq.data.voxels import voxel_downsample
from ddeq.measures.clouds import Normalization, PointClouds

__all__ = ["NETWORK_POINTS", "FramedClouds", "NetworkView"]

NETWORK_POINTS = 1024
"""A network trained on hundreds of points sees at most this many; the cloud keeps them all."""

_DRAWN = 100_000
"""So many points tell where a cloud lies; sorting millions into voxels would take a minute."""

_FLAT = 1e-6
"""A coordinate that deviates by less than this share of the largest deviation is flat."""


@dataclass(frozen=True, eq=False)
class NetworkView:
    """What a network sees of a cloud, and the inverse to the cloud's units and precision.

    Float32 cannot hold map coordinates, so the mean is taken off in float64 first. A coordinate
    in which all points agree stays so: whatever the network says there, the inverse is that value.

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
    def subsample(self) -> np.ndarray:
        """All points, or voxel means of many, ``(n, d)`` with ``n <= NETWORK_POINTS``."""
        points = self.cloud
        if len(points) > _DRAWN:
            points = points[np.random.default_rng(0).integers(len(points), size=_DRAWN)]
        points = voxel_downsample(points, NETWORK_POINTS)
        # a mean of equal numbers may differ from them by its rounding
        return np.where(self._constant, self.cloud[0], points)

    @cached_property
    def shift(self) -> np.ndarray:
        """Mean of what the network sees, ``(d,)``."""
        mean = self.subsample.mean(0, dtype=np.float64)
        return np.where(self._constant, self.cloud[0].astype(np.float64), mean)

    @cached_property
    def scale(self) -> float:
        """Its largest deviation of a coordinate, 1 for a single place."""
        return float(self._deviation.max()) or 1.0

    def for_network(self, dtype: torch.dtype = torch.float32) -> PointClouds:
        """One cloud of at most :data:`NETWORK_POINTS` points, at unit size."""
        points = (self.subsample.astype(np.float64) - self.shift) / self.scale
        return PointClouds.from_list([torch.as_tensor(points, dtype=dtype)])

    def from_network(self, points: Tensor) -> np.ndarray:
        """Points of the network's frame in the cloud's units and precision, ``(n, d)``."""
        scale = np.where(self._deviation <= _FLAT * self.scale, 0.0, self.scale)
        own = points.detach().double().cpu().numpy() * scale + self.shift
        return own.astype(self.cloud.dtype)

    @cached_property
    def _constant(self) -> np.ndarray:
        """The coordinates in which all points agree, ``(d,)``."""
        return (self.cloud == self.cloud[0]).all(0)

    @cached_property
    def _deviation(self) -> np.ndarray:
        """Standard deviation of each coordinate of what the network sees, ``(d,)``."""
        deviation = self.subsample.std(0, dtype=np.float64)
        return np.where(self._constant, 0.0, deviation)


@dataclass(frozen=True, eq=False)
class FramedClouds:
    """A batch of clouds as a completer sees them, and the inverse for its points.

    Attributes:
        views: The clouds in their own units, and the subsample of each.
        x: The subsamples, at zero mean and unit variance, ``(B, N, d)``.
        frame: The map to ``x`` from the subsamples at unit size.
        sizes: How many points each cloud has, ``(B,)``.
    """

    views: list[NetworkView]
    x: PointClouds
    frame: Normalization
    sizes: Tensor

    @classmethod
    def of(
        cls, clouds: Sequence[np.ndarray], like: Tensor, proportions: bool = False
    ) -> FramedClouds:
        """Frames ``B`` clouds ``(N_i, d)``, on the device of ``like``; in float64 if that is.

        Args:
            clouds: In any units.
            like: A tensor of the network.
            proportions: One scale for all coordinates of a cloud.
        """
        views = [NetworkView(cloud) for cloud in clouds]
        dtype = like.dtype if like.dtype == torch.float64 else torch.float32
        seen = PointClouds.from_list([view.for_network(dtype).points[0] for view in views])
        sizes = torch.tensor([len(cloud) for cloud in clouds], device=like.device)
        return cls(views, *seen.to(like.device).normalize(proportions), sizes)

    def invert(self, points: Sequence[Tensor]) -> list[np.ndarray]:
        """Points of the network's frame, ``(M_i, d)``, in the units and precision of the clouds."""
        frame = self.frame
        scale = frame.scale if frame.flat is None else frame.scale.masked_fill(frame.flat, 0.0)
        parts = zip(self.views, points, scale, frame.shift, strict=True)
        return [view.from_network(p * scale + shift) for view, p, scale, shift in parts]
