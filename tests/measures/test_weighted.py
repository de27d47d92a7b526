"""Points with masses of their own: as good as points that are repeated, or refused in one line."""

import math

import numpy as np
import pytest
import torch

from ddeq import PointClouds, WeightedClouds, kernels, metrics, solvers
from ddeq.errors import DdeqError
from ddeq.measures.assignment import assignment
from ddeq.measures.divergences import (
    MMD,
    Divergence,
    Sinkhorn,
    SlicedMMD,
    SlicedWasserstein,
    wasserstein_gradient,
)
from ddeq.models import as_clouds
from ddeq.registry import known

COUNTS = ([1, 3, 2], [4, 1])
TAKEN = [c() for n, c in known(Divergence).items() if "." not in n and c is not SlicedWasserstein]
every = pytest.mark.parametrize("divergence", TAKEN, ids=lambda d: type(d).__name__)


def pair(seed=0):
    """The same measures with masses and with repeated points."""
    torch.manual_seed(seed)
    clouds = [torch.randn(len(counts), 2, dtype=torch.float64) for counts in COUNTS]
    masses = [torch.tensor(counts) for counts in COUNTS]
    repeated = [c.repeat_interleave(m, 0) for c, m in zip(clouds, masses, strict=True)]
    return WeightedClouds.from_lists(clouds, masses), PointClouds.from_list(repeated)


def plain(*sizes):
    return PointClouds.from_list([torch.randn(n, 2, dtype=torch.float64) for n in sizes])


@every
def test_a_mass_is_as_good_as_a_repetition(divergence):
    weighted, repeated = pair()
    y = plain(5, 4)
    assert torch.allclose(divergence(weighted, y), divergence(repeated, y), atol=1e-7)
    assert torch.allclose(divergence(y, weighted), divergence(y, repeated), atol=1e-7)
    assert (divergence(weighted, repeated).abs() < 1e-9).all()
    assert torch.allclose(divergence.evaluate(weighted, y), divergence(weighted, y), atol=1e-9)


@every
def test_so_is_the_gradient(divergence):
    weighted, repeated = pair()
    y = plain(5, 4)
    found, expected = divergence.gradient(weighted, y), divergence.gradient(repeated, y)
    for b, counts in enumerate(COUNTS):
        first = np.cumsum([0, *counts[:-1]])
        assert torch.allclose(found[b, : len(counts)], expected[b, first], atol=1e-6)
    assert (found[1, 2:] == 0).all()
    auto = wasserstein_gradient(lambda z: divergence(z, y), weighted)
    assert torch.allclose(found, auto, atol=1e-8)


def test_moments_and_exact_transport():
    weighted, repeated = pair()
    y = plain(5, 4)
    assert torch.allclose(weighted.mean(), repeated.mean())
    assert torch.allclose(weighted.std(), repeated.std())
    for distance in (metrics.wasserstein2, metrics.ot_distance, metrics.chamfer):
        assert torch.allclose(distance(weighted, y), distance(repeated, y), atol=1e-9)


@pytest.mark.parametrize(
    "solver",
    [
        solvers.WassersteinFlow(6, 0.0, step_size=0.3, momentum=0.5, adaptive=True),
        solvers.WassersteinFlow(6, 0.0, Sinkhorn(), step_size=0.3),
        solvers.TuningFreeFlow(6, 0.0),
        solvers.Weiszfeld(6, 0.0),
        solvers.SobolevFlow(6, 0.0),
        solvers.Picard(6, 0.0, damping=0.5),
    ],
    ids=lambda s: type(s).__name__,
)
def test_solvers_move_particles_and_leave_their_masses(solver):
    weighted, repeated = pair()

    def f(z):
        return z.map(lambda p: 0.5 * p.flip(-1) + 1.0)

    found, expected = solver.solve(f, weighted), solver.solve(f, repeated)
    assert isinstance(found.value, WeightedClouds)
    assert torch.equal(found.value.weights, weighted.weights)
    assert torch.allclose(found.residual, expected.residual, atol=1e-8)
    for b, counts in enumerate(COUNTS):
        first = np.cumsum([0, *counts[:-1]])
        points = found.value.points[b, : len(counts)]
        assert torch.allclose(points, expected.value.points[b, first], atol=1e-6)


def test_masses_stay_with_their_points():
    weighted, _ = pair()
    part = weighted[torch.tensor([1])]
    assert part.weights.tolist() == [[0.8, 0.2, 0.0]]
    for same in (weighted.detach(), weighted.fresh(), weighted.map(lambda p: p + 1.0)):
        assert torch.equal(same.weights, weighted.weights)
    single = weighted.to(torch.float32)
    assert single.weights.dtype == single.points.dtype == torch.float32
    assert weighted[0].weights.shape == (1, 3)
    assert isinstance(weighted.normalize()[0], WeightedClouds)


def test_a_point_without_mass_feels_nothing():
    x = WeightedClouds.from_lists([torch.randn(3, 2).double()], [torch.tensor([1.0, 0.0, 1.0])])
    for divergence in (MMD(), MMD(kernels.Gaussian()), SlicedMMD()):
        gradient = wasserstein_gradient(lambda z, d=divergence: d(z, plain(4)), x)
        assert gradient.isfinite().all()
        assert (gradient[0, 1] == 0).all()


def test_what_needs_equal_masses_says_so_in_one_line():
    weighted, repeated = pair()
    free = torch.ones_like(weighted.mask)
    for work in (
        lambda: SlicedWasserstein()(weighted, repeated),
        lambda: assignment(weighted, weighted),
        lambda: solvers.Transport().solve(lambda z: z, weighted),
        lambda: solvers.FreeParticles(lambda z: z, weighted, free),
        lambda: as_clouds(weighted),
    ):
        with pytest.raises(DdeqError, match=r"^[^\n]*needs points of equal mass[^\n]*$"):
            work()
    with pytest.raises(DdeqError, match="cannot be joined"):
        weighted.cat(repeated)


@pytest.mark.parametrize(
    "masses", [[1.0, -1.0], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [1.0], [[1.0, 2.0]]]
)
def test_masses_that_are_none_are_refused(masses):
    with pytest.raises(DdeqError, match="masses must be"):
        WeightedClouds.from_lists([torch.randn(2, 2)], [torch.tensor(masses)])


def test_masses_of_another_shape_are_refused():
    x = plain(3, 2)
    with pytest.raises(DdeqError, match="masses must be"):
        WeightedClouds(x.points, x.mask, torch.ones(2, 2))
