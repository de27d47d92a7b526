"""A mean-field game: paths of people who keep away from the crowd."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ddeq.gallery.equation import Equation, normal_marks
from ddeq.measures.clouds import PointClouds

__all__ = ["MeanFieldGame"]

_GOAL = 2.0
_DEVIATION = 0.5  # of the places where people start


@dataclass(frozen=True)
class MeanFieldGame(Equation):
    """Nash equilibrium of a crowd: nobody gains by another path, all others' paths given.

    A particle is a path ``x = (x_1, ..., x_T)`` at times ``t h``, ``h = 1 / T``, from a place
    ``u ~ N(0, 1/4)``, which is its mark. Against a crowd with the mean path ``m`` it costs::

        J(x) = sum_t ((x_t - x_{t-1})^2 / h - h aversion (x_t - m_t)^2) / 2 + goal (x_T - 2)^2 / 2

    with ``x_0 = u``: haste, nearness to the crowd's mean, and distance to the goal at the end.
    ``F(z)_i`` is the best path of particle ``i`` against the mean path of ``z``; that is
    one linear system, ``H x = u e_1 / h + 2 goal e_T - h aversion m``. A fixed point is an
    equilibrium of the game. With ``P = H^-1`` its mean path solves
    ``(I + h aversion P) m = 2 goal P e_T``, and ``x - m = P e_1 (u - E u) / h``: both are known
    exactly. Along the mean ``F`` *reverses* every excess (people keep away from where others are),
    so plain best replies swing ever wider, by a factor of -1.17, and damped ones settle.

    Attributes:
        steps: ``T``.
        aversion: Weight of the crowd.
        goal: Weight of the goal.
    """

    name = "game"
    title = "Mean-field game"
    tolerance = 1e-6

    particles: int = 400
    steps: int = 20
    aversion: float = 3.2
    goal: float = 3.0

    @cached_property
    def _starts(self) -> Tensor:
        """``u``, ``(N, 1)``, with mean 0 and variance 1/4 exactly."""
        generator = torch.Generator().manual_seed(self.seed)
        return _DEVIATION * normal_marks(self.particles, 1, generator)

    @cached_property
    def _reply(self) -> Tensor:
        """``P = H^-1``, ``(T, T)``: ``H`` is the Hessian of the cost of a path."""
        size = self.steps
        ones = torch.ones(size, dtype=torch.float64)
        hessian = size * (2 * torch.diag(ones) - torch.diag(ones[1:], 1) - torch.diag(ones[1:], -1))
        hessian[-1, -1] = size + self.goal
        return torch.linalg.inv(hessian - self.aversion / size * torch.diag(ones))

    @property
    def z0(self) -> PointClouds:
        """Everybody walks straight to a place of their own, ``(1, N, T)``."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        ends = torch.randn(self.particles, 1, generator=generator, dtype=torch.float64)
        times = torch.arange(1, self.steps + 1, dtype=torch.float64) / self.steps
        return PointClouds.from_tensor((self._starts + times * (ends - self._starts))[None])

    def f(self, z: PointClouds) -> PointClouds:
        """Everybody's best path against the mean path of ``z``."""
        return z.with_points(self._best(self._starts, z.points.mean(1, keepdim=True)))

    def moments(self) -> tuple[Tensor, Tensor]:
        """Of the paths at the equilibrium of the game."""
        eye = torch.eye(self.steps, dtype=torch.float64)
        crowd = self.aversion / self.steps * self._reply
        mean = torch.linalg.solve(eye + crowd, _GOAL * self.goal * self._reply[:, -1])
        decay = self.steps * self._reply[:, 0]
        return mean[None], _DEVIATION**2 * torch.outer(decay, decay)[None]

    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Paths of the equilibrium from other starts."""
        generator = torch.Generator().manual_seed(seed)
        starts = torch.randn(size, 1, generator=generator, dtype=torch.float64)
        paths = self.moments()[0] + _DEVIATION * starts * self.steps * self._reply[:, 0]
        return PointClouds.from_tensor(paths[None])

    def exploitability(self, z: PointClouds) -> float:
        """What a person gains on average by the best path: ``mean_i J(z_i) - min_x J(x)``, >= 0."""
        mean = z.points.mean(1, keepdim=True)
        return float((self._cost(z.points, mean) - self._cost(self.f(z).points, mean)).mean())

    def _best(self, starts: Tensor, mean: Tensor) -> Tensor:
        pull = -self.aversion / self.steps * mean
        pull = pull + self.steps * torch.nn.functional.pad(starts, (0, self.steps - 1))
        pull = pull + _GOAL * self.goal * torch.eye(self.steps, dtype=mean.dtype)[-1]
        return pull @ self._reply

    def _cost(self, paths: Tensor, mean: Tensor) -> Tensor:
        """``J``, ``(B, N)``."""
        whole = torch.cat([self._starts.expand(len(paths), -1, 1), paths], dim=2)
        haste = 0.5 * self.steps * whole.diff(dim=2).square().sum(2)
        crowd = 0.5 * self.aversion / self.steps * (paths - mean).square().sum(2)
        return haste - crowd + 0.5 * self.goal * (paths[..., -1] - _GOAL).square()
