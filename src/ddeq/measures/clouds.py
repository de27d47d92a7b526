"""Batches of point clouds, read as empirical measures.

A cloud of ``N`` points is the measure ``mu = 1/N sum_i delta_{x_i}``. A batch holds clouds of
different sizes in one padded tensor together with a mask. The mask alone says what is a point:
a row of zeros is a point at the origin unless the mask calls it padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["Normalization", "PointClouds"]


@dataclass(frozen=True, eq=False)
class PointClouds:
    """A padded batch of ``B`` clouds with at most ``N`` points in ``R^d``.

    Attributes:
        points: The points, padding rows are zero, ``(B, N, d)``.
        mask: True at points, False at padding, ``(B, N)``.

    Example:
        >>> x = PointClouds.from_list([torch.zeros(3, 2), torch.ones(1, 2)])
        >>> x.points.shape, x.lengths.tolist()
        (torch.Size([2, 3, 2]), [3, 1])
        >>> [len(cloud) for cloud in x.to_list()]
        [3, 1]
    """

    points: Tensor
    mask: Tensor

    def __post_init__(self) -> None:
        if self.points.dim() != 3:
            raise ValueError(f"points must be (B, N, d), got shape {tuple(self.points.shape)}")
        if self.points.is_complex():
            raise ValueError("points must be real numbers, these are complex")
        if self.mask.dtype != torch.bool or self.mask.shape != self.points.shape[:2]:
            raise ValueError(
                f"mask must be bool of shape {tuple(self.points.shape[:2])}, "
                f"got {self.mask.dtype} of shape {tuple(self.mask.shape)}"
            )
        # what stands in padding, NaN say, must not reach results; a compiled graph cannot ask
        if torch.compiler.is_compiling() or not bool(self.mask.all()):
            points = self.points.masked_fill(~self.mask[..., None], 0)
            object.__setattr__(self, "points", points)

    @classmethod
    def _clean(cls, points: Tensor, mask: Tensor) -> PointClouds:
        """A batch whose padding is known to be zero: nothing is checked or copied."""
        clouds = object.__new__(cls)
        object.__setattr__(clouds, "points", points)
        object.__setattr__(clouds, "mask", mask)
        return clouds

    @classmethod
    def from_list(cls, clouds: Sequence[Tensor | np.ndarray]) -> PointClouds:
        """Pads clouds of any sizes into one batch.

        Args:
            clouds: ``B`` tensors or arrays, each ``(N_i, d)`` with ``N_i >= 1`` and one ``d``.

        Raises:
            ValueError: for an empty list, or naming the cloud that is empty, not ``(N, d)``,
                not finite, or of another dimension, dtype or device than the first.
        """
        if len(clouds) == 0:
            raise ValueError("a batch needs at least one cloud, got an empty list")
        tensors = [_checked(cloud, i) for i, cloud in enumerate(clouds)]
        first = tensors[0]
        for i, cloud in enumerate(tensors):
            if cloud.shape[1] != first.shape[1]:
                raise ValueError(
                    f"cloud {i} has dimension {cloud.shape[1]}, cloud 0 has {first.shape[1]}"
                )
            if cloud.dtype != first.dtype or cloud.device != first.device:
                raise ValueError(
                    f"cloud {i} is {cloud.dtype} on {cloud.device}, "
                    f"cloud 0 is {first.dtype} on {first.device}"
                )
        points = torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)
        lengths = torch.tensor([len(cloud) for cloud in tensors], device=first.device)
        return PointClouds._clean(points, length_mask(lengths, points.shape[1]))

    @classmethod
    def from_tensor(cls, points: Tensor) -> PointClouds:
        """A batch without padding: every row of ``points``, ``(B, N, d)``, is a point."""
        return cls(points, points.new_ones(points.shape[:2], dtype=torch.bool))

    def to_list(self) -> list[Tensor]:
        """The clouds without padding, ``B`` tensors ``(N_i, d)``."""
        return [cloud[mask] for cloud, mask in zip(self.points, self.mask, strict=True)]

    def __len__(self) -> int:
        return self.points.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.to_list())

    def __getitem__(self, index: int | slice | Sequence[int] | Tensor) -> PointClouds:
        """The clouds at ``index`` as a batch (an integer gives a batch of one)."""
        if isinstance(index, int):
            index = [index]
        return PointClouds._clean(self.points[index], self.mask[index])

    @property
    def lengths(self) -> Tensor:
        """Number of points of each cloud, ``(B,)``."""
        return self.mask.sum(1)

    @property
    def dim(self) -> int:
        """Dimension ``d`` of the space the points live in."""
        return self.points.shape[2]

    @property
    def weights(self) -> Tensor:
        """Mass of each point: ``1 / N_i`` at points, 0 at padding, ``(B, N)``."""
        mask = self.mask.to(self.points.dtype)
        return mask / mask.sum(1, keepdim=True).clamp(min=1)  # no particles, no mass

    def to(self, *args: Any, **kwargs: Any) -> PointClouds:
        """Moves and casts as :meth:`torch.Tensor.to` does; the mask stays boolean."""
        points = self.points.to(*args, **kwargs)
        return PointClouds._clean(points, self.mask.to(points.device))

    def detach(self) -> PointClouds:
        """The same clouds, cut from the autograd graph."""
        return PointClouds._clean(self.points.detach(), self.mask)

    def fresh(self, points: Tensor | None = None) -> PointClouds:
        """The same clouds, or others in ``points``, in tensors that may enter a graph."""
        points = self.points.detach().clone() if points is None else points
        return PointClouds(points, self.mask.clone())

    def per_mass(self, gradient: Tensor) -> Tensor:
        """``N dG/dz_j`` from ``dG/dz_j``: derivatives by the points over their masses."""
        return gradient * self.lengths[:, None, None]

    def with_points(self, points: Tensor) -> PointClouds:
        """The same mask with other points ``(B, N, p)``; padding rows are set to zero."""
        if points.dim() != 3 or points.shape[:2] != self.mask.shape:
            raise ValueError(
                f"points must be {tuple(self.mask.shape)} + (p,), got shape {tuple(points.shape)}"
            )
        return PointClouds._clean(points.masked_fill(~self.mask[..., None], 0.0), self.mask)

    def map(self, function: Callable[[Tensor], Tensor]) -> PointClouds:
        """Applies a pointwise function ``(B, N, d) -> (B, N, p)``: a push-forward."""
        return self.with_points(function(self.points))

    def cat(self, other: PointClouds) -> PointClouds:
        """Cloud by cloud union, the points of ``self`` first, ``(B, <= N + M, d)``."""
        if len(self) != len(other) or self.dim != other.dim:
            raise ValueError(
                f"cannot join {len(self)} clouds of dimension {self.dim} "
                f"and {len(other)} of dimension {other.dim}"
            )
        if self.points.dtype != other.points.dtype:
            raise ValueError(f"cannot join {self.points.dtype} and {other.points.dtype}")
        points = torch.cat([self.points, other.points], dim=1)
        mask = torch.cat([self.mask, other.mask], dim=1)
        rows = front_rows(mask)
        points = points.gather(1, rows[..., None].expand(-1, -1, self.dim))
        return PointClouds._clean(points, mask.gather(1, rows))

    def mean(self) -> Tensor:
        """Mean of each cloud, ``(B, d)``."""
        mean = torch.einsum("bn,bnd->bd", self.weights, self.points)
        # a second pass removes the rounding of the first, which an offset makes large
        return mean + torch.einsum("bn,bnd->bd", self.weights, self.points - mean[:, None])

    def std(self) -> Tensor:
        """Standard deviation of each coordinate of each cloud, ``(B, d)``."""
        centred = (self.points - self.mean()[:, None]) * self.mask[..., None]
        size = centred.detach().abs().amax(1).clamp(min=torch.finfo(centred.dtype).tiny)
        variance = torch.einsum("bn,bnd->bd", self.weights, (centred / size[:, None]).square())
        flat = variance == 0  # no NaN from the slope of the root at 0
        return size * torch.where(flat, 0.0, torch.where(flat, 1.0, variance).sqrt())

    def normalize(self, proportions: bool = False) -> tuple[PointClouds, Normalization]:
        """Each cloud with zero mean and unit variance per coordinate, and the inverse.

        A flat coordinate, in which all points agree up to rounding, takes the largest scale of the
        others, so that the result does not depend on the unit; the inverse keeps it flat.

        Args:
            proportions: Keep them: one scale for all coordinates of a cloud, such that its mean
                variance is 1.

        Example:
            >>> x = PointClouds.from_list([torch.tensor([[1.0, 5.0], [3.0, 5.0]])])
            >>> y, frame = x.normalize()
            >>> y.points.tolist()
            [[[-1.0, 0.0], [1.0, 0.0]]]
            >>> frame.invert(y).points.tolist()
            [[[1.0, 5.0], [3.0, 5.0]]]
        """
        std = self.std()
        extent = self.points.abs().amax(dim=1)
        flat = std <= 4 * torch.finfo(std.dtype).eps * extent
        scale = std.masked_fill(flat, 0.0)
        largest = scale.amax(1, keepdim=True)
        largest = torch.where(largest > 0, largest, torch.ones_like(largest))
        if proportions:  # relative to the largest, whose square may be beyond the numbers
            scale = largest * (scale / largest).norm(dim=1, keepdim=True) / self.dim**0.5
            scale = scale.expand_as(std)
        scale = torch.where(scale > 0, scale, largest)
        norm = Normalization(self._centre(), scale, flat)
        return norm.apply(self), norm

    def _centre(self) -> Tensor:
        """The mean; where all points agree their value itself, without rounding, ``(B, d)``."""
        away = ~self.mask[..., None]
        high = self.points.masked_fill(away, -torch.inf).amax(1)
        low = self.points.masked_fill(away, torch.inf).amin(1)
        return torch.where(high == low, high, self.mean())


@dataclass(frozen=True, eq=False)
class Normalization:
    """The affine map ``x -> (x - shift) / scale`` of each cloud, and its inverse.

    Attributes:
        shift: ``(B, d)``.
        scale: ``(B, d)``, positive.
        flat: True at coordinates that the inverse sets to ``shift``, whatever they are, ``(B, d)``;
            None for none.
    """

    shift: Tensor
    scale: Tensor
    flat: Tensor | None = None

    def apply(self, x: PointClouds) -> PointClouds:
        """``(x - shift) / scale``."""
        return x.with_points((x.points - self.shift[:, None]) / self.scale[:, None])

    def invert(self, x: PointClouds) -> PointClouds:
        """``x * scale + shift``; ``shift`` at flat coordinates."""
        scale = self.scale if self.flat is None else self.scale.masked_fill(self.flat, 0.0)
        return x.with_points(x.points * scale[:, None] + self.shift[:, None])


def length_mask(lengths: Tensor, size: int) -> Tensor:
    """Mask of the first ``lengths[b]`` of ``size`` rows, ``(B, size)``."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


def front_rows(mask: Tensor) -> Tensor:
    """Indices that bring the rows of a mask to the front, in their order, ``(B, most rows)``.

    Where a cloud has fewer rows than the largest one, indices of other rows follow.
    """
    size = max(int(mask.sum(1).max()), 1)
    return torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)[:, :size]


def _checked(cloud: Tensor | np.ndarray, index: int) -> Tensor:
    """One cloud as a floating tensor ``(N, d)``, or an error that names it."""
    if np.ma.is_masked(cloud):
        raise ValueError(f"cloud {index} has masked values: fill them or leave their points out")
    try:
        if isinstance(cloud, np.ndarray):  # a copy: any strides, byte order and protection
            cloud = np.array(cloud, dtype=cloud.dtype.newbyteorder("="), order="C")
        tensor = torch.as_tensor(cloud)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"cloud {index} is not an array of numbers: {reason}") from error
    if tensor.dim() != 2 or tensor.shape[1] == 0:
        raise ValueError(f"cloud {index} must have shape (N, d), got {tuple(tensor.shape)}")
    if tensor.shape[0] == 0:
        raise ValueError(f"cloud {index} is empty")
    if not tensor.is_floating_point():
        tensor = _floating(tensor, index)
    if not torch.isfinite(tensor).all():
        raise ValueError(f"cloud {index} has NaN or infinite coordinates")
    return tensor


def _floating(tensor: Tensor, index: int) -> Tensor:
    """Integers as floating point numbers, exactly: in the default precision or in double."""
    if tensor.is_complex():
        raise ValueError(f"cloud {index} has complex coordinates")
    for dtype in (torch.get_default_dtype(), torch.float64):
        exact = tensor.to(dtype)
        if torch.equal(exact.to(tensor.dtype), tensor):
            return exact
    raise ValueError(f"cloud {index} has integers that float64 does not hold exactly")
