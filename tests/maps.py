"""Maps with known equilibria, small networks, and every solver by name."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq import PointClouds, solvers
from ddeq.nn import Network
from ddeq.registry import known

CHOSEN = {
    "flow": solvers.WassersteinFlow(step_size=0.5),
    "flow-momentum": solvers.WassersteinFlow(step_size=0.2, momentum=0.7),
    "flow-adaptive": solvers.WassersteinFlow(step_size=1.0, momentum=0.5, adaptive=True),
    "flow-decay": solvers.WassersteinFlow(step_size=1.0, decay=0.9),
    "picard": solvers.Picard(),
    "picard-damped": solvers.Picard(damping=0.6),
    "anderson": solvers.Anderson(),
    "anderson-damped": solvers.Anderson(damping=0.7, window=3),
    "anderson-weiszfeld": solvers.Anderson(of=solvers.Weiszfeld()),
    "anderson-transport": solvers.Anderson(of=solvers.Transport()),
    "broyden": solvers.Broyden(),
    "chain": solvers.Chain(solvers.Weiszfeld(2), solvers.Picard()),
    "weiszfeld": solvers.Weiszfeld(),
}
# a new solver is tested as it comes, without an entry above
SOLVERS = CHOSEN | {
    name.lower(): cls()
    for name, cls in known(solvers.Solver).items()
    if "." not in name and cls not in map(type, CHOSEN.values())
}
SMALL = {"features": 8, "bilinear": 4, "head_size": 4}


@dataclass(frozen=True)
class Affine:
    """``F(z)_i = rate (z_i a + mean(z) b) + shift``: equivariant, and a contraction.

    Its only fixed measure is a Dirac at the solution of ``z = rate z (a + b) + shift``.
    """

    rate: Tensor  # (B,)
    shift: Tensor  # (B, p)
    a: Tensor  # (p, p)
    b: Tensor  # (p, p)

    @classmethod
    def random(cls, rates, dim: int, dtype=torch.float64) -> Affine:
        rate = torch.tensor(rates, dtype=dtype)
        a, b = (torch.linalg.qr(torch.randn(dim, dim, dtype=dtype))[0] / 2 for _ in range(2))
        return cls(rate, torch.randn(len(rate), dim, dtype=dtype), a, b)

    def __call__(self, z: PointClouds) -> PointClouds:
        image = z.points @ self.a + (z.mean() @ self.b)[:, None]
        return z.with_points(self.rate[:, None, None] * image + self.shift[:, None])

    def select(self, index: Tensor) -> Affine:
        return Affine(self.rate[index], self.shift[index], self.a, self.b)

    @property
    def equilibrium(self) -> Tensor:
        """Where all particles meet, ``(B, p)``."""
        eye = torch.eye(len(self.a), dtype=self.a.dtype)
        matrix = eye - self.rate[:, None, None] * (self.a + self.b)
        return torch.linalg.solve(matrix.transpose(1, 2), self.shift)


def small_network(dim: int = 2, dtype=torch.float64, seed: int = 0, **options):
    """A small equilibrium network in evaluation mode."""
    torch.manual_seed(seed)
    network = Network(**{**SMALL, "cross_layers": 1, **options}).build(dim)
    return network.to(dtype).eval().requires_grad_(False)


def solve_free(solver, f, z0, free, **options):
    """Solves for the free particles of ``z0`` alone, for all of them if ``free`` is None."""
    if free is None:
        return solver.solve(f, z0, **options)
    g = solvers.FreeParticles(f, z0, free)
    return g.embed(solver.solve(g, g.start, **options))


def without_select(f):
    """The same map as a plain function: finished clouds cannot leave the batch."""
    return lambda z: f(z)


def relative_gap(a: Tensor, b: Tensor) -> float:
    """Largest difference in units of the largest value."""
    a, b = a.detach(), b.detach()
    return float((a - b).abs().max() / b.abs().max().clamp(min=1e-300))


def widened(x: PointClouds, rows: int) -> PointClouds:
    """The same clouds with more padding."""
    points = torch.nn.functional.pad(x.points, (0, 0, 0, rows))
    return PointClouds(points, torch.nn.functional.pad(x.mask, (0, rows)))


def shuffled(x: PointClouds, seed: int) -> tuple[PointClouds, list[Tensor]]:
    """The same clouds with their points in another order, and the orders."""
    generator = torch.Generator().manual_seed(seed)
    orders = [torch.randperm(int(n), generator=generator) for n in x.lengths]
    return PointClouds.from_list([c[o] for c, o in zip(x, orders, strict=True)]), orders


class _Token:
    """Something whose life can be watched."""


ALIVE: weakref.WeakSet = weakref.WeakSet()  # tokens of the graph nodes that still exist


class Tracked(torch.autograd.Function):
    """The identity; its graph node holds a token."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.token = _Token()
        ALIVE.add(ctx.token)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return gradient
