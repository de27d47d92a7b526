"""What an adjoint is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ddeq.measures.clouds import PointClouds
from ddeq.registry import Registered
from ddeq.solvers.base import Map
from ddeq.solvers.solution import Solution

__all__ = ["Adjoint"]


@dataclass(frozen=True)
class Adjoint(Registered, ABC):
    """Attaches an equilibrium to the parameters of its map."""

    @abstractmethod
    def __call__(self, f: Map, solution: Solution) -> PointClouds:
        """The equilibrium, differentiable in what ``f`` depends on."""
