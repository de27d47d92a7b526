"""Solvers: known equilibria, agreement with torchdeq."""

from dataclasses import replace

import pytest
import torch
from maps import (
    SOLVERS,
    Affine,
    relative_gap,
)
from solver_problems import every_solver, particles, solver
from torchdeq.solver import anderson_solver, broyden_solver, fixed_point_iter

from ddeq import PointClouds, mmd2, solvers


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if "flow" not in name and "weisz" not in name]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_contraction_is_solved(name, dtype):
    f, z0 = Affine.random([0.3, 0.5], 3, dtype), particles(4, 7, dtype=dtype)
    tol = 1e-5 if dtype == torch.float32 else 1e-10
    solution = solver(name, tol=tol, max_steps=100).solve(f, z0)
    assert solution.converged.all()
    for cloud, point in zip(solution.value, f.equilibrium, strict=True):
        assert relative_gap(cloud, point) < 10 * tol


@pytest.mark.parametrize("name", ["weiszfeld", "anderson-weiszfeld"])
def test_weiszfeld_finds_the_equilibrium_of_a_contraction(name):
    f, z0 = Affine.random([0.1, 0.3], 3), particles(4, 7)
    solution = solver(name, tol=1e-4, max_steps=200).solve(f, z0)
    assert solution.converged.all()
    for cloud, point in zip(solution.value, f.equilibrium, strict=True):
        assert relative_gap(cloud, point) < 1e-2


@pytest.mark.parametrize("name", ["flow-momentum", "flow-adaptive", "weiszfeld"])
def test_a_constant_map_pulls_the_particles_onto_its_image(name):
    target = particles(12, 8, dim=2)
    solution = solver(name, max_steps=300, tol=1e-2).solve(
        lambda z: target, particles(12, 8, dim=2)
    )
    assert solution.converged.all()
    assert (mmd2(solution.value, target) <= 1e-2 * solution.initial_residual).all()


def test_dirac_flows_to_a_uniform_measure():
    """From a Dirac at -2 to one at 0: particle ``q`` moves at speed ``2 q``, so that at time 1 the
    measure is uniform on [-2, 0]. Coincident particles never part: start with a tiny spread."""
    n, steps = 60, 25
    z0 = PointClouds.from_tensor(
        (-2.0 + 1e-9 * torch.arange(n, dtype=torch.float64))[None, :, None]
    )
    flow = solvers.WassersteinFlow(step_size=1.0 / steps, max_steps=steps + 1, tol=0.0)
    solution = flow.solve(lambda z: z.map(torch.zeros_like), z0, save_every=1)
    quantiles = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    for k in (0, 10, steps):
        expected = -2.0 + 2.0 * quantiles * k / steps
        assert torch.allclose(solution.trajectory[k].points[0, :, 0], expected, atol=1e-7)
    assert torch.allclose(solution.value.points[0, :, 0], 2.0 * quantiles - 2.0, atol=1e-7)


@every_solver
def test_a_start_at_the_fixed_point_is_done_after_one_step(name):
    z0 = particles(4, 1, 6)
    solution = solver(name).solve(lambda z: z.map(lambda p: p + 0.0), z0)
    assert solution.converged.all()
    assert solution.steps.tolist() == [1, 1, 1]
    assert solution.residual.tolist() == [0.0, 0.0, 0.0]
    assert solution.relative_residual.tolist() == [0.0, 0.0, 0.0]
    assert torch.equal(solution.value.points, z0.points)


@every_solver
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_start_at_the_fixed_measure_in_another_order_is_done_after_one_step(name, dtype):
    """The residual is then of rounding size, which no step can lower."""
    z0 = PointClouds.from_tensor(torch.randn(8, 50, 3, dtype=dtype))
    solution = solver(name, max_steps=5).solve(lambda z: z.map(lambda p: p.roll(1, dims=1)), z0)
    assert solution.converged.all()
    assert solution.steps.tolist() == [1] * 8


def contraction():
    """A nonlinear contraction of padded-free clouds, for both libraries."""
    weight = 0.25 * torch.randn(3, 3, dtype=torch.float64)
    shift = torch.randn(2, 5, 3, dtype=torch.float64)
    return lambda p: torch.tanh(p @ weight + 0.2 * p.mean(1, keepdim=True)) + shift


PEERS = {
    "picard": (solvers.Picard(), fixed_point_iter, {}),
    "picard-damped": (solvers.Picard(damping=0.6), fixed_point_iter, {"tau": 0.6}),
    "anderson": (solvers.Anderson(ridge=0.0), anderson_solver, {"m": 6, "lam": 0.0}),
    "anderson-window": (solvers.Anderson(window=3, ridge=0.0), anderson_solver, {"m": 3, "lam": 0}),
    "anderson-damped": (solvers.Anderson(damping=0.7), anderson_solver, {"m": 6, "tau": 0.7}),
    "broyden": (solvers.Broyden(), broyden_solver, {}),
    "broyden-window": (solvers.Broyden(window=4), broyden_solver, {"LBFGS_thres": 4}),
}


peers = pytest.mark.parametrize("peer", PEERS)


@peers
def test_torchdeq_finds_the_same_fixed_point(peer):
    ours, theirs, options = PEERS[peer]
    f = contraction()
    z0 = PointClouds.from_tensor(torch.randn(2, 5, 3, dtype=torch.float64))
    found = replace(ours, tol=1e-9, max_steps=300).solve(lambda z: z.map(f), z0)
    expected = theirs(f, z0.points, max_iter=300, tol=1e-10, **options)[0]
    assert found.converged.all()
    assert torch.allclose(found.value.points, expected, atol=1e-7)


@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer != "anderson-damped"])
def test_torchdeq_takes_the_same_steps(peer):
    """What torchdeq returns after ``k`` iterations: ``F(z_{k-1})``, for Broyden ``z_k``.

    Damped Anderson mixing is left out: torchdeq does not damp its first step, and so walks
    another way to the same point.
    """
    ours, theirs, options = PEERS[peer]
    f = contraction()
    z0 = PointClouds.from_tensor(torch.randn(2, 5, 3, dtype=torch.float64))
    trajectory = (
        replace(ours, tol=0.0, max_steps=9).solve(lambda z: z.map(f), z0, save_every=1).trajectory
    )
    for k in (3, 4, 7):
        expected = theirs(f, z0.points, max_iter=k, tol=0.0, return_final=True, **options)[0]
        if theirs is broyden_solver:
            found = trajectory[k].points
        else:
            last = trajectory[k - 1].points
            found = f(last)
            if theirs is fixed_point_iter:
                found = last + ours.damping * (found - last)
        assert torch.allclose(found, expected, atol=1e-7)
