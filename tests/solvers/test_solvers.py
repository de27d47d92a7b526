"""Solvers: known equilibria, one stop a cloud, and nothing seen of the rest of the batch."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from maps import (
    ALIVE,
    SOLVERS,
    Affine,
    Tracked,
    relative_gap,
    shuffled,
    small_network,
    widened,
    without_select,
)
from strategies import cloud_lists, make_cloud, seeds
from torchdeq.solver import anderson_solver, broyden_solver, fixed_point_iter

from ddeq import PointClouds, corollary2_gradient, kernels, mmd2, solvers
from ddeq.measures.kernels import Riesz
from ddeq.solvers.anderson import mixing_weights
from ddeq.solvers.weiszfeld import weiszfeld_step

every_solver = pytest.mark.parametrize("name", SOLVERS)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-8}


def solver(name, **options):
    return replace(SOLVERS[name], **options)


def particles(*sizes, dim=3, dtype=torch.float64):
    return PointClouds.from_list([torch.randn(size, dim, dtype=dtype) for size in sizes])


def staggered(dtype=torch.float64):
    """A map and a start whose clouds finish at different times."""
    return Affine.random([0.9, 0.05, 0.5], 3, dtype), particles(4, 6, 3, dtype=dtype)


def network_problem(clouds, seed, dtype=torch.float64):
    """A network's map for some input clouds, and as many latent clouds of other sizes."""
    x = PointClouds.from_list(clouds).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    z = [
        torch.randn(1 + (3 * b + len(cloud)) % 5, 8, generator=generator, dtype=torch.float64)
        for b, cloud in enumerate(clouds)
    ]
    return x, PointClouds.from_list(z).to(dtype)


def assert_same(found, expected, tolerance, steps=True):
    """Two solutions of the same clouds agree."""
    assert relative_gap(found.value.points, expected.value.points) < tolerance
    assert relative_gap(found.image.points, expected.image.points) < tolerance
    scale = expected.initial_residual.clamp(min=1e-30)
    assert ((found.residual - expected.residual) / scale).abs().max() < tolerance
    if steps:
        assert found.steps.tolist() == expected.steps.tolist()
        assert found.converged.tolist() == expected.converged.tolist()


def part(solution, index):
    """What a solution says of some of its clouds."""
    names = ("value", "image", "residual", "initial_residual", "steps", "converged")
    return replace(solution, **{name: getattr(solution, name)[index] for name in names})


# --- known equilibria ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if not name.startswith("flow") and "weisz" not in name]
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


# --- what a solution says --------------------------------------------------------------------


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


# --- failures --------------------------------------------------------------------------------


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


# --- options ---------------------------------------------------------------------------------


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
        (solvers.Anderson, {"weiszfeld": True, "kernel": kernels.Gaussian()}),
        (solvers.Broyden, {"window": 0}),
        (solvers.Weiszfeld, {"kernel": Riesz(1.5)}),
        (solvers.Weiszfeld, {"settle": 0}),
        (solvers.Weiszfeld, {"kernel": kernels.Gaussian()}),
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
        solvers.Picard().solve(lambda z: z, z0, free=torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(ValueError, match="free"):
        solvers.Picard().solve(lambda z: z, z0, free=torch.ones(1, 3))


# --- a cloud does not see its batch ----------------------------------------------------------


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
    expected = choose.solve(f, z0, free=free)
    with mode():
        found = choose.solve(f, z0, free=free)
    assert_same(found, expected, 1e-12)


@pytest.mark.parametrize("name", ["flow", "weiszfeld"])
def test_a_network_is_bound_and_solved_in_inference_mode(name):
    network = small_network()
    x, z0 = network_problem([make_cloud("normal", n, 2, seed=n) for n in (5, 3)], seed=0)
    with torch.inference_mode():
        solution = solver(name, max_steps=3).solve(network.bind(network.encode(x)), z0)
        assert solution.value.points.isfinite().all()


# --- no graph is kept ------------------------------------------------------------------------


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
    solution = choose.solve(f, start, free=free, save_every=10)
    assert len(alive) == 30
    assert max(alive) <= 2
    assert len(ALIVE) == 0
    tensors = [solution.value.points, solution.image.points, solution.residual, solution.residuals]
    tensors += [z.points for z in solution.trajectory]
    assert not any(tensor.requires_grad for tensor in tensors)
    assert weight.grad is None


# --- free and fixed particles ----------------------------------------------------------------


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
    solution = solver(name, max_steps=15, tol=0.3).solve(f, case.z0, free=case.free, save_every=4)
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
    solution = choose.solve(f, case.z0, free=case.free)
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
    assert_same(choose.solve(f, z0, free=z0.mask), choose.solve(f, z0), 1e-12)
    still = choose.solve(f, z0, free=torch.zeros_like(z0.mask))
    assert torch.equal(still.value.points, z0.points)
    assert not still.failed.any()


@every_solver
@pytest.mark.parametrize("select", [True, False])
def test_a_cloud_without_free_particles_does_not_disturb_the_others(name, select):
    case = Free()
    free = case.free.clone()
    free[1] = False
    choose = solver(name, max_steps=8, tol=0.3)
    solution = choose.solve(case.f if select else without_select(case.f), case.z0, free=free)
    assert torch.equal(solution.value.points[1], case.z0.points[1])
    keep = torch.tensor([0, 2])
    other = choose.solve(case.f.select(keep), case.z0[keep], free=free[keep])
    assert relative_gap(solution.value.points[keep], other.value.points) < 1e-9


# --- each solver's own formula ---------------------------------------------------------------


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


# --- agreement with torchdeq -----------------------------------------------------------------


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
