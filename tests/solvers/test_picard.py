"""Picard iteration with damping, momentum and noise."""

from itertools import pairwise

import pytest
import torch
from maps import Affine, relative_gap, widened

from ddeq import PointClouds
from ddeq.solvers import Picard


def linear(rate):
    """``F(p) = rate p`` in one dimension, with a start at 1: errors are powers of one number."""
    z0 = PointClouds.from_tensor(torch.ones(1, 1, 1, dtype=torch.float64))
    return lambda z: z.map(lambda p: rate * p), z0


def path(solver, f, z0):
    return [float(z.points) for z in solver.solve(f, z0, save_every=1).trajectory[:-1]]


@pytest.mark.parametrize("rate", [0.9, -0.9, -2.0])
def test_damped_steps_shrink_the_error_by_their_factor(rate):
    f, z0 = linear(rate)
    factor = 1 - 0.5 * (1 - rate)
    found = path(Picard(6, tol=0.0, damping=0.5), f, z0)
    assert found == pytest.approx([factor**k for k in range(6)], abs=1e-12)


def test_momentum_by_hand_and_what_it_is_for():
    f, z0 = linear(0.95)
    found, before, here = path(Picard(9, tol=0.0, momentum=0.5), f, z0), 1.0, 1.0
    for value in found:
        assert value == pytest.approx(here, abs=1e-12)
        before, here = here, 0.95 * here + 0.5 * (here - before)
    quick, plain = (Picard(400, tol=1e-9, momentum=m).solve(f, z0).steps.item() for m in (0.6, 0.0))
    assert quick < 0.6 * plain


def test_noise_is_that_of_the_seed_and_the_step():
    still = PointClouds.from_tensor(torch.zeros(2, 500, 2, dtype=torch.float64))
    moves = lambda z: z.map(lambda p: p + 1.0)  # noqa: E731
    solver = Picard(4, tol=0.0, noise=0.1)
    trajectory = solver.solve(moves, still, save_every=1).trajectory
    draws = [b.points - a.points - 1.0 for a, b in pairwise(trajectory[:4])]
    for draw in draws:
        assert draw.std().item() == pytest.approx(0.1, rel=0.08)
        assert draw.mean().item() == pytest.approx(0.0, abs=0.01)
    assert (draws[0] * draws[1]).mean().abs() < 1e-3
    again, other = (Picard(4, tol=0.0, noise=0.1, seed=seed).solve(moves, still) for seed in (0, 1))
    assert torch.equal(again.residuals, solver.solve(moves, still).residuals)
    assert not torch.equal(again.value.points, other.value.points)


def test_noise_does_not_see_the_batch():
    f = Affine.random([0.9, 0.3, 0.5], 3)
    z0 = PointClouds.from_list([torch.randn(n, 3, dtype=torch.float64) for n in (4, 6, 3)])
    solver = Picard(8, tol=0.0, damping=0.95, noise=0.01)
    together = solver.solve(f, widened(z0, 2))
    for b in range(3):
        index = torch.tensor([b])
        alone = solver.solve(f.select(index), PointClouds.from_list([z0.to_list()[b]]))
        n = int(z0.lengths[b])
        assert relative_gap(together.value.points[b, :n], alone.value.points[0]) < 1e-9


def test_noise_leaves_a_fixed_point_that_does_not_attract():
    """``F(p) = 2p / (1 + p^2)`` rests at 0, and at 1 and -1, which attract."""
    z0 = PointClouds.from_tensor(torch.zeros(1, 8, 1, dtype=torch.float64))
    f = lambda z: z.map(lambda p: 2 * p / (1 + p.square()))  # noqa: E731
    assert torch.equal(Picard(60).solve(f, z0).value.points, z0.points)
    start = z0.map(lambda p: p + 1e-12)  # else the first step ends the solve
    noisy = Picard(60, tol=0.0, damping=0.95, noise=0.01).solve(f, start, save_every=1)
    last = noisy.trajectory[-2].points.abs()
    assert (last - 1).abs().max() < 0.1


def test_noise_is_another_for_each_particle_and_the_same_for_each_cloud():
    z0 = PointClouds.from_tensor(torch.zeros(2, 50, 3, dtype=torch.float64))
    step = Picard(noise=0.1).step(lambda z: z, z0, {}, 0).points
    assert torch.equal(step[0], step[1])
    assert len(step[0].unique(dim=0)) == 50
    assert 0.07 < step.std() < 0.13
