"""Measure equations ``z = F(z)`` to look at, one per file: most with a known answer."""

from ddeq.gallery.equation import Equation, equations

__all__ = ["Equation", "equations"]
