"""The limit law of quicksort."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation, cycle
from ddeq.measures.clouds import PointClouds

__all__ = ["Quicksort"]

_LENGTH = 400  # of the lists that are sorted


@dataclass(frozen=True)
class Quicksort(Equation):
    """The comparisons of quicksort, ``(C_n - E C_n) / n`` for long lists (Roesler, 1991).

    With ``U`` uniform on (0, 1), ``Z'`` and ``Z''`` independent copies of ``Z``::

        Z = U Z' + (1 - U) Z'' + 1 + 2 U ln U + 2 (1 - U) ln(1 - U),    E Z = 0

    in law. The density has no formula; the variance is ``7 - 2 pi^2 / 3 = 0.4203``. Particle ``i``
    has a constant ``u_i``, evenly spread over (0, 1), and two parents. Adding a constant to ``Z``
    gives another solution, so ``F`` takes the mean off.
    """

    name = "quicksort"
    title = "Quicksort's limit law"
    tolerance = 0.10

    @cached_property
    def _marks(self) -> tuple[Tensor, Tensor, Tensor]:
        """``u`` ``(N, 1)`` and two parents ``(N,)``."""
        generator = torch.Generator().manual_seed(self.seed)
        u = (torch.arange(self.particles, dtype=torch.float64) + 0.5) / self.particles
        return u[:, None], cycle(self.particles, generator), cycle(self.particles, generator)

    @property
    def z0(self) -> PointClouds:
        """Uniform on (-3, 3), ``(1, N, 1)``."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        points = torch.rand(1, self.particles, 1, generator=generator, dtype=torch.float64)
        return PointClouds.from_tensor(6 * points - 3)

    def f(self, z: PointClouds) -> PointClouds:
        """The two parts of the list and the cost of parting it."""
        u, first, second = self._marks
        cost = 1 + 2 * u * u.log() + 2 * (1 - u) * (1 - u).log()
        points = u * z.points[:, first] + (1 - u) * z.points[:, second] + cost
        return z.with_points(points - points.mean(1, keepdim=True))

    def moments(self) -> tuple[Tensor, Tensor]:
        """0 and ``7 - 2 pi^2 / 3``."""
        variance = torch.full((1, 1, 1), 7 - 2 * math.pi**2 / 3, dtype=torch.float64)
        return variance.new_zeros(1, 1), variance

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Comparisons of quicksort itself on lists of 400, centred and by 400.

        ``C_n = n - 1 + C_J + C'_{n-1-J}`` with ``J`` uniform on ``0..n-1``, for many lists at once.
        """
        generator = torch.Generator().manual_seed(seed)
        counts = torch.zeros(_LENGTH + 1, size, dtype=torch.float64)
        for n in range(2, _LENGTH + 1):
            left = torch.randint(n, (size,), generator=generator)
            lists = torch.randint(size, (2, size), generator=generator)
            counts[n] = n - 1 + counts[left, lists[0]] + counts[n - 1 - left, lists[1]]
        harmonic = sum(1 / k for k in range(1, _LENGTH + 1))
        expected = 2 * (_LENGTH + 1) * harmonic - 4 * _LENGTH
        return PointClouds.from_tensor(((counts[-1] - expected) / _LENGTH)[None, :, None])
