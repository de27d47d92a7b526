"""Solvers: what a solution says, failures, options."""

import math

import pytest
import torch
from maps import (
    SOLVERS,
    Affine,
    solve_free,
    without_select,
)
from solver_problems import assert_same, every_solver, part, particles, solver, staggered

from ddeq import PointClouds, kernels, mmd2, solvers
from ddeq.measures.divergences import MMD, SlicedMMD
from ddeq.measures.kernels import Riesz


@every_solver
@pytest.mark.parametrize("select", [True, False])
def test_a_solution_keeps_its_word(name, select):
    f, z0 = staggered()
    g = f if select else without_select(f)
    tol, max_steps = 0.3, 15
    solution = solver(name, tol=tol, max_steps=max_steps).solve(g, z0, save_every=1)
    value, image = solution.value, solution.image
    assert torch.equal(value.mask, z0.mask)
    assert (value.points[~z0.mask] == 0).all()
    assert torch.allclose(image.points, f(value).points, atol=1e-12)
    assert torch.allclose(solution.residual, mmd2(value, image), atol=1e-6)
    assert torch.allclose(solution.initial_residual, mmd2(z0, f(z0)), atol=1e-6)
    assert torch.equal(solution.residuals[0], solution.initial_residual)
    assert torch.equal(solution.residuals.amin(0), solution.residual)
    assert torch.equal(solution.converged, solution.residual <= tol * solution.initial_residual)
    assert len(solution.residuals) == solution.steps.max() <= max_steps
    assert len(set(solution.steps.tolist())) > 1
    assert not solution.failed.any()
    for b, steps in enumerate(solution.steps.tolist()):
        assert (solution.residuals[steps - 1 :, b] == solution.residuals[-1, b]).all()
        assert solution.converged[b] or steps == max_steps
        assert (solution.residuals[: steps - 1, b] > tol * solution.initial_residual[b]).all()
        after = [z.points[b] for z in solution.trajectory[steps - 1 : -1]]
        assert all(torch.equal(points, after[0]) for points in after)


@every_solver
def test_f_is_evaluated_once_a_step(name):
    f, z0 = staggered()
    calls = []

    def counted(z):
        calls.append(len(z))
        return f(z)

    solution = solver(name, tol=0.3, max_steps=10).solve(counted, z0)
    assert len(calls) == solution.steps.max()


@every_solver
def test_finished_clouds_leave_a_map_that_can_select(name):
    f, z0 = staggered()
    sizes = []

    class Spy:
        def __init__(self, f):
            self.f = f

        def __call__(self, z):
            sizes.append(len(z))
            return self.f(z)

        def select(self, index):
            return Spy(self.f.select(index))

    solution = solver(name, tol=0.3, max_steps=15).solve(Spy(f), z0)
    running = [int((solution.steps > k).sum()) for k in range(int(solution.steps.max()))]
    assert sizes == running
    assert sizes[0] == 3
    assert sizes[-1] < 3


@every_solver
def test_finished_clouds_stand_still_in_a_map_that_cannot_select(name):
    f, z0 = staggered()
    seen = []

    def spy(z):
        seen.append(z.points.detach().clone())
        return f(z)

    solution = solver(name, tol=0.3, max_steps=15).solve(spy, z0)
    for b, steps in enumerate(solution.steps.tolist()):
        assert all(torch.equal(points[b], seen[steps - 1][b]) for points in seen[steps:])


@every_solver
def test_the_best_iterate_is_kept(name):
    """``F`` moves every particle by another distance at each evaluation: 1, then 0.1, then 2."""
    moves = iter([1.0, 0.1, 2.0, 0.5])
    seen = []

    def f(z):
        seen.append(z.points.detach().clone())
        move = next(moves)
        return z.map(lambda p: p + move)

    solution = solver(name, max_steps=4, tol=0.0).solve(f, particles(5, 3))
    assert (solution.residuals.argmin(0) == 1).all()
    assert torch.equal(solution.value.points, seen[1])
    mask = solution.value.mask[..., None]
    assert torch.allclose(solution.image.points, (seen[1] + 0.1) * mask)
    assert torch.equal(solution.residual, solution.residuals[1])
    assert not solution.converged.any()


@pytest.mark.parametrize("every", [1, 2, 3, 100])
def test_trajectory(every):
    f, z0 = Affine.random([0.5], 3), particles(4)
    iterates = [z0]
    for _ in range(6):
        iterates.append(f(iterates[-1]))
    solution = solvers.Picard(max_steps=7, tol=0.0).solve(f, z0, save_every=every)
    for saved, k in zip(solution.trajectory, range(0, 7, every), strict=False):
        assert torch.allclose(saved.points, iterates[k].points, atol=1e-14)
    assert torch.equal(solution.trajectory[-1].points, solution.value.points)
    assert len(solution.trajectory) >= len(range(0, 7, every))
    assert solvers.Picard().solve(f, z0).trajectory == ()


def test_status_and_spread():
    f, z0 = staggered()
    solution = solvers.Picard(tol=0.3, max_steps=3).solve(f, z0)
    assert 0 < solution.converged.sum() < 3
    for sentence, converged in zip(solution.status, solution.converged, strict=True):
        assert sentence.startswith("Converged" if converged else "The largest number of steps")
    centred = [cloud - cloud.mean(0) for cloud in solution.value]
    expected = torch.stack([cloud.square().sum(1).mean().sqrt() for cloud in centred])
    assert torch.allclose(solution.spread, expected)


class Broken:
    """A map whose image is multiplied by a factor of each cloud, from a step on."""

    def __init__(self, f, factor, start, clock=None):
        self.f, self.factor, self.start = f, factor, start
        self.clock = [0] if clock is None else clock

    def __call__(self, z):
        image = self.f(z)
        self.clock[0] += 1
        if self.clock[0] <= self.start:
            return image
        return image.map(lambda points: points * self.factor[:, None, None])

    def select(self, index):
        return Broken(self.f.select(index), self.factor[index], self.start, self.clock)


@every_solver
@pytest.mark.parametrize("select", [True, False])
@pytest.mark.parametrize(("bad", "start"), [(math.nan, 0), (math.nan, 2), (math.inf, 1)])
def test_one_cloud_fails_and_the_others_do_not_notice(name, select, bad, start):
    torch.manual_seed(1)
    f, z0 = Affine.random([0.8, 0.9, 0.7], 3), particles(4, 6, 3)
    choose = solver(name, tol=1e-3, max_steps=8)
    broken = Broken(f, torch.tensor([1.0, bad, 1.0], dtype=torch.float64), start)
    solution = choose.solve(broken if select else without_select(broken), z0)
    assert solution.failed.tolist() == [False, True, False]
    assert not solution.converged[1]
    assert solution.steps[1] == start + 1
    assert solution.status[1].startswith("Nonfinite")
    assert solution.value.points.isfinite().all()
    if start == 0:
        assert torch.equal(solution.value.points[1], z0.points[1])
    else:
        assert solution.residual[1].isfinite()
    others = torch.tensor([0, 2])
    assert_same(part(solution, others), choose.solve(f.select(others), z0[others]), 1e-9)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name.startswith("flow")])
def test_a_derivative_that_is_not_finite_is_a_failure_too(name):
    z0 = PointClouds.from_tensor(torch.tensor([[[0.0], [1.0]], [[1.0], [2.0]]]))
    choose = solver(name, max_steps=4, tol=0.0)
    solution = choose.solve(lambda z: z.map(lambda p: p.abs().sqrt() + 1.0), z0)
    assert solution.failed.tolist() == [True, False]
    assert torch.equal(solution.value.points[0], z0.points[0])


@every_solver
def test_an_unknown_option_is_an_error(name):
    with pytest.raises(TypeError):
        type(SOLVERS[name])(max_step=3)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *[(type(s), {"max_steps": 0}) for s in SOLVERS.values()],
        *[(type(s), {"tol": -1.0}) for s in SOLVERS.values()],
        (solvers.Picard, {"tol": math.nan}),
        (solvers.WassersteinFlow, {"step_size": 0.0}),
        (solvers.WassersteinFlow, {"step_size": -5.0}),
        (solvers.WassersteinFlow, {"step_size": math.nan}),
        (solvers.WassersteinFlow, {"decay": 0.0}),
        (solvers.WassersteinFlow, {"decay": 1.1}),
        (solvers.WassersteinFlow, {"momentum": 1.0}),
        (solvers.WassersteinFlow, {"momentum": -0.1}),
        (solvers.Picard, {"damping": 0.0}),
        (solvers.Picard, {"damping": 1.5}),
        (solvers.Anderson, {"window": 1}),
        (solvers.Anderson, {"damping": 0.0}),
        (solvers.Anderson, {"damping": -1.0}),
        (solvers.Anderson, {"ridge": -1.0}),
        (solvers.Anderson, {"of": solvers.Weiszfeld(), "divergence": MMD(kernels.Gaussian())}),
        (solvers.Picard, {"momentum": 1.0}),
        (solvers.Picard, {"noise": -1.0}),
        (solvers.Transport, {"damping": 0.0}),
        (solvers.TuningFreeFlow, {"first": 0.0}),
        (solvers.Chain, {}),
        (solvers.Broyden, {"window": 0}),
        (solvers.Weiszfeld, {"divergence": MMD(Riesz(1.5))}),
        (solvers.Weiszfeld, {"divergence": MMD(kernels.Gaussian())}),
        (solvers.Weiszfeld, {"divergence": SlicedMMD()}),
    ],
)
def test_bad_options_are_refused(kind, options):
    with pytest.raises(ValueError, match=r"must|need|made") as error:
        kind(**options)
    assert "\n" not in str(error.value)


def test_bad_arguments_of_solve_are_refused():
    z0 = particles(3)
    with pytest.raises(ValueError, match="save_every"):
        solvers.Picard().solve(lambda z: z, z0, save_every=0)
    with pytest.raises(ValueError, match="free"):
        solve_free(solvers.Picard(), lambda z: z, z0, torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(ValueError, match="free"):
        solve_free(solvers.Picard(), lambda z: z, z0, torch.ones(1, 3))


def test_particles_that_fly_off_are_not_the_best():
    """So far away that rounding hides how far ``F`` moves them: a residual of 0 means nothing."""
    start = PointClouds.from_list([torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])])

    def f(z):
        if z.points.abs().max() > 1e6:
            return z
        return z.map(lambda p: p + 1.0 if bool((p == start.points).all()) else 1e12 * p)

    solution = solvers.Picard(max_steps=4, tol=1e-3).solve(f, start)
    assert not bool(solution.converged)
    assert torch.equal(solution.value.points, start.points)
