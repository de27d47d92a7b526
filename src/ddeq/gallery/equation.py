"""One interface for equations of measures whose answer is known.

Most equations of the gallery are equalities in law, ``Z = phi(U, Z')`` with ``U`` independent of
``Z'`` and ``Z'`` a copy of ``Z``. A cloud of particles solves one without fresh noise if particle
``i`` keeps a constant mark ``u_i``, a draw of ``U``, and a constant parent ``parent(i)``::

    F(z)_i = phi(u_i, z_parent(i))

Parents form one cycle through all particles, so ``z*_i`` depends on the marks ``u_i``,
``u_parent(i)``, ... as ``Z`` does on independent draws. Were each particle its own parent, ``z*_i``
would be the fixed point of ``phi(u_i, .)``, which has the wrong law: three points for Sierpinski's
triangle.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

import ddeq.gallery
from ddeq.measures.clouds import PointClouds
from ddeq.solvers import Picard, Solver

__all__ = ["Equation", "cycle", "equations", "normal_marks", "symmetric_power"]

_REGISTERED: dict[str, type[Equation]] = {}


@dataclass(frozen=True)
class Equation(ABC):
    """An equation ``z = F(z)`` of measures. A subclass with a ``name`` registers itself.

    Attributes:
        particles: ``N``, in each cloud.
        seed: Of marks, parents and start.
        name: What the equation is called in files and tables.
        title: What it is called in pictures.
        tolerance: The error that the default number of particles stays under at the equilibrium.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tolerance: ClassVar[float]

    particles: int = 1000
    seed: int = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            _REGISTERED[cls.name] = cls

    def __post_init__(self) -> None:
        if self.particles < 2:
            raise ValueError(f"particles must be at least 2, got {self.particles}")

    @property
    def solver(self) -> Solver:
        """A solver that solves it to the last digit the particles have, if not quickly."""
        return Picard(max_steps=200, tol=0.0, damping=0.7)

    @property
    @abstractmethod
    def z0(self) -> PointClouds:
        """Where to start, ``(B, N, p)`` in float64."""

    @abstractmethod
    def f(self, z: PointClouds) -> PointClouds:
        """``F(z)``, deterministic and differentiable."""

    @abstractmethod
    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean ``(B, p)`` and covariance ``(B, p, p)`` of the answer, without particles."""

    @abstractmethod
    def sample(self, size: int, seed: int = 1) -> PointClouds:
        """Draws from the answer by other means than ``F``, ``(B, size, p)``."""

    def error(self, z: PointClouds) -> float:
        """Distance of two moments from the answer's, by the answer's spread; 1 is a collapse.

        ``sqrt((|m - m'|^2 + tr(C + C' - 2 (C'^1/2 C C'^1/2)^1/2)) / tr C')``: the 2-Wasserstein
        distance of the Gaussians with the moments of ``z`` and of the answer. The root mean square
        over the clouds of a batch; infinite for a cloud that is not finite.
        """
        if not bool(z.points.isfinite().all()):
            return float("inf")
        mean, covariance = self.moments()
        centre = z.points.mean(1)
        shifted = z.points - centre[:, None]
        found = shifted.transpose(1, 2) @ shifted / z.points.shape[1]
        root = symmetric_power(covariance, 0.5)
        cross = symmetric_power(root @ found @ root, 0.5)
        gap = (covariance + found - 2 * cross).diagonal(dim1=1, dim2=2).sum(1).clamp(min=0)
        gap = gap + (centre - mean).square().sum(1)
        return float((gap / covariance.diagonal(dim1=1, dim2=2).sum(1)).mean().sqrt())


def equations() -> dict[str, type[Equation]]:
    """All equations of the gallery by name: a new one is a new file in this folder.

    Example:
        >>> sorted(equations())[:2]
        ['barycentre', 'bellman']
    """
    for module in pkgutil.iter_modules(ddeq.gallery.__path__):
        importlib.import_module(f"ddeq.gallery.{module.name}")
    return dict(sorted(_REGISTERED.items()))


def cycle(size: int, generator: torch.Generator) -> Tensor:
    """A random permutation of ``size`` that is a single cycle: each particle's parent."""
    order = torch.randperm(size, generator=generator)
    parents = torch.empty_like(order)
    parents[order] = order.roll(-1)
    return parents


def normal_marks(size: int, dim: int, generator: torch.Generator) -> Tensor:
    """Normal draws with mean exactly 0 and covariance exactly the identity, ``(size, dim)``."""
    draws = torch.randn(size, dim, generator=generator, dtype=torch.float64)
    draws = draws - draws.mean(0)
    return draws @ symmetric_power(draws.T @ draws / size, -0.5)


def symmetric_power(matrix: Tensor, exponent: float) -> Tensor:
    """A power of a symmetric matrix without negative eigenvalues, ``(..., p, p)``."""
    values, vectors = torch.linalg.eigh(matrix)
    scaled = vectors * values.clamp(min=0).pow(exponent)[..., None, :]
    return scaled @ vectors.transpose(-2, -1)
