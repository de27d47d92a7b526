"""Points that the tests of files share, and their exact content."""

from __future__ import annotations

import numpy as np

POINTS = np.random.default_rng(0).normal(size=(7, 3))


def bits(points: np.ndarray) -> bytes:
    """The exact content; unlike ==, tells -0.0 from 0.0."""
    return np.ascontiguousarray(points).tobytes()
