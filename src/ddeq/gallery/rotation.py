"""The flow whose target is a rotation of itself: ``mu -> 1/2 MMD^2(mu, R#mu)``.

A measure that a rotation ``R`` by ``2 pi / n`` leaves alone is a fixed point, and there are many:
the flow finds patterns with ``n``-fold symmetry. Particles gather in orbits of ``n`` around the
origin; those left over when ``n`` does not divide their number go to the origin itself.

Two things stand between a flow of finite length and perfect symmetry:

- A tremor. With the Riesz kernel (exponent 1) a particle is pulled by a force of ``1/N`` by each
  particle of the target, however near, so it rocks about its place by a few ``eta_k / N``. At step
  2000 of the paper's schedule ``10 * 0.999^2000 / 80 = 0.017``, in a pattern of radius 17.
- Rings that are not made of orbits, 7 or 15 or 17 particles for ``n = 8``. They shrink to the
  origin, but slowly, and the decay of the step size may freeze them on the way. With ``n = 8``, 80
  or 100 particles and the paper's schedule that befell 5 of 16 seeds; with ``n = 5`` none of 80. A
  slower decay (0.9995, and 4000 steps) let 4 of those 5 finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import MMD
from ddeq.measures.kernels import Kernel, Riesz
from ddeq.solvers import WassersteinFlow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RotationFlow", "figure", "rotation", "rotation_flow"]

PARTICLES = 80
"""Not given by the paper. 5 and 8 divide 80, and the orbits are many but can be told apart."""

_MEAN = (-10.0, 0.0)
_VARIANCE = (1.0, 12.0)
_SHOWN = (0.0, 0.005, 0.025, 0.1, 0.5, 1.0)  # of the flow: steps 0/10/50/200/1000/2000 of 2000


@dataclass(frozen=True, eq=False)
class RotationFlow:
    """A flow towards its own rotation.

    Attributes:
        turn: The rotation is by ``2 pi / turn``.
        iterates: ``z_0, ..., z_steps``, ``(steps + 1, N, 2)``.
        residuals: ``MMD^2(z_k, R z_k)``, ``(steps + 1,)``.
    """

    turn: float
    iterates: np.ndarray
    residuals: np.ndarray

    @property
    def snapshots(self) -> dict[int, np.ndarray]:
        """Six iterates by step: those of the paper, or of the same share of a flow's length."""
        steps = len(self.iterates) - 1
        return {k: self.iterates[k] for k in (round(share * steps) for share in _SHOWN)}

    @property
    def image(self) -> np.ndarray:
        """The last iterate rotated, ``(N, 2)``."""
        return self.iterates[-1] @ rotation(self.turn).T

    @property
    def relative_residual(self) -> float:
        """``MMD^2(z, R z)`` at the end by that at the start: how far from a fixed point."""
        first, last = float(self.residuals[0]), float(self.residuals[-1])
        return last / first if first > 0 else 0.0

    @property
    def asymmetry(self) -> float:
        """Largest distance of a particle from the rotated cloud, and back, by the cloud's radius.

        The Hausdorff distance of ``z`` and ``R z`` over ``max_i ||z_i||``; 0 is perfect symmetry.
        """
        last = self.iterates[-1]
        gaps = np.linalg.norm(last[:, None] - self.image[None], axis=2)
        radius = float(np.linalg.norm(last, axis=1).max())
        return max(float(gaps.min(0).max()), float(gaps.min(1).max())) / max(radius, 1e-300)


def rotation(turn: float) -> np.ndarray:
    """The rotation of the plane by ``2 pi / turn`` around the origin, ``(2, 2)``."""
    if not math.isfinite(turn) or turn == 0:
        raise ValueError(f"turn must be a number other than 0, got {turn}")
    angle = 2.0 * math.pi / turn
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, -sine], [sine, cosine]])


def rotation_flow(
    turn: float = 5,
    particles: int = PARTICLES,
    steps: int = 2000,
    step_size: float = 10.0,
    decay: float = 0.999,
    kernel: Kernel | None = None,
    seed: int = 0,
    on_step: Callable[[], object] | None = None,
) -> RotationFlow:
    """Runs the flow from ``N((-10, 0), diag(1, 12))``; the defaults are the paper's.

    Only the number of particles is not from the paper, which does not give it.

    Args:
        turn: The rotation is by ``2 pi / turn``; any number but 0.
        particles: ``N``.
        steps: How many steps.
        step_size: ``eta``.
        decay: ``eta_k = eta * decay^k``.
        kernel: Kernel of the MMD, ``Riesz()`` by default.
        seed: Of the initial particles.
        on_step: Called once a step, to report progress.

    Raises:
        ValueError: for an option out of range, or a flow that leaves the finite numbers.

    Example:
        >>> flow = rotation_flow(turn=4, particles=8, steps=50)
        >>> flow.iterates.shape, list(flow.snapshots)
        ((51, 8, 2), [0, 1, 5, 25, 50])
    """
    if particles < 1 or steps < 1:
        raise ValueError(f"particles and steps must be at least 1, got {particles} and {steps}")
    matrix = torch.from_numpy(rotation(turn))

    def turned(z: PointClouds) -> PointClouds:
        if on_step is not None:
            on_step()
        return z.map(lambda points: points @ matrix.T)

    solver = WassersteinFlow(
        max_steps=steps + 1,  # the last one evaluates the last iterate
        tol=0.0,
        divergence=MMD(Riesz() if kernel is None else kernel),
        step_size=step_size,
        decay=decay,
    )
    solution = solver.solve(turned, _start(particles, seed), save_every=1)
    if bool(solution.failed.any()) or not bool(solution.residuals.isfinite().all()):
        raise ValueError(f"the flow diverged: take a smaller step size than {step_size:g}")
    saved = np.stack([z.points[0].numpy() for z in solution.trajectory[:-1]])
    # a residual of exactly 0 ends the solve: from there on nothing moves
    reached = np.minimum(np.arange(steps + 1), len(saved) - 1)
    return RotationFlow(turn, saved[reached], solution.residuals[:, 0].numpy()[reached])


def figure(*flows: RotationFlow) -> Figure:
    """The paper's figure, a row a flow: six snapshots, and the last one rotated, in red."""
    from ddeq.viz import drawing

    if not flows:
        raise ValueError("a figure needs at least one flow")
    columns = 1 + max(len(flow.snapshots) for flow in flows)
    picture, axes = drawing.panels(len(flows), columns)
    for flow, line in zip(flows, axes, strict=True):
        for ax, (step, points) in zip(line, flow.snapshots.items(), strict=False):
            drawing.scatter(ax, points, drawing.RESULT if step else drawing.FREE, f"step {step}")
        drawing.scatter(line[-1], flow.image, drawing.ROTATED, "last, rotated")
        drawing.frame(line, [*flow.snapshots.values(), flow.image])
        line[0].set_ylabel(f"2π/{flow.turn:g}", fontsize=9, color=drawing.TEXT)
    return picture


def _start(particles: int, seed: int) -> PointClouds:
    """Initial particles in float64, ``(1, N, 2)``."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(1, particles, 2, generator=generator, dtype=torch.float64)
    deviation = torch.tensor(_VARIANCE, dtype=torch.float64).sqrt()
    return PointClouds.from_tensor(torch.tensor(_MEAN, dtype=torch.float64) + noise * deviation)
