"""Simple surfaces as triangle meshes: what the generated shapes are put together from.

Everything is a *loft*: a stack of closed rings with equally many corners, neighbours joined by
strips of triangles. A box is a loft of two squares, a vase one of many circles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Mesh", "box", "cylinder", "loft", "merge", "oval", "revolve", "wing"]

_CORNERS = 32  # of a round ring


class Mesh(NamedTuple):
    """Vertices ``(V, 3)`` float64 and triangles ``(F, 3)`` int64."""

    vertices: np.ndarray
    triangles: np.ndarray

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Mesh:
        """The mesh shifted by ``(x, y, z)``."""
        return Mesh(self.vertices + np.array([x, y, z]), self.triangles)

    def turned(self, axis: str, angle: float) -> Mesh:
        """The mesh turned about a coordinate axis through the origin by ``angle`` radians."""
        first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
        turn = np.eye(3)
        turn[first, first] = turn[second, second] = np.cos(angle)
        turn[second, first], turn[first, second] = np.sin(angle), -np.sin(angle)
        return Mesh(self.vertices @ turn.T, self.triangles)

    def mirrored(self) -> Mesh:
        """The mesh reflected in the plane ``y = 0``: the left part of a pair."""
        return Mesh(self.vertices * np.array([1.0, -1.0, 1.0]), self.triangles)


def merge(parts: Sequence[Mesh]) -> Mesh:
    """One mesh with the surfaces of all parts, inner ones included."""
    counts = [len(part.vertices) for part in parts]
    shifts = np.cumsum([0, *counts[:-1]])
    triangles = [part.triangles + shift for part, shift in zip(parts, shifts, strict=True)]
    return Mesh(np.concatenate([p.vertices for p in parts]), np.concatenate(triangles))


def loft(rings: ArrayLike, closed: bool = True) -> Mesh:
    """The surface through a stack of rings.

    Args:
        rings: ``(k, m, 3)``: ``k`` rings of ``m`` corners each.
        closed: Close the first and the last ring by a fan about their centres.
    """
    rings = np.asarray(rings, dtype=np.float64)
    count, corners = rings.shape[:2]
    number = np.arange(count * corners).reshape(count, corners)
    beside = np.roll(number, -1, axis=1)
    a, b, c, d = (x.ravel() for x in (number[:-1], beside[:-1], number[1:], beside[1:]))
    triangles = [np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)]
    vertices = rings.reshape(-1, 3)
    if closed:
        centres = rings[[0, -1]].mean(axis=1)
        for hub, ring in ((len(vertices), 0), (len(vertices) + 1, -1)):
            middle = np.full(corners, hub)
            triangles.append(np.stack([number[ring], beside[ring], middle], axis=1))
        vertices = np.concatenate([vertices, centres])
    return Mesh(vertices, np.concatenate(triangles))


def box(length: float, width: float, height: float, taper: float = 1.0) -> Mesh:
    """A box centred in x and y with its bottom at ``z = 0``; the top is ``taper`` times as wide."""
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) / 2.0
    bottom = square * [length, width, 0.0]
    return loft([bottom, bottom * taper + [0.0, 0.0, height]])


def revolve(radii: ArrayLike, heights: ArrayLike, closed: bool = False) -> Mesh:
    """The surface swept by a profile of ``k`` points ``(radius, z)`` turning about the z axis."""
    radii = np.asarray(radii, dtype=np.float64)
    return loft([oval(r, r, z) for r, z in zip(radii, np.asarray(heights), strict=True)], closed)


def oval(a: float, b: float, z: float, power: float = 2.0) -> np.ndarray:
    """A ring ``|x / a|^power + |y / b|^power = 1`` at height ``z``, ``(m, 3)``.

    ``power = 2`` is an ellipse; a larger one makes it a rectangle with round corners.
    """
    angle = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    cos, sin = np.cos(angle), np.sin(angle)
    x = a * np.sign(cos) * np.abs(cos) ** (2 / power)
    y = b * np.sign(sin) * np.abs(sin) ** (2 / power)
    return np.stack([x, y, np.full_like(x, z)], axis=1)


def cylinder(bottom: float, top: float, height: float) -> Mesh:
    """A closed cylinder or frustum with these radii, from ``z = 0`` to ``height``."""
    return revolve([bottom, top], [0.0, height], closed=True)


def wing(root: float, tip: float, span: float, sweep: float, thickness: float) -> Mesh:
    """A thin wing along +y, its root centred at the origin.

    Args:
        root: Chord (length in x) at ``y = 0``.
        tip: Chord at ``y = span``.
        span: Length in y.
        sweep: How far the tip lies behind the root (towards -x).
        thickness: At the root; half of it at the tip.
    """

    def section(chord: float, thick: float, x: float, y: float) -> np.ndarray:
        corners = np.array([[0.5, 0.0], [0.2, 0.5], [-0.5, 0.1], [-0.5, -0.1], [0.2, -0.5]])
        along, up = corners.T * np.array([[chord], [thick]])
        return np.stack([x + along, np.full(len(corners), y), up], axis=1)

    return loft([section(root, thickness, 0.0, 0.0), section(tip, thickness / 2, -sweep, span)])
