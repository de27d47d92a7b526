"""The measurements, one function each, and all of them on one problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ddeq.diagnostics.problem import Problem
from ddeq.diagnostics.report import EquilibriumReport, short
from ddeq.diagnostics.spectrum import spectral_radius
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.kernels import distances
from ddeq.measures.metrics import spread, wasserstein2
from ddeq.solvers import Map

__all__ = [
    "applied",
    "check_equilibrium",
    "mean_distance",
    "other_starts",
    "residual_over_spread",
]

FACTORS = (1, 3, 10, 100)  # of the evaluations that the default solver uses
WITHIN = 40  # evaluations in which the residual should get small
COLLAPSED = 1e-3  # spread over the distance of clouds: what is less is one point
_COUNTS = (1, 2, 5, 10, 20, 64)  # particles at use
_PERTURBATION = 0.1  # of the spread


@torch.no_grad()
def check_equilibrium(
    problem: Problem, seed: int = 0, progress: Callable[[str], object] = lambda text: None
) -> EquilibriumReport:
    """Everything that is measured of a problem with at least two clouds.

    Args:
        problem: See :func:`ddeq.diagnostics.pose`.
        seed: Of the start; other starts have other seeds.
        progress: Called with what is measured next.
    """
    progress("the answers")
    start = problem.start(seed)
    if len(start) < 2:
        raise ValueError("equilibria are compared between clouds: at least two are needed")
    answer, solution = problem.solve(start)
    used = int(solution.steps.double().mean().round().clamp(min=1))
    found: dict[str, Any] = {"clouds": len(start), "evaluations": used, "metric": problem.metric}
    found["particles"] = _particles(problem, answer, seed)
    progress("residuals")
    found["residual"] = _residuals(problem, start, answer, found["particles"]["distinct"])
    found["residual"]["over start"] = short(solution.relative_residual.median())
    progress(f"the answers at {FACTORS[-1]}x evaluations")
    later, found["drift"] = _drift(problem, answer, used)
    progress("other starts")
    found["paths"] = _paths(problem, start, answer, later[10], 9 * used, seed)
    progress("spectral radius")
    found["spectral radius"] = {
        "at the answer": short(spectral_radius(problem.f, answer)),
        "at 10x": short(spectral_radius(problem.f, later[10])),
    }
    progress("the solver bypassed")
    if problem.score is not None:
        found["bypassed"] = _bypassed(problem, start, answer)
        found["residual"]["rank correlation with error"] = _rank_correlation(problem, answer)
    return EquilibriumReport(found)


def mean_distance(z: PointClouds, other: PointClouds | None = None) -> Tensor:
    """``E|z - z'|`` over pairs of particles, of one cloud or of two, ``(B,)``."""
    other = z if other is None else other
    pairs = distances(z.points.double(), other.points.double())
    return torch.einsum("bn,bnm,bm->b", z.weights.double(), pairs, other.weights.double())


def residual_over_spread(z: PointClouds, image: PointClouds, scale: Tensor | None = None) -> Tensor:
    """``MMD^2(z, F(z)) / E|z - z'|``, without reference to any start, ``(B,)`` in float64.

    Args:
        z: The particles.
        image: ``F(z)``.
        scale: What to divide by in place of ``E|z - z'|``, which a collapsed cloud has not.
    """
    residual = mmd2(_double(z), _double(image)).clamp(min=0)
    return residual / (mean_distance(z) if scale is None else scale).clamp(min=1e-300)


def applied(f: Map, z: PointClouds, times: int) -> PointClouds:
    """``F`` applied so many times, or until nothing moves but by rounding."""
    for _ in range(times):
        image = f(z)
        move, size = (image.points - z.points).abs().amax(), z.points.abs().amax()
        z = image
        if move <= 4 * torch.finfo(size.dtype).eps * size:
            break
    return z


def other_starts(
    problem: Problem, start: PointClouds, answer: PointClouds, seed: int
) -> Iterator[tuple[str, PointClouds]]:
    """Starts for the same clouds and the same marks, by name."""
    yield "another seed", problem.start(seed + 1)
    yield "a third seed", problem.start(seed + 2)
    mean = start.mean()[:, None]
    yield "three times as wide", start.with_points(mean + 3 * (start.points - mean))
    yield "another cloud's answer", _resized(_next(answer), start)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(answer.points.shape, generator=generator).to(answer.points)
    size = _PERTURBATION * spread(answer) / answer.dim**0.5
    yield "perturbed answer", answer.with_points(answer.points + size[:, None, None] * noise)


def _particles(problem: Problem, answer: PointClouds, seed: int) -> dict[str, Any]:
    """Are they distinct, and how many does the metric need?"""
    size, apart = spread(answer), mean_distance(answer, _next(answer))
    share = (size / apart).median()
    found: dict[str, Any] = {
        "spread": short(size.median()),
        "spread over distance of clouds": short(share),
        "distinct": bool(share > COLLAPSED),
    }
    if problem.with_particles is not None and problem.score is not None:
        found["score by number"] = {
            str(count): short(_scored(problem.with_particles(count), seed)) for count in _COUNTS
        }
    return found


def _scored(problem: Problem, seed: int) -> Tensor:
    assert problem.score is not None
    return problem.score(problem.solve(problem.start(seed))[0]).mean()


def _residuals(
    problem: Problem, start: PointClouds, answer: PointClouds, distinct: bool
) -> dict[str, Any]:
    """Of the answer, and of the default solver's iterates were it not to stop."""
    scale = mean_distance(answer) if distinct else mean_distance(answer, _next(answer))
    solver = problem.unstopped(WITHIN).solver
    iterates = solver.solve(problem.f, start, save_every=1).trajectory[:-1]
    curve = torch.stack([residual_over_spread(z, problem.f(z), scale) for z in iterates])
    small = (curve <= 1e-6).any(0).double()
    rounded = (curve <= (_rounding(answer, distinct) / scale).clamp(min=1e-6)).any(0).double()
    return {
        "over": "spread" if distinct else "distance of clouds",
        "of the answer": short(residual_over_spread(answer, problem.f(answer), scale).median()),
        "by evaluation": short(curve.median(1).values),
        "share of clouds at 1e-6": short(small.mean()),
        "share of clouds at 1e-6 or rounding": short(rounded.mean()),
        "per cloud": short(residual_over_spread(answer, problem.f(answer), scale)),
    }


def _rounding(z: PointClouds, distinct: bool) -> Tensor:
    """``MMD^2`` of particles that move by the rounding of one evaluation of ``F``, ``(B,)``.

    For particles in one place it is twice the move; for distinct ones by their number less.
    """
    norm = (z.points.double().square().sum(2) * z.weights).sum(1).sqrt()
    return 16 * torch.finfo(z.points.dtype).eps * norm / (z.lengths if distinct else 1)


def _drift(
    problem: Problem, answer: PointClouds, used: int
) -> tuple[dict[int, PointClouds], dict[str, Any]]:
    """The answer after more applications of ``F``, which an equilibrium does not notice."""
    shown, later, done, z = problem.read(answer), {}, 1, answer
    apart = wasserstein2(shown, _next(shown)).mean()
    # the classes of a classifier are no distance: its drift is over the distance of clouds
    own = problem.metric == "W2" and problem.score is not None
    unit = problem.score(answer).mean() if own and problem.score is not None else apart
    rows: dict[str, Any] = {"over": "own error" if own else "distance of clouds"}
    for factor in FACTORS:
        z = applied(problem.f, z, (factor - done) * used)
        done, later[factor] = factor, z
        moved = wasserstein2(shown, problem.read(z)).mean()
        rows[f"{factor}x"] = {"W2 to the answer": short(moved), "over unit": short(moved / unit)}
        if problem.score is not None:
            rows[f"{factor}x"]["score"] = short(problem.score(z).mean())
    rows["spread at 100x over that of the answer"] = short(
        (spread(z) / spread(answer).clamp(min=1e-300)).median()
    )
    return later, rows


def _paths(
    problem: Problem,
    start: PointClouds,
    answer: PointClouds,
    settled: PointClouds,
    more: int,
    seed: int,
) -> dict[str, Any]:
    """``1 - MMD^2(z_a, z_b) / MMD^2(z, z of another cloud)``: 1 if the start does not matter."""
    unit = mmd2(_double(answer), _double(_next(answer))).clamp(min=1e-300)
    rows: dict[str, Any] = {}
    for name, other in other_starts(problem, start, answer, seed):
        given = problem.solve(other)[0]
        later = applied(problem.f, given, more)
        rows[name] = {
            "as given": short((1 - mmd2(_double(answer), _double(given)) / unit).mean()),
            "at 10x": short((1 - mmd2(_double(settled), _double(later)) / unit).mean()),
        }
    return rows


def _bypassed(problem: Problem, start: PointClouds, answer: PointClouds) -> dict[str, Any]:
    """The metric after a few applications, without a solver."""
    assert problem.score is not None
    rows = {"the answer": short(problem.score(answer).mean())}
    for times in (1, 2, 4):
        rows[f"F applied {times}x"] = short(problem.score(applied(problem.f, start, times)).mean())
    zero = start.map(torch.zeros_like)
    rows["F applied 1x to zero"] = short(problem.score(problem.f(zero)).mean())
    return rows


def _rank_correlation(problem: Problem, answer: PointClouds) -> float | None:
    """Spearman's, of residual and error over the clouds: can the one warn of the other?"""
    from scipy.stats import spearmanr

    assert problem.error is not None
    residual = residual_over_spread(answer, problem.f(answer))
    value = float(spearmanr(residual.numpy(), problem.error(answer).numpy()).statistic)
    return short(torch.tensor(value)) if value == value else None


def _next(z: PointClouds) -> PointClouds:
    """For each cloud the one after it."""
    return z[torch.arange(len(z)).roll(-1)]


def _resized(z: PointClouds, like: PointClouds) -> PointClouds:
    """As many particles as ``like`` has, the first ones of ``z`` over and over."""
    size = like.points.shape[1]
    rows = torch.arange(size)[None] % z.lengths[:, None].clamp(min=1)
    points = z.points.gather(1, rows[..., None].expand(-1, -1, z.dim))
    return like.with_points(points)


def _double(z: PointClouds) -> PointClouds:
    return z.to(torch.float64)
