"""What ``ddeq bench`` measures, one section a file, on one machine in one run.

Each section has ``run(settings, track) -> dict`` (JSON values only) and ``table(result) -> str``.
"""

from ddeq.bench.settings import FULL, QUICK, Settings, Track, untracked

__all__ = ["FULL", "QUICK", "SECTIONS", "Settings", "Track", "untracked"]

SECTIONS = ("step", "convergence", "growth", "baselines")
"""Each is a module of this package."""
