"""Sobolev-regularised flow: its normal equations, its rate of descent, and quick last digits."""

import math

import pytest
import torch
from solver_problems import particles

from ddeq import PointClouds, kernels, mmd2, solvers
from ddeq.measures.divergences import MMD
from ddeq.measures.divergences.mmd import mean_kernel
from ddeq.solvers.sobolev import velocity


def unit(z, y):
    """Root mean square distance between two clouds."""
    return torch.cdist(z, y).square().mean().sqrt()


def dense(z, y, ridge):
    """The velocity from the full matrix of mixed second derivatives, by autograd."""
    h = unit(z, y)

    def k(p, q):
        return torch.exp(-(p - q).square().sum() / (2 * h**2))

    def witness(p):
        return torch.stack([k(p, q) for q in z]).mean() - torch.stack([k(p, q) for q in y]).mean()

    slope = torch.stack([torch.func.grad(witness)(p) for p in z])
    mixed = torch.func.jacrev(torch.func.grad(k, 0), 1)
    n, d = z.shape
    matrix = torch.stack([torch.stack([mixed(p, q) for q in z]) for p in z]) / n  # (n, n, d, d)
    matrix = matrix.permute(0, 2, 1, 3).reshape(n * d, n * d)
    matrix = matrix + ridge / h**2 * torch.eye(n * d, dtype=z.dtype)
    return torch.linalg.solve(matrix, slope.flatten()).view(n, d)


@pytest.mark.parametrize("ridge", [1.0, 0.05])
def test_velocity_solves_the_normal_equations(ridge):
    z, y = particles(6, 4, dim=2), particles(5, 7, dim=2)
    found = velocity(z, y, 1.0, torch.full((2,), ridge), 60)
    for b, (p, q) in enumerate(zip(z, y, strict=True)):
        assert torch.allclose(found[b, : len(p)], dense(p, q, ridge), atol=1e-8)
    assert (found[1, 4:] == 0).all()


def test_rate_of_descent():
    """``d/dt 1/2 MMD^2 = -MMD^2 + ridge <D, (T + ridge)^-1 D>``: at most ``MMD^2``, and near it."""
    z, y = particles(12, dim=2), particles(12, dim=2)
    kernel = kernels.Gaussian(float(unit(z.points[0], y.points[0])))
    here = mmd2(z, y, kernel)
    rates = []
    for ridge in (1.0, 1e-2, 1e-4):
        move = 1e-5 * velocity(z, y, 1.0, torch.tensor([ridge]), 200)
        rates.append(
            ((here - mmd2(z.with_points(z.points - move), y, kernel)) / 2e-5 / here).item()
        )
    assert rates == sorted(rates)
    assert rates[0] > 0.0
    assert 0.6 < rates[-1] < 1.0 + 1e-3


def test_last_digits_come_quickly_near_a_target():
    target = particles(12, dim=2)
    start = target.with_points(target.points.roll(1, 1) + 0.02 * torch.randn(1, 12, 2).double())
    solution = solvers.SobolevFlow(max_steps=15, tol=1e-9, bandwidth=0.3, ridge=1e-2).solve(
        lambda z: target, start
    )
    plain = solvers.WassersteinFlow(max_steps=15, tol=1e-9, step_size=0.5).solve(
        lambda z: target, start
    )
    assert solution.residual.item() < 1e-3 * plain.residual.item()


def test_units_change_nothing():
    target, z0 = particles(9, 5, dim=2), particles(9, 5, dim=2)
    flow = solvers.SobolevFlow(max_steps=6, tol=0.0)
    one = flow.solve(lambda z: target, z0).value.points
    other = flow.solve(lambda z: target.map(lambda p: 64 * p), z0.map(lambda p: 64 * p))
    assert torch.allclose(other.value.points, 64 * one, rtol=1e-9)


def test_one_place_stays():
    z0 = PointClouds.from_tensor(torch.ones(1, 4, 2))
    solution = solvers.SobolevFlow().solve(lambda z: z, z0)
    assert torch.equal(solution.value.points, z0.points)


@pytest.mark.parametrize("options", [{"bandwidth": 0.0}, {"ridge": math.nan}, {"iterations": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match="must be positive"):
        solvers.SobolevFlow(**options)


def test_it_stops_by_any_divergence():
    target = particles(6, dim=2)
    flow = solvers.SobolevFlow(60, 1e-2, MMD(kernels.Gaussian()))
    solution = flow.solve(lambda z: target, particles(6, dim=2))
    gap = mmd2(solution.value, target, kernels.Gaussian())
    assert torch.allclose(solution.residual, gap, atol=1e-12)
    assert solution.converged.all()
    assert mean_kernel(target, target, kernels.Gaussian()).item() > gap.item()
