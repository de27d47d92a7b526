"""Solvers: a cloud does not see its batch, and no graph is kept."""

import pytest
import torch
from hypothesis import given, settings
from maps import (
    ALIVE,
    Tracked,
    relative_gap,
    shuffled,
    small_network,
    solve_free,
    widened,
    without_select,
)
from solver_problems import assert_same, every_solver, part, particles, solver, staggered
from strategies import cloud_lists, make_cloud, seeds

from ddeq import PointClouds

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-8}


def network_problem(clouds, seed, dtype=torch.float64):
    """A network's map for some input clouds, and as many latent clouds of other sizes."""
    x = PointClouds.from_list(clouds).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    z = [
        torch.randn(1 + (3 * b + len(cloud)) % 5, 8, generator=generator, dtype=torch.float64)
        for b, cloud in enumerate(clouds)
    ]
    return x, PointClouds.from_list(z).to(dtype)


@every_solver
@pytest.mark.parametrize("select", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_mates_that_finish_earlier_or_later_change_nothing(name, select, dtype):
    f, z0 = staggered(dtype)
    choose = solver(name, tol=0.3, max_steps=15)
    together = choose.solve(f if select else without_select(f), z0)
    assert len(set(together.steps.tolist())) > 1
    for index in map(torch.tensor, ([0], [1], [2], [2, 0, 1])):
        alone = choose.solve(f.select(index), z0[index])
        assert_same(alone, part(together, index), TOLERANCE[dtype])


@every_solver
@settings(max_examples=4)
@given(clouds=cloud_lists(2, min_clouds=2, max_clouds=3), seed=seeds)
def test_networks_batch_independence_and_padding(name, clouds, seed):
    network = small_network()
    choose = solver(name, tol=0.3, max_steps=6)
    x, z0 = network_problem(clouds, seed)
    together = choose.solve(network.bind(network.encode(x)), z0)
    assert together.value.points.isfinite().all()
    wide = choose.solve(network.bind(network.encode(widened(x, 3))), widened(z0, 2))
    assert relative_gap(wide.value.points[:, :-2], together.value.points) < 1e-8
    assert wide.steps.tolist() == together.steps.tolist()
    for b in range(len(x)):
        alone_x, alone_z = (PointClouds.from_list([c.to_list()[b]]) for c in (x, z0))
        alone = choose.solve(network.bind(network.encode(alone_x)), alone_z)
        n = int(z0.lengths[b])
        assert relative_gap(alone.value.points[0], together.value.points[b, :n]) < 1e-8
        assert alone.steps[0] == together.steps[b]


@every_solver
@settings(max_examples=4)
@given(clouds=cloud_lists(2, max_clouds=2), seed=seeds)
def test_networks_symmetries(name, clouds, seed):
    """Permuting ``X`` changes nothing, permuting ``Z`` permutes the result."""
    network = small_network()
    choose = solver(name, tol=0.3, max_steps=6)
    x, z0 = network_problem(clouds, seed)
    solution = choose.solve(network.bind(network.encode(x)), z0)
    other_x, other_z = shuffled(x, seed)[0], shuffled(z0, seed + 1)
    moved = choose.solve(network.bind(network.encode(other_x)), other_z[0])
    for a, b, order in zip(solution.value, moved.value, other_z[1], strict=True):
        assert relative_gap(b, a[order]) < 1e-8


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("name", ["weiszfeld", "anderson-weiszfeld", "flow", "picard"])
def test_padding_changes_nothing_off_centre(name, offset):
    """Padding rows sit at the origin, far from an off-centre cloud: they must not be felt."""
    z0 = PointClouds.from_tensor(offset + 1e-3 * torch.randn(1, 8, 3, dtype=torch.float64))

    def f(z):
        return z.map(lambda p: offset + (0.9 * (p - offset)).roll(1, dims=-1))

    choose = solver(name, max_steps=5, tol=0.0)
    narrow, wide = choose.solve(f, z0), choose.solve(f, widened(z0, 5))
    gap = (wide.value.points[:, :8] - narrow.value.points).abs().max()
    assert gap < 1e-8 * (narrow.value.points - offset).abs().max() + 1e-13 * offset


@every_solver
@pytest.mark.parametrize("kind", ["single", "duplicates", "coincident", "origin", "collinear"])
def test_awkward_clouds_have_finite_solutions(name, kind):
    dtype = torch.float32
    network = small_network(dtype=dtype)
    x = PointClouds.from_list([make_cloud(kind, 5, 2, seed=1, dtype=dtype)])
    z0 = PointClouds.from_list([make_cloud(kind, 4, 8, seed=2, dtype=dtype)])
    solution = solver(name, max_steps=6).solve(network.bind(network.encode(x)), z0)
    assert solution.value.points.isfinite().all()
    assert solution.value.points.dtype == dtype
    assert not solution.failed.any()
    assert solution.residual <= solution.initial_residual


@every_solver
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("restricted", [False, True])
def test_without_gradients(name, mode, restricted):
    f, z0 = staggered()
    free = torch.rand(z0.mask.shape) < 0.7 if restricted else None
    choose = solver(name, tol=0.3, max_steps=8)
    expected = solve_free(choose, f, z0, free)
    with mode():
        found = solve_free(choose, f, z0, free)
    assert_same(found, expected, 1e-12)


@pytest.mark.parametrize("name", ["flow", "weiszfeld"])
def test_a_network_is_bound_and_solved_in_inference_mode(name):
    network = small_network()
    x, z0 = network_problem([make_cloud("normal", n, 2, seed=n) for n in (5, 3)], seed=0)
    with torch.inference_mode():
        solution = solver(name, max_steps=3).solve(network.bind(network.encode(x)), z0)
        assert solution.value.points.isfinite().all()


@every_solver
@pytest.mark.parametrize("restricted", [False, True])
def test_memory_does_not_grow_with_the_steps(name, restricted):
    """Nodes of the autograd graph that live while ``F`` is evaluated: at most this step's."""
    weight = torch.nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
    z0 = particles(4, 6)
    start = z0.with_points(z0.points.clone().requires_grad_())
    free = torch.rand(z0.mask.shape) < 0.7 if restricted else None
    alive = []

    def f(z):
        image = z.map(lambda p: 3.0 * torch.cos(Tracked.apply(p @ weight)))  # never settles
        alive.append(len(ALIVE))
        return image

    choose = solver(name, tol=0.0, max_steps=30)
    solution = solve_free(choose, f, start, free, save_every=10)
    assert len(alive) == 30
    assert max(alive) <= 2
    assert len(ALIVE) == 0
    tensors = [solution.value.points, solution.image.points, solution.residual, solution.residuals]
    tensors += [z.points for z in solution.trajectory]
    assert not any(tensor.requires_grad for tensor in tensors)
    assert weight.grad is None
