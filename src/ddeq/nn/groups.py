"""Groups of neighbours: a cloud is read in levels, each with fewer points that know more."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds, length_mask
from ddeq.nn.config import Groups
from ddeq.nn.layers import MLP

__all__ = ["GroupEncoder", "Neighbours", "farthest_points", "neighbours", "pool"]


@torch.no_grad()
def farthest_points(x: PointClouds, count: int) -> Tensor:
    """Farthest-point order: each next point is the farthest from all points before it.

    The first is the one farthest from the mean, and of points that are equally far the first in
    lexicographic order is taken: the order depends on the cloud as a set, on a lattice too. The
    first ``m`` points of the order are the farthest-point sample of size ``m``.

    Args:
        x: ``B`` clouds of at most ``N`` points.
        count: ``n <= N``. A cloud of fewer points has padding at the end of its order.

    Returns:
        Indices of points, ``(B, n)``.
    """
    x = x.with_points(x.points.float())  # what differs by less is equal
    rows = _lexicographic(x)
    points = x.points.gather(1, rows[..., None].expand(-1, -1, x.dim))
    mask = x.mask.gather(1, rows)
    gap = (points - _mean(points, mask)).square().sum(2).masked_fill(~mask, -1.0)
    nearest = torch.full_like(gap, torch.inf).masked_fill(~mask, -1.0)
    axes, last = points.transpose(1, 2).contiguous(), gap.argmax(1, keepdim=True)  # (B, d, N)
    if len(x) == 1 and _has_arrays(axes):
        return rows[:, _walk_of_one(axes[0], nearest[0], int(last), count)]
    order = torch.empty(len(x), count, dtype=torch.long, device=gap.device)
    for i in range(count):
        order[:, i] = last[:, 0]
        here = axes.gather(2, last[:, None].expand(-1, x.dim, -1))
        gap = (axes - here).square_().sum(1)
        nearest = torch.minimum(nearest, gap).scatter_(1, last, -0.5)  # taken; padding is -1
        last = nearest.argmax(1, keepdim=True)
    return rows.gather(1, order)


def _lexicographic(x: PointClouds) -> Tensor:
    """Rows of each cloud in the order of their coordinates, padding last, ``(B, N)``."""
    keys = [*x.points.unbind(-1), (~x.mask).to(x.points)]  # the last one counts most
    rows = torch.arange(x.points.shape[1], device=x.points.device).expand(len(x), -1)
    for key in [*keys[-2::-1], keys[-1]]:
        rows = rows.gather(1, key.gather(1, rows).sort(dim=1, stable=True).indices)
    return rows


def _mean(points: Tensor, mask: Tensor) -> Tensor:
    """Means that padding does not change by a bit, but where there is no float64, ``(B, 1, d)``."""
    wide = points if points.device.type == "mps" else points.double()
    total = (wide * mask[..., None]).sum(1, keepdim=True)
    return (total / mask.sum(1)[:, None, None]).to(points)


def _has_arrays(points: Tensor) -> bool:
    """Whether numpy may look at a tensor as it is."""
    return points.device.type == "cpu" and not torch.compiler.is_compiling()


def _walk_of_one(axes: Tensor, nearest: Tensor, last: int, count: int) -> Tensor:
    """The order of a single cloud, ``(n,)``: numpy spends less on each of the many small steps."""
    line, least = axes.detach().numpy(), nearest.numpy()
    order = np.empty(count, dtype=np.int64)
    for i in range(count):
        order[i] = last
        gap = np.square(line - line[:, last, None]).sum(0)  # to the last bit as in a batch: ties
        np.minimum(least, gap, out=least)
        least[last] = -0.5
        last = int(least.argmax())
    return torch.from_numpy(order)


class Neighbours(NamedTuple):
    """The groups of one level.

    Attributes:
        rows: Rows of the flattened points of the level below, ``(B * n * k,)``.
        offsets: Neighbour minus anchor over the root mean square of the cloud, and the length of
            that, ``(B, n, k, d + 1)``.
        near: True at neighbours, ``(B, n, k)``; None if all are.
        mask: True at anchors, ``(B, n)``.
    """

    rows: Tensor
    offsets: Tensor
    near: Tensor | None
    mask: Tensor


@torch.no_grad()
def neighbours(below: PointClouds, count: int, size: int) -> Neighbours:
    """The ``size`` points of ``below`` nearest to each of its first ``count`` points.

    Args:
        below: Clouds in farthest-point order, padding last, ``(B, m, d)``.
        count: Anchors ``n``.
        size: Neighbours ``k``, the anchor among them.
    """
    anchors = below.points[:, :count]
    gaps = torch.cdist(anchors, below.points, compute_mode="donot_use_mm_for_euclid_dist")
    # a quicker way without padding; a compiled graph cannot ask, and takes the general one
    whole = not torch.compiler.is_compiling() and bool(below.mask.all())
    if not whole:
        gaps = gaps.masked_fill(~below.mask[:, None], torch.inf)
    length, index = _smallest(gaps, min(size, below.points.shape[1]))
    mask = below.mask[:, :count]
    near = None if whole else length.isfinite() & mask[..., None]
    rows = index + below.points.shape[1] * torch.arange(len(below))[:, None, None].to(index)
    rows = rows.flatten()
    away = below.points.flatten(0, 1)[rows].view(*index.shape, -1) - anchors[:, :, None]
    offsets = torch.cat([away, length[..., None]], -1)
    if near is not None:
        offsets = offsets.masked_fill(~near[..., None], 0.0)
    known = below.mask[:, :count].sum(1) if near is None else near.sum((1, 2)) / index.shape[2]
    total = offsets[..., -1].square().sum((1, 2)) / (index.shape[2] * known.clamp(min=1e-6))
    scale = total.sqrt().clamp(min=1e-6)
    return Neighbours(rows, offsets / scale[:, None, None, None], near, mask)


def _smallest(gaps: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The ``size`` smallest of the last axis and where they are; of equal ones the first.

    ``topk`` leaves open which of equal ones it takes. In float64 there is room below the precision
    of float32 for the column, which tells them apart.
    """
    if gaps.device.type == "mps":
        index = gaps.topk(size, largest=False, sorted=False).indices
    else:
        columns = torch.arange(gaps.shape[-1], device=gaps.device, dtype=torch.float64)
        apart = gaps.float().double() * (1.0 + columns * 2.0**-44)
        index = apart.topk(size, largest=False, sorted=False).indices
    return gaps.gather(-1, index), index


class Level(nn.Module):
    """One level: every anchor ``i`` sums up its neighbours ``j`` of the level below.

    With features ``f`` of the level below, normalised, and offsets ``e_ij`` of
    :class:`Neighbours`::

        h_ij = relu(A f_j - B f_i + C e_ij)
        g_i  = D f_i + E [max_j V h_ij, mean_j h_ij]
        out  = g_i + MLP(norm(g_i))

    ``A f`` and ``B f`` are computed point by point before they are gathered: only ``V`` and the
    narrow ``C`` act on pairs.

    Args:
        dim: ``d``, dimension of the points.
        inputs: Features of the level below.
        outputs: Features of this level.
    """

    def __init__(self, dim: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(inputs)
        self.neighbour = nn.Linear(inputs, outputs)
        self.anchor = nn.Linear(inputs, 2 * outputs)
        self.offset = nn.Linear(dim + 1, outputs, bias=False)
        self.pair = nn.Linear(outputs, outputs)
        self.pool = nn.Linear(2 * outputs, outputs)
        self.mlp_norm = nn.LayerNorm(outputs)
        self.mlp = MLP(outputs, 2 * outputs, outputs)

    def forward(self, features: Tensor, groups: Neighbours) -> Tensor:
        """``(B, m, inputs) -> (B, n, outputs)``."""
        count, size = groups.offsets.shape[1:3]
        features = self.norm(features)
        own, skip = self.anchor(features[:, :count]).chunk(2, -1)
        rows = self.neighbour(features).flatten(0, 1).index_select(0, groups.rows)
        pairs = rows.view(-1, count, size, rows.shape[-1]) + self.offset(groups.offsets)
        hidden = F.relu(pairs - own[:, :, None])  # (B, n, k, outputs)
        most, mean = self.pair(hidden), hidden
        if groups.near is None:
            mean = mean.mean(2)
        else:
            far = ~groups.near[..., None]
            most = most.masked_fill(far, -torch.inf)
            most = most.masked_fill(~groups.mask[..., None, None], 0.0)  # padding has no neighbours
            weights = groups.near / groups.near.sum(2, keepdim=True).clamp(min=1)
            mean = torch.einsum("bnk,bnkc->bnc", weights.to(mean), mean)
        pooled = skip + self.pool(torch.cat([most.amax(2), mean], -1))
        return pooled + self.mlp(self.mlp_norm(pooled))


class GroupEncoder(nn.Module):
    """Levels of groups over a cloud, in the manner of PointNet++, PointMLP and SLNet.

    The points of all levels are prefixes of one farthest-point order, computed once.

    Args:
        dim: ``d``, dimension of the points.
        inputs: Features that each point brings along.
        groups: Points and features of the levels, and neighbours of an anchor.
    """

    def __init__(self, dim: int, inputs: int, groups: Groups) -> None:
        super().__init__()
        self.groups, widths = groups, groups.widths
        self.embed = MLP(inputs, widths[0], widths[0])
        pairs = pairwise(widths)
        self.levels = nn.ModuleList(Level(dim, a, b) for a, b in pairs)
        self.tokens = nn.ModuleList(nn.Linear(2 * width, widths[-1]) for width in widths[1:])
        self.norm = nn.LayerNorm(widths[-1])

    def sample(self, x: PointClouds) -> tuple[PointClouds, Tensor]:
        """The points that are looked at, ``(B, n, d)``, and which they are, ``(B, n)``."""
        count = min(self.groups.points[0], x.points.shape[1])
        order = farthest_points(x, count)
        mask = length_mask(x.lengths.clamp(max=count), count)
        points = x.points.gather(1, order[..., None].expand(-1, -1, x.dim))
        return PointClouds(points, mask), order

    def forward(self, features: Tensor, x: PointClouds) -> PointClouds:
        """Encoded points of the last level and a token for each level.

        Args:
            features: Of the sampled points, ``(B, n, inputs)``.
            x: The points of :meth:`sample`.

        Returns:
            ``(B, n_last + levels, widths[-1])``.
        """
        encoded, tokens = self.embed(features), []
        counts = self.groups.points[1:]
        for level, token, count in zip(self.levels, self.tokens, counts, strict=True):
            groups = neighbours(x, count, self.groups.size)
            encoded = cast(Level, level)(encoded, groups)
            x = PointClouds(x.points[:, :count], groups.mask)
            tokens.append(token(pool(encoded, x.mask)))
        encoded = self.norm(torch.cat([encoded, torch.stack(tokens, 1)], 1))
        return PointClouds(encoded, F.pad(x.mask, (0, len(tokens)), value=True))


def pool(features: Tensor, mask: Tensor) -> Tensor:
    """``[max, mean]`` over the points of each cloud, ``(B, n, c), (B, n) -> (B, 2 c)``."""
    most = features.masked_fill(~mask[..., None], -torch.inf).amax(1)
    total = features.masked_fill(~mask[..., None], 0.0).sum(1)
    return torch.cat([most, total / mask.sum(1, keepdim=True)], -1)
