"""Each solver's own formula, written out."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import (
    Affine,
)
from solver_problems import particles
from strategies import seeds

from ddeq import PointClouds, corollary2_gradient, mmd2, solvers
from ddeq.solvers.anderson import mixing_weights
from ddeq.solvers.weiszfeld import weiszfeld_step


@pytest.mark.parametrize("decay", [1.0, 0.8])
@pytest.mark.parametrize("momentum", [0.0, 0.6])
@pytest.mark.parametrize("adaptive", [False, True])
def test_flow_by_hand(decay, momentum, adaptive):
    """Steps long enough that some residuals grow, so that an adaptive flow has to cut."""

    def transport(p):
        return torch.sin(p) + 0.5

    z = particles(5, 3)
    options = {"step_size": 4.0, "decay": decay, "momentum": momentum, "adaptive": adaptive}
    flow = solvers.WassersteinFlow(**options, max_steps=8, tol=0.0)
    solution = flow.solve(lambda z: z.map(transport), z, save_every=1)
    velocity, factor, last, cuts = torch.zeros_like(z.points), torch.ones(2), math.inf, 0
    for k in range(8):
        assert torch.allclose(solution.trajectory[k].points, z.points, atol=1e-9)
        residual = mmd2(z, z.map(transport))
        worse = residual > last
        if adaptive:
            factor = torch.where(worse, factor / 2, (1.1 * factor).clamp(max=1.0))
            velocity = torch.where(worse[:, None, None], 0.0, velocity)
        velocity = momentum * velocity + corollary2_gradient(transport, z)
        z = z.with_points(z.points - 4.0 * decay**k * factor[:, None, None] * velocity)
        last, cuts = residual, cuts + int(worse.sum())
    assert cuts > 0


def test_an_adaptive_flow_settles_where_a_plain_one_jumps_for_ever():
    z0 = PointClouds.from_tensor(torch.tensor([[[1.0]], [[0.3]]], dtype=torch.float64))
    plain = solvers.WassersteinFlow(step_size=8.0, max_steps=40, tol=1e-2)
    found = [
        flow.solve(lambda z: z.map(torch.zeros_like), z0)
        for flow in (plain, replace(plain, adaptive=True))
    ]
    assert not found[0].converged.any()
    assert (found[1].residual < 0.1 * found[0].residual).all()


def test_weiszfeld_step_written_out():
    z, y = particles(4, 2), particles(4, 2)
    residual, points = weiszfeld_step(z, y)
    assert torch.allclose(residual, mmd2(z, y), atol=1e-7)
    for b, (zs, ys) in enumerate(zip(z, y, strict=True)):
        for i, p in enumerate(zs):
            pull = sum((p - q) / (p - q).norm() for q in ys) / len(ys)
            push = sum((p - q) / (p - q).norm() for q in zs if not torch.equal(p, q)) / len(zs)
            rate = sum(1 / (p - q).norm() for q in ys) / len(ys)
            assert torch.allclose(points[b, i], p - (pull - push) / rate, atol=1e-6)


@given(seeds, st.sampled_from([1, 2, 5, 9]), st.sampled_from([torch.float32, torch.float64]))
def test_weiszfeld_steps_never_increase_the_distance_to_a_fixed_target(seed, n, dtype):
    torch.manual_seed(seed)
    z, y = particles(n, dim=2, dtype=dtype), particles(n, dim=2, dtype=dtype)
    floor = 1e-6 if dtype == torch.float32 else 1e-7
    for _ in range(15):
        residual, points = weiszfeld_step(z, y)
        z = z.with_points(points)
        assert (mmd2(z, y) <= residual + floor).all()


def test_weiszfeld_with_one_particle_is_picard():
    f, z0 = Affine.random([0.5, 0.8], 3), particles(1, 1)
    one, other = (
        s(max_steps=6, tol=0.0).solve(f, z0, save_every=1)
        for s in (solvers.Weiszfeld, solvers.Picard)
    )
    for a, b in zip(one.trajectory, other.trajectory, strict=True):
        assert torch.allclose(a.points, b.points, atol=1e-12)


def test_weiszfeld_does_not_collapse_where_picard_does():
    """``F`` sends particle ``i`` to a mix of all targets: by label a Dirac, as a measure not."""
    target = particles(20, dim=2)

    def f(z):
        near = torch.cdist(z.points, target.points).argmin(2)
        return z.with_points(target.points[0][near])

    solution = solvers.Weiszfeld(max_steps=100, tol=1e-3).solve(f, particles(20, dim=2))
    assert solution.converged.all()
    assert (solution.spread > 0.3).all()


@given(seeds, st.integers(2, 5), st.sampled_from([1e-4, 1e-1]))
def test_mixing_weights_minimise(seed, m, ridge):
    torch.manual_seed(seed)
    gaps = torch.randn(2, m, 6, dtype=torch.float64)
    weights = mixing_weights(gaps, ridge)
    assert torch.allclose(weights.sum(1), torch.ones(2, dtype=torch.float64))

    def objective(w):
        return (w[:, None] @ gaps).square().sum((1, 2)) + ridge * w.square().sum(1)

    for _ in range(5):
        step = torch.randn(2, m, dtype=torch.float64)
        step = 1e-2 * (step - step.mean(1, keepdim=True))
        assert (objective(weights + step) > objective(weights)).all()
