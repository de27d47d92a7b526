"""Fixed particles: a map of all particles as a map of those that may move."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds, front_rows, length_mask
from ddeq.measures.weighted import equal_masses
from ddeq.solvers.solution import Solution

__all__ = ["FreeParticles"]


class FreeParticles:
    """``g(z) = F(fixed + z)`` at the free rows: what a solver solves when some particles stay.

    Fixed particles cancel from the objective of an MMD,
    ``MMD^2(fixed + z, fixed + y) = (n_free / N)^2 MMD^2(z, y)``, so a solver need not know of them.
    A network that takes its fixed particles apart (``ddeq.nn``) does the same at less cost.

    Args:
        f: ``F``, a map of all particles.
        z: Where all particles stand, ``(B, N, p)``.
        free: True at those that may move, ``(B, N)``.

    Attributes:
        start: The free particles of ``z``, packed to the front, ``(B, <= N, p)``.
        fixed_counts: How many particles of each cloud are fixed, ``(B,)``.

    Example:
        >>> from ddeq.solvers import Picard
        >>> z = PointClouds.from_tensor(torch.tensor([[[0.0], [4.0]]]))
        >>> g = FreeParticles(
        ...     lambda z: z.map(lambda p: p.mean(1, keepdim=True).expand_as(p)),
        ...     z,
        ...     torch.tensor([[False, True]]),
        ... )
        >>> solution = g.embed(Picard(tol=1e-8).solve(g, g.start))
        >>> solution.value.points.flatten().round(decimals=5).tolist()
        [0.0, 0.0]
    """

    def __init__(self, f: Any, z: PointClouds, free: Tensor) -> None:
        if free.dtype != torch.bool or free.shape != z.mask.shape:
            raise ValueError(f"free must be bool of shape {tuple(z.mask.shape)}")
        equal_masses(z, "a solve for some of the particles")
        # Inference tensors cannot enter the graph that a flow needs: leave that mode.
        with torch.inference_mode(False), torch.no_grad():
            self.f, self.z = f, PointClouds(z.points.detach().clone(), z.mask.clone())
            free = free.clone() & self.z.mask
            count = free.sum(1)
            self.fixed_counts = self.z.lengths - count
            self.rows = front_rows(free)
            self.start = self._gather(self.z.points, length_mask(count, self.rows.shape[1]))
        if hasattr(f, "select"):  # only then can clouds leave the batch
            self.select = self._select

    def __call__(self, z: PointClouds) -> PointClouds:
        """``g(z)``."""
        return self._gather(self.f(self._scatter(z)).points, z.mask)

    def _select(self, index: Tensor) -> FreeParticles:
        """The same map for some clouds of the batch."""
        part = copy.copy(self)  # rows keep their width: that of the particles being solved for
        part.f, part.z, part.rows = self.f.select(index), self.z[index], self.rows[index]
        part.start, part.fixed_counts = self.start[index], self.fixed_counts[index]
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
        return PointClouds(points.gather(1, rows), mask)

    def _scatter(self, z: PointClouds) -> PointClouds:
        rows = self.rows[..., None].expand(-1, -1, z.dim)
        kept = torch.where(z.mask[..., None], z.points, self.z.points.gather(1, rows))
        return PointClouds(self.z.points.scatter(1, rows, kept), self.z.mask)
