"""The flow in the paper's units, on sorted projections, and without a step size."""

import pytest
import torch
from maps import Affine, relative_gap, small_network, solve_free

from ddeq import Completer, PointClouds, metrics, mmd2
from ddeq.measures.divergences import MMD, SlicedMMD, wasserstein_gradient
from ddeq.measures.kernels import Riesz
from ddeq.solvers import FreeParticles, TuningFreeFlow, WassersteinFlow


def cloud(*sizes, dim=2):
    return PointClouds.from_list([torch.randn(n, dim, dtype=torch.float64) for n in sizes])


# --- the paper's scaling where particles are fixed -------------------------------------------


def test_whole_is_the_gradient_between_whole_clouds():
    """One step by hand: all particles in the MMD, only the free ones move."""
    f, z0 = Affine.random([0.6, 0.3], 3), cloud(5, 7, dim=3)
    free = torch.zeros_like(z0.mask)
    free[0, [1, 4]] = True
    free[1, [0, 2, 6]] = True

    def objective(z):
        image = torch.where(free[..., None], f(z).points, z.points)
        return 0.5 * mmd2(z, z.with_points(image))

    gradient = wasserstein_gradient(objective, z0) * free[..., None]
    flow = WassersteinFlow(2, tol=0.0, step_size=5.0, whole=True)
    found = solve_free(flow, f, z0, free, save_every=1).trajectory[1]
    assert torch.allclose(found.points, z0.points - 5.0 * gradient, atol=1e-12)


def test_whole_makes_no_difference_where_nothing_is_fixed():
    f, z0 = Affine.random([0.6, 0.3], 3), cloud(5, 7, dim=3)
    one, other = (WassersteinFlow(5, whole=whole).solve(f, z0) for whole in (False, True))
    assert torch.equal(one.value.points, other.value.points)
    everywhere = FreeParticles(f, z0, z0.mask)
    assert everywhere.fixed_counts.tolist() == [0, 0]


def test_a_network_says_how_many_particles_are_fixed():
    network = small_network(cross_layers=1)
    x, z = cloud(6, 4), cloud(2, 3, dim=8)
    f = network.bind(network.encode(x, cloud(6, 4, dim=8)))
    assert f.fixed_counts.tolist() == [6, 4]
    assert f.select(torch.tensor([1])).fixed_counts.tolist() == [4]
    assert network.bind(network.encode(x)).fixed_counts is None
    steps = [
        WassersteinFlow(2, tol=0.0, step_size=0.1, whole=whole)
        .solve(f, z, save_every=1)
        .trajectory[1]
        .points
        - z.points
        for whole in (True, False)
    ]
    share = torch.tensor([2 / 8, 3 / 7], dtype=torch.float64)[:, None, None]
    assert torch.allclose(steps[0], share * steps[1], atol=1e-12)


def test_a_completer_takes_the_option():
    model = Completer(2, solver=WassersteinFlow(3, whole=True))
    assert model.complete(torch.randn(9, 2)).isfinite().all()


# --- sorted projections ----------------------------------------------------------------------


def test_the_sliced_flow_is_the_flow_in_one_dimension():
    """There projections tell all: the two divergences are one."""
    target, z0 = cloud(12, 7, dim=1), cloud(12, 7, dim=1)
    flows = [WassersteinFlow(20, 0.0, d, step_size=0.3) for d in (MMD(Riesz()), SlicedMMD(2))]
    one, other = (flow.solve(lambda z: target, z0).value.points for flow in flows)
    assert relative_gap(one, other) < 1e-9


def test_the_sliced_flow_finds_a_target_in_the_plane():
    target, z0 = cloud(40), cloud(40)
    flow = WassersteinFlow(80, 1e-2, SlicedMMD(32), step_size=2.0, adaptive=True)
    solution = flow.solve(lambda z: target, z0)
    assert solution.residual < 0.1 * solution.initial_residual
    assert mmd2(solution.value, target) < 0.1 * mmd2(z0, target)


# --- no step size ----------------------------------------------------------------------------


def test_distance_over_gradients_by_hand():
    f, z = Affine.random([0.6, 0.3], 3), cloud(4, 5, dim=3)
    path = TuningFreeFlow(6, tol=0.0, first=0.2).solve(f, z, save_every=1).trajectory
    start, total, farthest = z.points, 0.0, 0.0

    def norm(v):
        return (v.square().sum(2).sum(1) / z.lengths).sqrt()

    for k in range(6):
        assert torch.allclose(path[k].points, z.points, atol=1e-10)
        gradient = wasserstein_gradient(lambda z: 0.5 * mmd2(z, f(z)), z)
        away = norm(z.points - start) if k else 0.2 * norm(f(z).points - z.points)
        farthest = torch.maximum(away, torch.as_tensor(farthest, dtype=away.dtype))
        total = total + norm(gradient).square()
        eta = farthest / total.sqrt()
        z = z.with_points(z.points - eta[:, None, None] * gradient)


def test_coming_back_does_not_shorten_the_steps():
    """The farthest distance counts, also when the particles are near their start again."""
    f, z = Affine.random([0.6], 3), cloud(4, dim=3)
    flow = TuningFreeFlow()
    one = torch.ones(1, dtype=torch.float64)
    state = {"start": z.points, "farthest": 7.0 * one, "total": 3.0 * one}
    step = flow.step(f, z, state, 5)
    gradient = wasserstein_gradient(lambda z: 0.5 * mmd2(z, f(z)), z)
    total = (9.0 + gradient.square().sum() / 4).sqrt()
    assert torch.allclose(step.points, z.points - 7.0 / total * gradient)
    assert step.state["farthest"].item() == 7.0


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
def test_units_do_not_matter(unit):
    target, z0 = cloud(8, 5), cloud(8, 5)
    flow = TuningFreeFlow(30, tol=1e-3)
    here = flow.solve(lambda z: target, z0)
    there = flow.solve(lambda z: target.map(lambda p: unit * p), z0.map(lambda p: unit * p))
    assert here.steps.tolist() == there.steps.tolist()
    assert relative_gap(there.value.points / unit, here.value.points) < 1e-9


@pytest.mark.parametrize("distance", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("first", [0.1, 1e-3])
def test_a_target_at_any_distance_is_found(distance, first):
    """Where a fixed step would be far too long for one, far too short for another."""
    target = cloud(15)
    z0 = target.map(lambda p: p.roll(1, dims=1) * 0.5 + distance)
    solution = TuningFreeFlow(150, tol=2e-2, first=first).solve(lambda z: target, z0)
    assert solution.converged.all()
    assert metrics.wasserstein2(solution.value, target) < 0.4 * metrics.wasserstein2(z0, target)
