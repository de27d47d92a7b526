"""Solvers of ``z = F(z)`` as a measure, one a file, behind one interface."""

from ddeq.solvers.anderson import Anderson
from ddeq.solvers.base import Map, Solver, Step
from ddeq.solvers.broyden import Broyden
from ddeq.solvers.flow import WassersteinFlow
from ddeq.solvers.picard import Picard
from ddeq.solvers.weiszfeld import Weiszfeld

__all__ = ["Anderson", "Broyden", "Map", "Picard", "Solver", "Step", "WassersteinFlow", "Weiszfeld"]
