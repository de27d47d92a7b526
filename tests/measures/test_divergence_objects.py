"""Divergences as objects: what holds for every one that is registered, as it comes."""

import json

import ot
import pytest
import torch
from geomloss import SamplesLoss
from hypothesis import given
from maps import relative_gap, widened
from strategies import any_dim, batch_pairs, known_pairs, make_cloud

from ddeq import PointClouds, kernels, mmd2, sliced_mmd2, solvers
from ddeq.measures.divergences import (
    MMD,
    Divergence,
    Sinkhorn,
    SlicedMMD,
    SlicedWasserstein,
    sliced_wasserstein2,
    wasserstein_gradient,
)
from ddeq.registry import from_json, known, to_json

# a new divergence or kernel is tested as it comes, without an entry here
DIVERGENCES = {name: cls() for name, cls in known(Divergence).items() if "." not in name}
DIVERGENCES |= {
    f"MMD-{name}": MMD(cls()) for name, cls in known(kernels.Kernel).items() if "." not in name
}
every_divergence = pytest.mark.parametrize("name", DIVERGENCES)
KINDS = ("normal", "single", "origin", "duplicates", "coincident", "collinear")


def batch(*sizes, dim=2, dtype=torch.float64):
    return PointClouds.from_list([torch.randn(n, dim, dtype=dtype) for n in sizes])


@every_divergence
@given(pair=any_dim(batch_pairs, kinds=KINDS))
def test_values_are_not_negative_and_symmetric_where_claimed(name, pair):
    x, y = pair
    divergence = DIVERGENCES[name]
    value = divergence(x, y)
    assert value.shape == (len(x),)
    assert (value > -1e-9).all()
    if divergence.symmetric:
        assert torch.allclose(divergence(y, x), value, atol=1e-9)


@every_divergence
@given(pair=known_pairs())
def test_zero_for_equal_measures_and_only_for_them(name, pair):
    """Also for the same measure with other multiplicities and in another order."""
    x, y = (PointClouds.from_list([cloud]) for cloud in (pair.x, pair.y))
    value = DIVERGENCES[name](x, y).item()
    if pair.w2 == 0:
        assert abs(value) < 1e-9
    elif pair.w2 > 1e-2:
        assert value > 1e-7
    assert DIVERGENCES[name](x, x).abs().item() < 1e-12


@every_divergence
@given(pair=any_dim(batch_pairs, kinds=KINDS))
def test_padding_and_batch_do_not_matter(name, pair):
    x, y = pair
    divergence = DIVERGENCES[name]
    together, gradient = divergence(x, y), divergence.gradient(x, y)
    wide = divergence.gradient(widened(x, 3), widened(y, 2))
    assert torch.allclose(divergence(widened(x, 3), widened(y, 2)), together, atol=1e-10)
    assert torch.allclose(wide[:, :-3], gradient, atol=1e-8)
    assert (wide[:, -3:] == 0).all()
    for b in range(len(x)):
        alone = [PointClouds.from_list([c.to_list()[b]]) for c in (x, y)]
        n = int(x.lengths[b])
        assert torch.allclose(divergence(*alone)[0], together[b], atol=1e-10)
        assert torch.allclose(divergence.gradient(*alone)[0], gradient[b, :n], atol=1e-8)


@every_divergence
def test_gradient_is_that_of_finite_differences(name):
    divergence = DIVERGENCES[name]
    x, y, h = batch(4, 2), batch(3, 5), 1e-5
    gradient = divergence.gradient(x, y)
    auto = wasserstein_gradient(lambda z: divergence(z, y), x)
    assert torch.allclose(gradient, auto, atol=1e-9)
    for b, i, c in ((0, 0, 0), (0, 3, 1), (1, 1, 0)):
        step = torch.zeros_like(x.points)
        step[b, i, c] = h
        ends = [divergence(x.with_points(x.points + sign * step), y)[b] for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * h) * x.lengths[b]
        assert gradient[b, i, c].item() == pytest.approx(slope.item(), abs=2e-5)
    assert (gradient[1, 2:] == 0).all()


@every_divergence
def test_gradient_in_the_second_argument(name):
    """A flow goes through ``F``, so it needs both."""
    divergence, x, h = DIVERGENCES[name], batch(4, 2), 1e-5
    y = batch(3, 5).points.requires_grad_()
    mask = batch(3, 5).mask
    (gradient,) = torch.autograd.grad(divergence(x, PointClouds(y, mask)).sum(), y)
    for b, i, c in ((0, 0, 0), (1, 4, 1)):
        step = torch.zeros_like(y)
        step[b, i, c] = h
        ends = [divergence(x, PointClouds(y.detach() + s * step, mask))[b] for s in (1, -1)]
        assert gradient[b, i, c].item() == pytest.approx(
            ((ends[0] - ends[1]) / (2 * h)).item(), abs=1e-5
        )
    assert (gradient[0, 3:] == 0).all()


@every_divergence
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_awkward_clouds_have_finite_values_and_gradients(name, dtype, kind):
    divergence = DIVERGENCES[name]
    x = PointClouds.from_list([make_cloud(kind, 5, 2, seed=1, dtype=dtype)])
    for y in (x, batch(3, dtype=dtype)):
        value = divergence(x, y)
        assert value.dtype == dtype
        assert value.isfinite().all()
        assert divergence.gradient(x, y).isfinite().all()
        assert torch.allclose(divergence.evaluate(x, y), value, atol=1e-5)


@every_divergence
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradient_mode(name, mode):
    divergence, x, y = DIVERGENCES[name], batch(4, 2), batch(3, 5)
    expected = divergence(x, y), divergence.gradient(x, y)
    with mode():
        found = divergence(x, y), divergence.gradient(x, y)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, expected, strict=True))


@every_divergence
def test_a_flow_descends_it(name):
    """Towards a fixed target, and where ``F`` moves with the particles."""
    flow = solvers.WassersteinFlow(40, 0.02, DIVERGENCES[name], step_size=1.0, adaptive=True)
    target, z0 = batch(6, 4), batch(6, 4)
    for f in (lambda z: target, lambda z: z.map(lambda p: 0.5 * p + 1.0)):
        solution = flow.solve(f, z0)
        assert not solution.failed.any()
        assert (solution.residual < 0.5 * solution.initial_residual).all()
        assert torch.allclose(
            solution.residual, DIVERGENCES[name](solution.value, solution.image), atol=1e-9
        )


@every_divergence
def test_it_is_saved_with_its_solver(name):
    flow = solvers.WassersteinFlow(divergence=DIVERGENCES[name])
    assert from_json(json.loads(json.dumps(to_json(flow))), solvers.Solver) == flow


@every_divergence
def test_rounding_is_above_what_another_order_gives_and_below_what_matters(name):
    """In any unit: a step that is not of rounding size must not look like one."""
    divergence = DIVERGENCES[name]
    for dtype, unit in ((torch.float32, 1.0), (torch.float64, 1.0), (torch.float64, 8.0)):
        z = PointClouds.from_tensor(unit * torch.randn(4, 40, 2, dtype=dtype))
        floor = divergence.rounding(z)
        assert (divergence.evaluate(z, z.map(lambda p: p.roll(1, 1))).abs() <= floor).all()
        assert (floor < 0.05 * divergence(z, z.map(lambda p, unit=unit: p + 0.1 * unit))).all()


def test_rounding_of_squared_distances_grows_as_they_do():
    z = batch(5, 3)
    for divergence, power in ((Sinkhorn(), 2), (SlicedWasserstein(), 2), (MMD(), 1)):
        found = divergence.rounding(z.map(lambda p: 64 * p)) / divergence.rounding(z)
        assert torch.allclose(found, torch.full_like(found, 64.0**power))


@every_divergence
def test_pairs_must_match(name):
    with pytest.raises(ValueError, match="2 and 1 clouds"):
        DIVERGENCES[name](batch(1, 1), batch(1))
    with pytest.raises(ValueError, match="got 2 and 3"):
        DIVERGENCES[name].evaluate(batch(1), batch(1, dim=3))


# --- each by its own formula -----------------------------------------------------------------


def test_objects_are_the_functions():
    x, y = batch(5, 3), batch(4, 6)
    assert torch.equal(MMD(kernels.Gaussian(0.5))(x, y), mmd2(x, y, kernels.Gaussian(0.5)))
    assert torch.equal(SlicedMMD(9, 3)(x, y), sliced_mmd2(x, y, 9, 3))
    assert torch.equal(SlicedWasserstein(9, 3)(x, y), sliced_wasserstein2(x, y, 9, 3))


@given(pair=known_pairs(dims=(1,)))
def test_sliced_wasserstein_is_exact_on_a_line(pair):
    x, y = (PointClouds.from_list([cloud]) for cloud in (pair.x, pair.y))
    assert sliced_wasserstein2(x, y).item() == pytest.approx(pair.w2**2, abs=1e-10)


@pytest.mark.parametrize("sizes", [(6, 6), (7, 4), (1, 5), (12, 9)])
def test_sliced_wasserstein_is_that_of_pot(sizes):
    x, y = (batch(n, dim=3).to_list()[0] for n in sizes)
    ours = sliced_wasserstein2(*(PointClouds.from_list([c]) for c in (x, y)), projections=20)
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    directions = (directions / directions.norm(dim=1, keepdim=True)).T.numpy()
    theirs = ot.sliced_wasserstein_distance(x.numpy(), y.numpy(), projections=directions)
    assert ours.item() == pytest.approx(theirs**2, rel=1e-9)


@pytest.mark.parametrize("sizes", [(6, 6), (7, 4), (1, 5)])
def test_sinkhorn_is_that_of_geomloss(sizes):
    x, y = (batch(n, dim=2) for n in sizes)
    ours = Sinkhorn(blur=0.3, tol=1e-12, max_updates=5000)(x, y).item()
    loss = SamplesLoss("sinkhorn", p=2, blur=0.3, scaling=0.995, backend="tensorized")
    assert ours == pytest.approx(loss(x.points[0], y.points[0]).item(), rel=2e-3, abs=1e-4)


def test_sinkhorn_lies_between_transport_and_the_distance_of_means():
    x, y = batch(6), batch(6)
    near, far = Sinkhorn(blur=0.02, max_updates=3000)(x, y), Sinkhorn(blur=100.0)(x, y)
    plan = ot.emd2([], [], ot.dist(x.points[0].numpy(), y.points[0].numpy())) / 2
    assert near.item() == pytest.approx(plan, rel=1e-2)
    assert far.item() == pytest.approx((x.mean() - y.mean()).square().sum().item() / 2, rel=1e-3)


def test_sinkhorn_batch_mates_in_other_units_change_nothing():
    """Each pair has its own schedule and its own stop."""
    x, y = batch(5, 4), batch(3, 6)
    mixed = [
        PointClouds.from_list([a.to_list()[0], scale * a.to_list()[1]])
        for a, scale in ((x, 50.0), (y, 50.0))
    ]
    for divergence in (Sinkhorn(), Sinkhorn(blur=0.05, max_updates=7)):
        assert torch.equal(divergence(*mixed)[0], divergence(x, y)[0])


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Sinkhorn, {"blur": 0.0}),
        (Sinkhorn, {"scaling": 1.0}),
        (Sinkhorn, {"max_updates": -1}),
        (Sinkhorn, {"tol": -1.0}),
        (SlicedMMD, {"projections": 0}),
        (SlicedWasserstein, {"projections": 0}),
    ],
)
def test_bad_options_are_refused(kind, options):
    with pytest.raises(ValueError, match="must"):
        kind(**options)


@pytest.mark.parametrize("divergence", [SlicedMMD(), SlicedWasserstein(), Sinkhorn(), MMD()])
def test_coincident_particles_have_one_gradient(divergence):
    """Whichever of them is sorted first: else the order of the particles would be felt."""
    x = PointClouds.from_list([torch.tensor([[0.5, 0.0], [0.0, 0.0], [0.5, 0.0], [0.5, 0.0]])])
    y = PointClouds.from_list([torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]])])
    for target in (y, widened(y, 4)):
        gradient = divergence.gradient(x, target)[0]
        assert torch.allclose(gradient[[0, 0]], gradient[[2, 3]], atol=1e-6)
        moved = divergence.gradient(PointClouds(x.points[:, [1, 2, 3, 0]], x.mask), target)[0]
        assert torch.allclose(moved, gradient[[1, 2, 3, 0]], atol=1e-6)


def test_mmd_gradient_without_derivative_of_the_target():
    """``2 grad f`` equals the derivative of the double sums, for float32 too."""
    x, y = batch(7, 3, dtype=torch.float32), batch(4, 5, dtype=torch.float32)
    exact = wasserstein_gradient(lambda z: mmd2(z, y), x)
    assert relative_gap(MMD().gradient(x, y), exact) < 1e-5
