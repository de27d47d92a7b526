"""A distributional Bellman equation with two rewards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation
from ddeq.measures.clouds import PointClouds

__all__ = ["Bellman"]

_REWARDS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
_STEPS = 60  # of a Monte Carlo return: what is left out is 0.6^60 = 5e-14


@dataclass(frozen=True)
class Bellman(Equation):
    """Joint law of two discounted returns of a walk around four rooms, for each room.

    ``Z(s) = r(s) + gamma Z(S')`` in law, ``S'`` the room after ``s``: the next with probability
    1/2, the same or the one before with 1/4. Room ``s`` pays the vector ``r(s)``, a corner of a
    square. One cloud per room: ``F(z)(s)_i = r(s) + gamma z(s'_i)_parent(i)`` with constant next
    rooms ``s'_i`` in those shares and constant parents. Means and second moments solve linear
    equations over the rooms; Monte Carlo returns give the whole law.

    Attributes:
        gamma: Discount.
    """

    name = "bellman"
    title = "Two returns of a walk"
    tolerance = 0.05

    particles: int = 400
    gamma: float = 0.6

    @property
    def _rewards(self) -> Tensor:
        return torch.tensor(_REWARDS, dtype=torch.float64)

    @property
    def _transition(self) -> Tensor:
        """``P(s' | s)``, ``(4, 4)``."""
        eye = torch.eye(len(_REWARDS), dtype=torch.float64)
        return 0.25 * eye + 0.5 * eye.roll(1, 1) + 0.25 * eye.roll(-1, 1)

    @cached_property
    def _marks(self) -> tuple[Tensor, Tensor]:
        """Next rooms and parents in them, both ``(4, N)``."""
        generator = torch.Generator().manual_seed(self.seed)
        levels = (torch.arange(self.particles, dtype=torch.float64) + 0.5) / self.particles
        rooms = torch.searchsorted(self._transition.cumsum(1), levels.expand(4, -1).contiguous())
        parents = torch.stack(
            [torch.randperm(self.particles, generator=generator) for _ in _REWARDS]
        )
        return rooms.clamp(max=len(_REWARDS) - 1), parents

    @property
    def z0(self) -> PointClouds:
        """A small cloud at the origin for each room, ``(4, N, 2)``."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        shape = (len(_REWARDS), self.particles, 2)
        return PointClouds.from_tensor(
            0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)
        )

    def f(self, z: PointClouds) -> PointClouds:
        """Reward now, and the discounted return from the next room."""
        rooms, parents = self._marks
        return z.with_points(self._rewards[:, None] + self.gamma * z.points[rooms, parents])

    def moments(self) -> tuple[Tensor, Tensor]:
        """The solutions of the linear equations for ``E Z(s)`` and ``E Z(s) Z(s)^T``."""
        reward, transition = self._rewards, self._transition
        eye = torch.eye(len(reward), dtype=reward.dtype)
        mean = torch.linalg.solve(eye - self.gamma * transition, reward)
        later = self.gamma * transition @ mean
        cross = torch.einsum("si,sj->sij", reward, later)
        constant = torch.einsum("si,sj->sij", reward, reward) + cross + cross.transpose(1, 2)
        system = eye - self.gamma**2 * transition
        second = torch.linalg.solve(system, constant.reshape(len(reward), 4)).view(-1, 2, 2)
        return mean, second - torch.einsum("si,sj->sij", mean, mean)

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Monte Carlo returns."""
        generator = torch.Generator().manual_seed(seed)
        room = torch.arange(len(_REWARDS))[:, None].expand(-1, size)
        returns = torch.zeros(*room.shape, 2, dtype=torch.float64)
        for step in range(_STEPS):
            returns += self.gamma**step * self._rewards[room]
            chances = self._transition[room].view(-1, len(_REWARDS))
            room = torch.multinomial(chances, 1, generator=generator).view_as(room)
        return PointClouds.from_tensor(returns)
