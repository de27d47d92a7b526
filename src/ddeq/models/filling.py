"""New points of clouds in the network's frame: solved in groups, the surest candidates taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.metrics import spread
from ddeq.nn import EquilibriumMap
from ddeq.solvers.solution import Solution

if TYPE_CHECKING:
    from ddeq.models.completer import Completer

__all__ = ["Filling", "fill"]


@dataclass(frozen=True, eq=False)
class Filling:
    """The new points of one cloud and how they came about, in the network's frame.

    Attributes:
        points: ``(n, d)``.
        distances: How far from the surface they are expected to be, ``(n,)``; None for a model
            without ``trust``.
        frames: The same points after each evaluation; empty if not asked for.
        residuals: ``MMD^2(z, F(z))`` of each frame, of the first solve.
        spread: Spread of the latent particles of each frame, likewise.
        solution: What the solver says of the first solve.
    """

    points: Tensor
    distances: Tensor | None
    frames: list[Tensor]
    residuals: list[float]
    spread: list[float]
    solution: Solution

    def rows(self, index: Tensor) -> Filling:
        """Some of the points."""
        return Filling(
            self.points[index],
            None if self.distances is None else self.distances[index],
            [frame[index] for frame in self.frames],
            self.residuals,
            self.spread,
            self.solution,
        )


def fill(
    model: Completer,
    x: PointClouds,
    counts: Tensor,
    seed: int,
    watch: bool = False,
    f: EquilibriumMap | None = None,
) -> list[Filling]:
    """``counts[i]`` new points of cloud ``i``; see :class:`ddeq.models.sampling.Sampling`.

    Args:
        model: The model.
        x: Partial clouds in the network's frame.
        counts: ``(B,)``.
        seed: Of the marks.
        watch: Whether to keep the iterates.
        f: What ``model.encode(x)`` gives, if it is at hand.
    """
    use, f = model.sampling, model.encode(x) if f is None else f
    size = use.group
    wanted = counts * use.candidates
    found: list[list[Filling]] = [[] for _ in x]
    for k in range(max(-(-int(wanted.max()) // size), 1) if size else 1):
        left = wanted > k * size if k else torch.ones_like(wanted, dtype=torch.bool)
        rows = torch.nonzero(left)[:, 0]
        each = size * (wanted[rows] > 0) if size else counts
        solved = _solve(model, x[rows], f.select(rows), each, seed + (k << 32), watch)
        for row, filling in zip(rows.tolist(), solved, strict=True):
            found[row].append(filling)
    return [
        _surest(_joined(parts), int(n), use.candidates)
        for parts, n in zip(found, counts, strict=True)
    ]


def _solve(
    model: Completer, x: PointClouds, f: EquilibriumMap, counts: Tensor, seed: int, watch: bool
) -> list[Filling]:
    """One solve, all particles of each cloud."""
    z, solution = model.latent(x, seed, counts, save_every=1 if watch else None, f=f)
    # the trajectory ends with the best iterate; z is its image, one step on
    steps = [*solution.trajectory[:-1], z] if watch else []
    spreads = [spread(step) for step in steps]
    distances = None if model.trust is None else model.expected_distances(z)
    made = []
    for row, n in enumerate(z.lengths.tolist()):
        residuals = [*solution.residuals[:, row].tolist(), float(solution.residual[row])]
        made.append(
            Filling(
                model.points(z).points[row, :n],
                None if distances is None else distances[row, :n],
                [model.points(step).points[row, :n] for step in steps],
                residuals if watch else [],
                [float(value[row]) for value in spreads],
                solution,
            )
        )
    return made


def _joined(parts: list[Filling]) -> Filling:
    """The particles of several solves together; a solve that is over stays where it is."""
    if len(parts) == 1:
        return parts[0]
    longest = max(parts, key=lambda part: len(part.frames))
    frames = [
        torch.cat([part.frames[min(t, len(part.frames) - 1)] for part in parts])
        for t in range(len(longest.frames))
    ]
    known = [part.distances for part in parts if part.distances is not None]
    return Filling(
        torch.cat([part.points for part in parts]),
        torch.cat(known) if known else None,
        frames,
        longest.residuals,
        longest.spread,
        parts[0].solution,
    )


def _surest(all_: Filling, count: int, candidates: int) -> Filling:
    """The first ``count`` points, each replaced by the surest candidate that is nearest to it.

    Cells belong to the first points, so that the result covers what the particles do.
    """
    if candidates == 1 or all_.distances is None or not count:
        return all_.rows(torch.arange(min(count, len(all_.points))))
    points = all_.points[: count * candidates].double()
    owner = torch.cdist(points, points[:count]).argmin(1)
    best: dict[int, int] = {}
    for i in all_.distances[: len(points)].argsort(stable=True).tolist():
        best.setdefault(int(owner[i]), i)
    return all_.rows(torch.tensor(list(best.values())))
