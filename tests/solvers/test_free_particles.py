"""Solvers: free particles move, fixed ones keep their bits and cancel from the objective."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import (
    Affine,
    relative_gap,
    solve_free,
    without_select,
)
from solver_problems import assert_same, every_solver, particles, solver, staggered
from strategies import seeds

from ddeq import PointClouds, kernels, mmd2, solvers
from ddeq.measures.kernels import Riesz


class Free:
    """A start with fixed particles, and a map of all particles that looks at all of them."""

    def __init__(self, dtype=torch.float64):
        self.f = Affine.random([0.9, 0.05, 0.5], 3, dtype)
        self.z0 = particles(7, 9, 5, dtype=dtype)
        self.free = torch.zeros_like(self.z0.mask)
        for b, rows in enumerate(([6, 1, 3], [0, 2, 4, 5, 8], [4])):
            self.free[b, rows] = True


@every_solver
@pytest.mark.parametrize("select", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fixed_particles_keep_their_bits(name, select, dtype):
    case = Free(dtype)
    f = case.f if select else without_select(case.f)
    solution = solve_free(solver(name, max_steps=15, tol=0.3), f, case.z0, case.free, save_every=4)
    for z in (solution.value, solution.image, *solution.trajectory):
        assert torch.equal(z.points[~case.free], case.z0.points[~case.free])
        assert torch.equal(z.mask, case.z0.mask)
    assert not torch.equal(solution.value.points[case.free], case.z0.points[case.free])


@every_solver
@pytest.mark.parametrize("select", [True, False])
def test_fixed_particles_equal_the_restricted_map_written_by_hand(name, select):
    """Cloud by cloud: only the free rows, the others stand in the map as constants."""
    case = Free()
    choose = solver(name, max_steps=15, tol=0.3)
    f = case.f if select else without_select(case.f)
    solution = solve_free(choose, f, case.z0, case.free)
    for b, (cloud, full) in enumerate(zip(case.z0, solution.value, strict=True)):
        free = case.free[b, : len(cloud)]
        one = case.f.select(torch.tensor([b]))

        def restricted(z, cloud=cloud, free=free, one=one):
            whole = cloud.clone()
            whole = whole.index_put((free,), z.points[0])
            return PointClouds.from_tensor(
                one(PointClouds.from_tensor(whole[None])).points[:, free]
            )

        by_hand = choose.solve(restricted, PointClouds.from_tensor(cloud[free][None]))
        assert relative_gap(full[free], by_hand.value.points[0]) < 1e-9
        assert solution.steps[b] == by_hand.steps[0]
        assert torch.allclose(solution.residual[b], by_hand.residual[0], atol=1e-9)


@given(
    sizes=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 6)), min_size=1, max_size=3),
    kernel=st.sampled_from([Riesz(), Riesz(0.5), kernels.Gaussian()]),
    seed=seeds,
)
def test_fixed_particles_cancel_from_the_objective(sizes, kernel, seed):
    torch.manual_seed(seed)
    fixed = [torch.randn(m, 2, dtype=torch.float64) for _, m in sizes]
    z, y = ([torch.randn(n, 2, dtype=torch.float64) for n, _ in sizes] for _ in range(2))
    whole = [
        PointClouds.from_list([torch.cat(pair) for pair in zip(fixed, part, strict=True)])
        for part in (z, y)
    ]
    ratio = torch.tensor([n / (n + m) for n, m in sizes], dtype=torch.float64)
    part = mmd2(PointClouds.from_list(z), PointClouds.from_list(y), kernel)
    assert torch.allclose(mmd2(*whole, kernel), ratio.square() * part, atol=1e-12)


@every_solver
def test_free_everywhere_is_no_restriction_and_free_nowhere_moves_nothing(name):
    f, z0 = staggered()
    choose = solver(name, max_steps=8, tol=0.3)
    assert_same(solve_free(choose, f, z0, z0.mask), choose.solve(f, z0), 1e-12)
    still = solve_free(choose, f, z0, torch.zeros_like(z0.mask))
    assert torch.equal(still.value.points, z0.points)
    assert not still.failed.any()


def test_padding_that_is_called_free_is_no_particle():
    z0 = particles(4, 2)
    free = torch.ones_like(z0.mask)
    g = solvers.FreeParticles(lambda z: z, z0, free)
    assert g.start.lengths.tolist() == [4, 2]
    assert g.fixed_counts.tolist() == [0, 0]
    assert torch.equal(g.start.points, z0.points)
    f = Affine.random([0.5, 0.5], 3)
    solution = solve_free(solvers.Picard(5), f, z0, free)
    assert torch.equal(solution.value.mask, z0.mask)
    assert torch.equal(solution.value.points, solvers.Picard(5).solve(f, z0).value.points)


@every_solver
@pytest.mark.parametrize("select", [True, False])
def test_a_cloud_without_free_particles_does_not_disturb_the_others(name, select):
    case = Free()
    free = case.free.clone()
    free[1] = False
    choose = solver(name, max_steps=8, tol=0.3)
    solution = solve_free(choose, case.f if select else without_select(case.f), case.z0, free)
    assert torch.equal(solution.value.points[1], case.z0.points[1])
    keep = torch.tensor([0, 2])
    other = solve_free(choose, case.f.select(keep), case.z0[keep], free[keep])
    assert relative_gap(solution.value.points[keep], other.value.points) < 1e-9
