"""The pose of a 3-D cloud: which axis points up, and how it stands about that axis."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds

__all__ = ["from_y_up", "quarter_turns", "square_up", "turn"]

_ANGLES = 60  # tried in a quarter turn, and again between the neighbours of the best


def turn(x: PointClouds, angle: Tensor) -> PointClouds:
    """Turns 3-D clouds about the z axis by an angle each, in radians, ``(B,)``."""
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    a, b, z = x.points.unbind(-1)
    return x.with_points(torch.stack([cos * a - sin * b, sin * a + cos * b, z], -1))


def from_y_up(x: PointClouds) -> PointClouds:
    """Turns 3-D clouds whose y axis points up to have z up, ``(x, y, z) -> (x, -z, y)``."""
    a, b, c = x.points.unbind(-1)
    return x.with_points(torch.stack([a, -c, b], -1))


def square_up(x: PointClouds) -> PointClouds:
    """Turns 3-D clouds about the z axis, by at most 45 degrees, to their tightest footprint.

    The footprint at an angle is the area of the box around the points' x and y. Its least angle
    turns with the cloud, so a cloud comes to stand in one of four ways, a quarter turn apart,
    whatever its azimuth was; one that stands along the axes stays as it is.
    """
    if x.dim != 3:
        raise ValueError(f"an azimuth needs points in 3 dimensions, got {x.dim}")
    with torch.no_grad():
        step = math.pi / 2 / _ANGLES
        best = _tightest(x, torch.zeros_like(x.points[:, 0, 0]), step)
        best = _tightest(x, best, 2 * step / _ANGLES)
    return turn(x, torch.remainder(best + math.pi / 4, math.pi / 2) - math.pi / 4)


def quarter_turns(x: PointClouds, count: int) -> list[PointClouds]:
    """The clouds and ``count - 1`` turns of them about z, evenly over a whole turn."""
    angles = [2 * math.pi * i / count for i in range(count)]
    return [turn(x, torch.full_like(x.points[:, 0, 0], angle)) for angle in angles]


def _tightest(x: PointClouds, around: Tensor, step: float) -> Tensor:
    """The best of angles ``step`` apart around those given, ``(B,) -> (B,)``."""
    tried = torch.arange(_ANGLES, device=around.device) - _ANGLES // 2
    angles = around[:, None] + step * tried.to(around)  # (B, angles)
    flat = x.points[..., :2]
    mean = torch.einsum("bn,bnd->bd", x.weights, flat)[:, None]
    flat = torch.where(x.mask[..., None], flat, mean)  # which moves no edge of a box
    cos, sin = angles.cos(), angles.sin()
    area = torch.ones_like(angles)
    for axis in (torch.stack([cos, -sin], 1), torch.stack([sin, cos], 1)):  # (B, 2, angles)
        low, high = torch.aminmax(flat @ axis, dim=1)
        area = area * (high - low)
    return angles.gather(1, area.argmin(1, keepdim=True))[:, 0]
