"""Completers without a network, against which learning must show.

Each is a function ``(partial (N, d), count, rng) -> new points (count, d)``, in the units of the
partial cloud. So is :class:`ddeq.models.baselines.retrieval.Retrieval`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

__all__ = [
    "Guess",
    "copy_visible",
    "fill_hole",
    "gaussian_guess",
    "mirror_visible",
    "moment_gaussian",
    "nothing",
]

Guess = Callable[[Tensor, int, np.random.Generator], Tensor]

_ANGLES = 12
_OFFSETS = (0.0, -0.25, 0.25, -0.5, 0.5, -1.0, 1.0)
_HALVINGS = 5
_SCORED = 256


def nothing(partial: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """No new point, whatever is missing."""
    return partial[:0]


def gaussian_guess(partial: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """``N(m, diag(s^2))`` with the mean and deviations of the visible points."""
    points = as_array(partial)
    noise = rng.standard_normal((count, points.shape[1]))
    return torch.from_numpy(points.mean(0) + points.std(0) * noise).to(partial)


def moment_gaussian(partial: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """What the frame of the whole cloud gives away by itself, as a diagonal Gaussian.

    The whole has zero mean and unit variance per coordinate. With ``n`` visible points and ``k``
    removed ones, these have the moments

    ``m = -n mean(x) / k``  and  ``v = (n + k - n mean(x^2)) / k - m^2``,

    from which the new points are drawn. Only for the protocol in which the frame is told: there, a
    model that is no better has learned nothing.
    """
    points = as_array(partial)
    n, dim = points.shape
    noise = rng.standard_normal((count, dim))
    if count == 0:
        return torch.from_numpy(noise).to(partial)
    mean = -n * points.mean(0) / count
    variance = (n + count - n * np.square(points).mean(0)) / count - mean**2
    return torch.from_numpy(mean + np.sqrt(variance.clip(min=0.0)) * noise).to(partial)


def copy_visible(partial: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Visible points once more, drawn at random; none twice before each was drawn."""
    n = len(partial)
    rounds = [rng.permutation(n) for _ in range(-(-count // n))]
    rows = np.concatenate(rounds)[:count] if rounds else np.zeros(0, dtype=np.int64)
    return partial[torch.from_numpy(rows).to(partial.device)]


def mirror_visible(partial: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """The visible points reflected at their best vertical symmetry plane, where none are yet.

    In 3-D the last coordinate is up. Among planes ``cos(t) x + sin(t) y = b``, the best is the one
    whose reflection of the visible points lies nearest to them in the mean square: twelve angles
    with seven offsets each, up to one deviation from the mean, and the best of these refined.
    """
    points = as_array(partial)
    tree = cKDTree(points)
    few = points[rng.permutation(len(points))[:_SCORED]]
    centre, size = points.mean(0), max(float(points.std(0).max()), np.finfo(float).tiny)

    def misfit(plane: tuple[float, float]) -> float:
        return float(np.square(tree.query(_reflect(few, centre, size, plane))[0]).mean())

    angles = [np.pi * k / _ANGLES for k in range(_ANGLES)] if points.shape[1] > 1 else [0.0]
    best = min(((angle, offset) for angle in angles for offset in _OFFSETS), key=misfit)
    for halving in range(1, _HALVINGS + 1):
        turn, move = np.pi / _ANGLES / 2**halving, 0.25 / 2**halving
        steps = [(a, b) for a in (-turn, 0.0, turn) for b in (-move, 0.0, move)]
        best = min(((best[0] + a, best[1] + b) for a, b in steps), key=misfit)
    mirrored = _reflect(points, centre, size, best)
    return torch.from_numpy(fill_hole(tree, mirrored, count)).to(partial)


def fill_hole(visible: cKDTree, candidates: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` candidates farthest from the visible points, ``(count, d)``.

    Where there are fewer candidates, all are taken, again from the farthest on.
    """
    order = np.argsort(-visible.query(candidates)[0], kind="stable")
    return candidates[np.resize(order, count)]


def as_array(cloud: Tensor) -> np.ndarray:
    """A cloud as float64 on the CPU, ``(N, d)``; a cloud without points is refused."""
    if cloud.dim() != 2 or len(cloud) == 0:
        raise ValueError(f"a cloud needs shape (N, d) and a point, got {tuple(cloud.shape)}")
    return cloud.detach().cpu().double().numpy()


def _reflect(
    points: np.ndarray, centre: np.ndarray, size: float, plane: tuple[float, float]
) -> np.ndarray:
    """Points mirrored at the plane of an angle and an offset in units of ``size``, ``(N, d)``."""
    normal = np.zeros(len(centre))
    normal[:2] = [np.cos(plane[0]), np.sin(plane[0])][: len(centre)]
    height = (points - centre) @ normal - plane[1] * size
    return points - 2 * height[:, None] * normal
