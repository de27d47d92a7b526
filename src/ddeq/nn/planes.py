"""A cloud as pictures: its measure projected to planes, and read by convolutions."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.nn.base import full_precision
from ddeq.nn.config import Planes

__all__ = ["PlaneEncoder", "plane_pictures"]


def plane_pictures(x: PointClouds, size: int, reach: float, turns: int = 1) -> Tensor:
    """The measure of each cloud on each coordinate plane, and on more upright ones, as pictures.

    Point ``x_i`` of mass ``1 / N`` is shared by the four cells around its projection ``q_i`` with
    the bilinear weights ``w_ic``. A picture has the channels::

        density_c = log(1 + size sum_i w_ic / N)
        front_c   = max over i near c of (1 + x_i . n / reach) / 2,  0 in empty cells
        back_c    = max over i near c of (1 - x_i . n / reach) / 2

    the last two for each axis ``n`` that is not in the plane: none in two dimensions. Near ``c``
    are the points of which it is one of the four cells. Points outside stand at the edge.

    Args:
        x: ``B`` clouds in ``R^d``, ``d >= 2``, about centred.
        size: Cells along an axis.
        reach: The pictures show ``[-reach, reach]^2``.
        turns: 3-D clouds are turned about z by the angles ``90 j / turns`` degrees, ``j < turns``,
            and each gives its two upright planes; the horizontal one is that of the first.

    Returns:
        ``(B, planes, 1 + 2 (d - 2), size, size)``, see :func:`plane_count`.
    """
    pictures = []
    for j in range(turns):
        pairs = [list(pair) for pair in combinations(range(x.dim), 2)]
        if j:
            pairs = [pair for pair in pairs if 2 in pair]
        points = x.points if j == 0 else _turned(x.points, math.pi / 2 * j / turns)
        pictures += _of_cloud(x, points / reach, pairs, size)
    return torch.stack(pictures, 1)


def plane_count(dim: int, turns: int) -> int:
    """Planes of a cloud in ``R^d``: ``d (d - 1) / 2``, and two for each further turn."""
    return dim * (dim - 1) // 2 + 2 * (turns - 1)


def _turned(points: Tensor, angle: float) -> Tensor:
    a, b, z = points.unbind(-1)
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.stack([cos * a - sin * b, sin * a + cos * b, z], -1)


def _of_cloud(x: PointClouds, points: Tensor, pairs: list[list[int]], size: int) -> list[Tensor]:
    """Pictures of points in ``[-1, 1]^d`` on the planes of pairs of axes."""
    cells = ((points + 1) * (size / 2) - 0.5).clamp(0.0, size - 1 - 1e-3)
    corner = cells.detach().floor()
    part = cells - corner  # (B, N, d), in [0, 1)
    below = corner.long()
    height = (points.clamp(-1.0, 1.0) + 1) / 2
    return [
        _picture(x, below[..., pair], part[..., pair], height[..., other], size)
        for pair in pairs
        for other in [[k for k in range(x.dim) if k not in pair]]
    ]


def _picture(x: PointClouds, below: Tensor, part: Tensor, height: Tensor, size: int) -> Tensor:
    """The channels of one plane, ``(B, C, size, size)``."""
    a, b = part.unbind(-1)
    first = below[..., 1] * size + below[..., 0]  # row: the second axis of the plane
    cells = torch.cat([first, first + 1, first + size, first + size + 1], 1)  # (B, 4 N)
    shares = torch.cat([(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b], 1)
    empty = shares.new_zeros(len(x), size * size)
    mass = empty.scatter_add(1, cells, shares * x.weights.repeat(1, 4))
    channels = [torch.log1p(size * mass)]
    for axis in height.unbind(-1):
        for side in (axis, 1 - axis):
            seen = (side * x.mask).repeat(1, 4)
            channels.append(empty.scatter_reduce(1, cells, seen, "amax"))
    return torch.stack(channels, 1).unflatten(2, (size, size))


class Block(nn.Module):
    """``x + conv(relu(norm(conv(relu(norm(x))))))``, the first convolution with a stride.

    Where the stride or the width changes, ``x`` is averaged and mapped to the new width.

    Args:
        inputs: Channels in.
        outputs: Channels out.
        stride: Of the first convolution.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.norm, self.inner_norm = _norm(inputs), _norm(outputs)
        self.inner = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.outer = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        changed = stride > 1 or inputs != outputs
        self.skip = nn.Conv2d(inputs, outputs, 1, bias=False) if changed else None

    def forward(self, x: Tensor) -> Tensor:
        """``(B, inputs, H, W) -> (B, outputs, H / stride, W / stride)``."""
        hidden = F.relu(self.norm(x))
        if self.skip is not None:
            shrunk = F.avg_pool2d(hidden, self.stride) if self.stride > 1 else hidden
            x = self.skip(shrunk)
        return x + self.outer(F.relu(self.inner_norm(self.inner(hidden))))


class PlaneEncoder(nn.Module):
    """Pictures of a cloud, read by one residual network of convolutions for all planes.

    The pictures are integrals and maxima over the measure, so they do not depend on the order of
    the points. SimpleView (Goyal et al., 2021) recognises shapes in such pictures; here each cell
    of the last level becomes a token that the equilibrium attends to.

    Args:
        dim: ``d``, dimension of the points.
        planes: Size of the pictures and widths of the levels.
    """

    def __init__(self, dim: int, planes: Planes) -> None:
        super().__init__()
        if dim < 2:
            raise DdeqError(f"planes need points in 2 dimensions or more, got {dim}")
        if planes.turns > 1 and dim != 3:
            raise DdeqError(f"planes.turns needs points in 3 dimensions, got {dim}")
        self.planes, widths = planes, planes.widths
        self.stem = nn.Conv2d(1 + 2 * (dim - 2), widths[0], 3, planes.stride, 1, bias=False)
        levels = pairwise((widths[0], *widths))
        steps: list[tuple[int, int, int]] = []
        for (a, b), count in zip(levels, planes.blocks or (1,) * len(widths), strict=True):
            steps += [(a, b, 2 if steps else 1), *[(b, b, 1)] * (count - 1)]
        self.blocks = nn.Sequential(*(Block(*step) for step in steps))
        self.norm = _norm(widths[-1])
        side = planes.side
        count = plane_count(dim, planes.turns)
        self.where = nn.Parameter(0.1 * torch.randn(count, side * side, widths[-1]))

    def forward(self, x: PointClouds) -> PointClouds:
        """``(B, N, d) -> (B, planes * side^2, widths[-1])``."""
        planes = self.planes
        with full_precision(x.points):
            pictures = plane_pictures(x, planes.size, planes.reach, planes.turns)
        flat = pictures.flatten(0, 1).contiguous(memory_format=torch.channels_last)
        seen = self.norm(self.blocks(self.stem(flat)))  # (B * planes, c, side, side)
        tokens = seen.flatten(2).transpose(1, 2).unflatten(0, (len(x), -1)) + self.where
        points = tokens.flatten(1, 2)
        return PointClouds(points, points.new_ones(points.shape[:2], dtype=torch.bool))


def _norm(channels: int) -> nn.GroupNorm:
    """Of groups of 8 channels: of one cloud alone, unlike a normalisation of the batch."""
    return nn.GroupNorm(max(1, channels // 8), channels)
