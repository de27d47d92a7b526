"""Is the answer an equilibrium? What a sceptical reader would measure, on any map or model."""

from ddeq.diagnostics.checks import check_equilibrium
from ddeq.diagnostics.problem import Problem, pose
from ddeq.diagnostics.report import Bar, EquilibriumReport
from ddeq.diagnostics.spectrum import spectral_radius

__all__ = [
    "Bar",
    "EquilibriumReport",
    "Problem",
    "check_equilibrium",
    "pose",
    "spectral_radius",
]
