"""Solvers of ``z = F(z)`` as a measure, one per file, behind one interface."""

from ddeq.registry import import_all
from ddeq.solvers.anderson import Anderson
from ddeq.solvers.base import Map, Solver, Step
from ddeq.solvers.broyden import Broyden
from ddeq.solvers.chain import Chain
from ddeq.solvers.flow import WassersteinFlow
from ddeq.solvers.free import FreeParticles
from ddeq.solvers.picard import Picard
from ddeq.solvers.sobolev import SobolevFlow
from ddeq.solvers.transport import Transport
from ddeq.solvers.tuning_free import TuningFreeFlow
from ddeq.solvers.weiszfeld import Weiszfeld

__all__ = [
    "Anderson",
    "Broyden",
    "Chain",
    "FreeParticles",
    "Map",
    "Picard",
    "SobolevFlow",
    "Solver",
    "Step",
    "Transport",
    "TuningFreeFlow",
    "WassersteinFlow",
    "Weiszfeld",
]

import_all(__name__)  # a new one is a new file in this folder
