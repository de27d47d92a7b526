"""Clouds whose points have masses of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds

__all__ = ["WeightedClouds", "equal_masses"]


@dataclass(frozen=True, eq=False)
class WeightedClouds(PointClouds):
    """``mu = sum_i w_i delta_{x_i}`` with ``sum_i w_i = 1``, a batch of ``B`` such clouds.

    Distances between measures take them beside plain clouds: MMD with every kernel, sliced MMD,
    the Sinkhorn divergence, DrMMD, ``wasserstein2`` and ``ot_distance``; and so do solvers, which
    move the particles and leave their masses. What matches point with point, and every model, needs
    points of equal mass and refuses these clouds in one line.

    Attributes:
        masses: ``(B, N)``, not negative; divided by their sum, zero at padding.

    Example:
        >>> two = WeightedClouds.from_lists([torch.tensor([[0.0], [1.0]])], [torch.tensor([3, 1])])
        >>> two.weights.tolist(), two.mean().tolist()
        ([[0.75, 0.25]], [[0.25]])
    """

    masses: Tensor

    def __post_init__(self) -> None:
        super().__post_init__()
        masses = self.masses.to(self.points.dtype)
        if masses.shape != self.mask.shape:
            raise DdeqError(f"masses must be {tuple(self.mask.shape)}, got {tuple(masses.shape)}")
        masses = masses.masked_fill(~self.mask, 0.0)
        total = masses.detach().sum(1)
        if not bool((masses.isfinite() & (masses >= 0)).all()) or not bool((total > 0).all()):
            raise DdeqError("masses must be finite, none negative, not all zero in a cloud")
        object.__setattr__(self, "masses", masses / masses.sum(1, keepdim=True))

    @classmethod
    def from_lists(
        cls, clouds: Sequence[Tensor | np.ndarray], masses: Sequence[Tensor | np.ndarray]
    ) -> WeightedClouds:
        """Pads clouds ``(N_i, d)`` of any sizes, with masses ``(N_i,)``, into one batch."""
        plain = PointClouds.from_list(clouds)
        rows = [torch.as_tensor(part, dtype=plain.points.dtype) for part in masses]
        if [tuple(row.shape) for row in rows] != [(int(n),) for n in plain.lengths]:
            raise DdeqError("masses must be one number per point of each cloud")
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return cls(plain.points, plain.mask, padded.to(plain.points.device))

    @property
    def weights(self) -> Tensor:
        """Mass of each point, 0 at padding, ``(B, N)``."""
        return self.masses

    def per_mass(self, gradient: Tensor) -> Tensor:
        """Derivatives by the points, divided by their masses; zero for a point without mass."""
        masses = self.masses[..., None]
        return torch.where(masses > 0, gradient / torch.where(masses > 0, masses, 1.0), 0.0)

    def fresh(self, points: Tensor | None = None) -> WeightedClouds:
        """See :meth:`PointClouds.fresh`."""
        return self._with(super().fresh(points), self.masses.detach().clone())

    def __getitem__(self, index: int | slice | Sequence[int] | Tensor) -> WeightedClouds:
        index = [index] if isinstance(index, int) else index
        return self._with(super().__getitem__(index), self.masses[index])

    def to(self, *args: Any, **kwargs: Any) -> WeightedClouds:
        """Moves and casts points and masses."""
        return self._with(super().to(*args, **kwargs), self.masses.to(*args, **kwargs))

    def detach(self) -> WeightedClouds:
        """The same clouds, cut from the autograd graph."""
        return self._with(super().detach(), self.masses.detach())

    def with_points(self, points: Tensor) -> WeightedClouds:
        """The same masses at other points ``(B, N, p)``."""
        return self._with(super().with_points(points), self.masses)

    def cat(self, other: PointClouds) -> PointClouds:
        """Refused: it is not said how the masses of both add up."""
        raise DdeqError("clouds with masses cannot be joined: say how their masses add up")

    @classmethod
    def _with(cls, clouds: PointClouds, masses: Tensor) -> WeightedClouds:
        """Clouds that are checked already, with masses that sum to one."""
        made = object.__new__(cls)
        for name, value in (("points", clouds.points), ("mask", clouds.mask), ("masses", masses)):
            object.__setattr__(made, name, value)
        return made


def equal_masses(clouds: PointClouds, what: str) -> None:
    """Refuses clouds with masses of their own in one line."""
    if isinstance(clouds, WeightedClouds):
        raise DdeqError(f"{what} needs points of equal mass: repeat points in place of weights")
