"""Completion by looking it up: the training cloud that fits the visible part best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from ddeq.models.baselines.guesses import as_array, fill_hole

__all__ = ["Retrieval"]

_EXTENT = 3.0
_CELLS = {1: 64, 2: 32, 3: 12}
_SCALES = (0.9, 1.0, 1.1)
_CAP = 0.25
_SCORED = 128
_REFINED = 20
_ALIGNMENTS = 3
_SCALE_RANGE = (0.8, 1.1)


class Retrieval:
    """The points in the hole of the training cloud that fits the visible part best.

    A training cloud ``Y`` fits visible points ``x``, of which a share ``h`` is missing, by

    ``mean_i min_j |x_i - y_j|^2 + mean_j' min_i |x_i - y_j|^2``,

    where ``mean'`` leaves out the share ``h`` of ``Y`` that is farthest from ``x``: all of ``x``
    lies on ``Y``, and ``Y`` but for the hole lies on ``x``. Distances and points of each training
    cloud are tabulated on a grid once, which makes a first choice of twenty quick; these are then
    compared exactly. The points of the best that are farthest from ``x`` are the new ones.

    Args:
        clouds: Whole training clouds, ``(N_i, d)`` each, ``d`` at most 3.
        told: Clouds and partial clouds are in the frame of the whole: compare them as they are.
            Otherwise each is brought to zero mean and unit size by itself, the visible part is
            tried at several scales, and the best are moved and scaled to fit it before the last
            choice.
        azimuths: Turns about the last axis that are tried for a 3-D cloud.

    Example:
        >>> shapes = [torch.rand(40, 2), torch.randn(40, 2)]
        >>> new = Retrieval(shapes, told=True)(shapes[1][:30], 10, np.random.default_rng(0))
        >>> bool((torch.cdist(new, shapes[1][30:]).amin(1) < 1e-4).all())
        True
    """

    def __init__(self, clouds: Sequence[Tensor], told: bool = False, azimuths: int = 8) -> None:
        if not clouds:
            raise ValueError("retrieval needs at least one training cloud")
        own = [as_array(cloud) for cloud in clouds]
        dim = own[0].shape[1]
        if dim not in _CELLS:
            raise ValueError(f"retrieval takes points in 1 to 3 dimensions, got {dim}")
        own = own if told else [_normalised(points)[0] for points in own]
        self.told, self._cells = told, _CELLS[dim]
        self._trees = [cKDTree(points) for points in own]
        self._turns = _turns(dim, 1 if told else azimuths)
        centres = (np.arange(self._cells) + 0.5) / self._cells * 2 * _EXTENT - _EXTENT
        self._grid = np.stack(np.meshgrid(*[centres] * dim, indexing="ij"), -1).reshape(-1, dim)
        # Of each cell and training cloud: squared distance, and share of its points, (cells, n).
        self._squared = np.empty((len(self._grid), len(own)), dtype=np.float32)
        self._share = np.empty_like(self._squared)
        for column, tree in enumerate(self._trees):
            self._squared[:, column] = np.square(tree.query(self._grid)[0]).clip(max=_CAP)
            counts = np.bincount(self._cell(tree.data), minlength=len(self._grid))
            self._share[:, column] = counts / tree.n

    def __call__(self, partial: Tensor, count: int, rng: np.random.Generator) -> Tensor:
        """New points ``(count, d)`` for the visible ones, ``(N, d)``."""
        points, mean, scale = as_array(partial), np.zeros(partial.shape[1]), 1.0
        if not self.told:
            points, mean, scale = _normalised(points)
        few = points[rng.permutation(len(points))[:_SCORED]]
        found = self._nearest(few, count / (count + len(points)))
        new = fill_hole(cKDTree(points), found, count)
        return torch.from_numpy(new * scale + mean).to(partial)

    def _nearest(self, few: np.ndarray, hole: float) -> np.ndarray:
        """The training cloud that fits best, in the frame of ``few``, ``(N, d)``."""
        scales = (1.0,) if self.told else _SCALES
        poses = [(turn, scale) for turn in self._turns for scale in scales]
        scores = np.stack([self._rough(few @ turn * scale) for turn, scale in poses])
        best, found = np.inf, few
        for place in np.argsort(scores, axis=None, kind="stable")[:_REFINED]:
            turn, scale = poses[place // len(self._trees)]
            tree, shift = self._trees[place % len(self._trees)], np.zeros(few.shape[1])
            if not self.told:
                shift, scale = _align(tree, few @ turn, scale)
            moved = (tree.data - shift) / scale @ turn.T
            score = _misfit(few, moved, hole)
            if score < best:
                best, found = score, moved
        return found

    def _rough(self, points: np.ndarray) -> np.ndarray:
        """Misfit of points with each training cloud by the tables, distances capped, ``(n,)``."""
        there = self._squared[self._cell(points)].mean(0)
        squared = np.square(cKDTree(points).query(self._grid)[0]).clip(max=_CAP)
        return there + squared.astype(np.float32) @ self._share

    def _cell(self, points: np.ndarray) -> np.ndarray:
        """Number of the cell of the grid that each point lies in, ``(N,)``."""
        cell = np.floor((points + _EXTENT) / (2 * _EXTENT) * self._cells).astype(np.int64)
        cell = np.clip(cell, 0, self._cells - 1)
        return np.ravel_multi_index(tuple(cell.T), (self._cells,) * cell.shape[1])


def _normalised(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Points with zero mean and mean variance 1, and the mean and scale of before."""
    mean = points.mean(0)
    scale = float(np.sqrt(points.var(0).mean())) or 1.0
    return (points - mean) / scale, mean, scale


def _misfit(visible: np.ndarray, cloud: np.ndarray, hole: float) -> float:
    """How badly a whole cloud fits visible points; see :class:`Retrieval`."""
    there = np.square(cKDTree(cloud).query(visible)[0]).mean()
    back = np.sort(np.square(cKDTree(visible).query(cloud)[0]))
    return float(there + back[: max(1, round((1 - hole) * len(back)))].mean())


def _align(tree: cKDTree, points: np.ndarray, scale: float) -> tuple[np.ndarray, float]:
    """Shift ``t`` and scale ``s`` for which ``s x + t`` lies on the tree's points, by ICP.

    The scale stays near 1, so that no cloud shrinks onto a part of the other.
    """
    mean = points.mean(0)
    spread = max(float(np.square(points - mean).sum()), np.finfo(float).tiny)
    shift = np.zeros_like(mean)
    for _ in range(_ALIGNMENTS):
        target = tree.data[tree.query(points * scale + shift)[1]]
        scale = float(np.clip(((points - mean) * target).sum() / spread, *_SCALE_RANGE))
        shift = target.mean(0) - scale * mean
    return shift, scale


def _turns(dim: int, azimuths: int) -> list[np.ndarray]:
    """Turns about the last axis of ``R^3``; the identity alone in other dimensions."""
    if dim != 3:
        return [np.eye(dim)]
    turns = []
    for angle in 2 * np.pi * np.arange(azimuths) / azimuths:
        cos, sin = np.cos(angle), np.sin(angle)
        turns.append(np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]))
    return turns
