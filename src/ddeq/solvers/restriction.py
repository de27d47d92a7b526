"""Free and fixed particles: a map narrowed to the particles that may move."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds, length_mask
from ddeq.solvers.solution import Solution

__all__ = ["Restriction"]


class Restriction:
    """``g(z_free) = F(z_fixed + z_free)`` at the free rows.

    Fixed particles cancel from ``MMD^2(fix + z, fix + F)``, so a solver need not know of them: it
    solves ``g``. The flow's gradient on the whole cloud is ``n_free / N`` times that of ``g``.

    Attributes:
        start: The free particles of ``z``, packed to the front, ``(B, <= N, p)``.
    """

    def __init__(self, f: Any, z: PointClouds, free: Tensor) -> None:
        if free.dtype != torch.bool or free.shape != z.mask.shape:
            raise ValueError(f"free must be bool of shape {tuple(z.mask.shape)}")
        free = free & z.mask
        self.f, self.z, self.free = f, z, free
        count = free.sum(1)
        size = max(int(count.max()), 1)
        # a stable sort of "not free" lists the free rows first, in their order
        self.rows = torch.argsort((~free).to(torch.uint8), dim=1, stable=True)[:, :size]
        self.start = self._gather(z.points, length_mask(count, size))
        if hasattr(f, "select"):  # only then can clouds leave the batch
            self.select = self._select

    def __call__(self, z: PointClouds) -> PointClouds:
        """``g(z)``."""
        return self._gather(self.f(self._scatter(z)).points, z.mask)

    def _select(self, index: Tensor) -> Restriction:
        """The same map for some clouds of the batch."""
        part = copy.copy(self)  # rows keep their width: that of the particles being solved for
        part.f = self.f.select(index)
        part.z, part.free, part.rows = self.z[index], self.free[index], self.rows[index]
        part.start = self.start[index]
        part.select = part._select
        return part

    def embed(self, solution: Solution) -> Solution:
        """The solution on all particles: fixed rows bit for bit, free rows solved."""
        return replace(
            solution,
            value=self._scatter(solution.value),
            image=self._scatter(solution.image),
            trajectory=tuple(self._scatter(z) for z in solution.trajectory),
        )

    def _gather(self, points: Tensor, mask: Tensor) -> PointClouds:
        rows = self.rows[..., None].expand(-1, -1, points.shape[2])
        return PointClouds(points.gather(1, rows).masked_fill(~mask[..., None], 0.0), mask)

    def _scatter(self, z: PointClouds) -> PointClouds:
        rows = self.rows[..., None].expand(-1, -1, z.dim)
        kept = torch.where(z.mask[..., None], z.points, self.z.points.gather(1, rows))
        return PointClouds(self.z.points.scatter(1, rows, kept), self.z.mask)
