"""MMD, its closed forms, its gradients, and its sliced version."""

import math

import numpy as np
import pytest
import torch
from geomloss import SamplesLoss
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_dim, batch_pairs, clouds, known_pairs, make_cloud, seeds
from test_kernels import KERNELS

from ddeq import (
    PointClouds,
    corollary2_gradient,
    mmd2,
    sliced_mmd2,
    wasserstein_gradient,
    witness,
)
from ddeq.measures.kernels import Gaussian, Laplace, Riesz

ONE = {"clouds_per_batch": 1}


def one(*points):
    return PointClouds.from_list([torch.as_tensor(p) for p in points])


def by_hand(x, y, kernel):
    """The double sum over all pairs of points, for one pair of clouds."""

    def mean(a, b):
        gaps = [[math.dist(p, q) for q in b.tolist()] for p in a.tolist()]
        return kernel(torch.tensor(gaps, dtype=torch.float64)).mean()

    return mean(x, x) + mean(y, y) - 2 * mean(x, y)


def cumulative(x, y):
    """``2 int (F - G)^2`` from the sorted points of two 1-D clouds."""
    line = np.sort(np.concatenate([x, y]))
    f = np.searchsorted(np.sort(x), line[:-1], side="right") / len(x)
    g = np.searchsorted(np.sort(y), line[:-1], side="right") / len(y)
    return 2.0 * np.sum((f - g) ** 2 * np.diff(line))


@given(known_pairs())
def test_energy_distance_in_closed_form(pair):
    assert mmd2(one(pair.x), one(pair.y)).item() == pytest.approx(pair.energy, abs=1e-12)
    single = mmd2(one(pair.x.float()), one(pair.y.float())).item()
    assert single == pytest.approx(pair.energy, abs=3e-6)


@given(clouds(1), clouds(1))
def test_one_dimension_is_twice_the_squared_gap_of_distribution_functions(x, y):
    expected = cumulative(x[:, 0].numpy(), y[:, 0].numpy())
    assert mmd2(one(x), one(y)).item() == pytest.approx(expected, abs=1e-11)
    assert sliced_mmd2(one(x), one(y), projections=3).item() == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
@given(pair=any_dim(batch_pairs, clouds_per_batch=2, max_size=6))
def test_mmd2_is_the_double_sum(kernel, pair):
    value = mmd2(*pair, kernel)
    for b, (x, y) in enumerate(zip(*pair, strict=True)):
        assert value[b].item() == pytest.approx(by_hand(x, y, kernel).item(), abs=1e-11)


@pytest.mark.parametrize(
    ("name", "kernel", "options", "floor"),
    [
        ("energy", Riesz(), {}, 1e-4),
        ("gaussian", Gaussian(0.7), {"blur": 0.7}, 0.0),
        ("laplacian", Laplace(0.7), {"blur": 0.7}, -math.expm1(-1e-4)),
    ],
)
@given(pair=any_dim(batch_pairs, **ONE, kinds=("normal", "single")))
def test_mmd2_is_twice_the_loss_of_geomloss(name, kernel, options, floor, pair):
    """geomloss returns half the squared kernel norm, and has no distance below 1e-4."""
    x, y = pair[0].to_list()[0], pair[1].to_list()[0] + 0.1  # never the same cloud
    loss = SamplesLoss(name, backend="tensorized", **options)(x, y).item()
    expected = 2 * loss + floor * (1 / len(x) + 1 / len(y))
    assert mmd2(one(x), one(y), kernel).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@given(pair=any_dim(batch_pairs), seed=seeds)
def test_mmd2_is_a_squared_distance(kernel, pair, seed):
    x, y = pair
    value = mmd2(x, y, kernel)
    assert (value > -1e-11).all()
    assert torch.allclose(value, mmd2(y, x, kernel), atol=1e-12)
    assert (mmd2(x, x, kernel) == 0).all()
    rng = np.random.default_rng(seed)
    shuffled = PointClouds.from_list([cloud[rng.permutation(len(cloud))] for cloud in x])
    assert mmd2(x, shuffled, kernel).abs().max() < 1e-11
    assert torch.allclose(mmd2(shuffled, y, kernel), value, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS)
@given(pair=any_dim(batch_pairs))
def test_mmd2_does_not_see_the_batch(kernel, pair):
    together = mmd2(*pair, kernel)
    for b, (x, y) in enumerate(zip(*pair, strict=True)):
        assert torch.allclose(mmd2(one(x), one(y), kernel)[0], together[b], atol=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e5])
@pytest.mark.parametrize("chunk", [None, 7])
def test_off_centre_float32_clouds_are_at_no_distance_from_themselves(offset, chunk):
    x = one(torch.randn(40, 2) + offset, torch.randn(23, 2) - offset)
    assert (mmd2(x, x, chunk=chunk) == 0).all()
    moved = mmd2(x, x.with_points(x.points + 1.0))
    exact = mmd2(x.to(torch.float64), x.with_points(x.points + 1.0).to(torch.float64))
    assert torch.allclose(moved.double(), exact, rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_chunks_change_nothing(kernel, chunk):
    def value_and_gradient(chunk):
        points = [torch.randn(n, 2, dtype=torch.float64) for n in (7, 4)]
        x = [p.requires_grad_() for p in points]
        y = one(torch.randn(5, 2, dtype=torch.float64), torch.randn(9, 2, dtype=torch.float64))
        value = mmd2(PointClouds.from_list(x), y, kernel, chunk=chunk)
        return value, *torch.autograd.grad(value.sum(), x)

    torch.manual_seed(1)
    whole = value_and_gradient(None)
    torch.manual_seed(1)
    parts = value_and_gradient(chunk)
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(whole, parts, strict=True))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["duplicates", "coincident", "single", "origin"])
def test_gradients_are_finite_where_points_coincide(kernel, dtype, kind):
    cloud = make_cloud(kind, 6, 2, seed=3, dtype=dtype)
    x = cloud.clone().requires_grad_()
    for y in (x.detach(), torch.cat([cloud, cloud[:1] + 1]), torch.zeros(2, 2, dtype=dtype)):
        (gradient,) = torch.autograd.grad(mmd2(one(x), one(y), kernel).sum(), x)
        assert gradient.isfinite().all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_by_finite_differences(kernel):
    y = one(torch.randn(5, 2, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64))
    x = torch.randn(2, 4, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    assert torch.autograd.gradcheck(lambda p: mmd2(PointClouds(p, mask), y, kernel), x)


def test_pairs_must_match():
    with pytest.raises(ValueError, match="2 and 1 clouds"):
        mmd2(one(torch.zeros(1, 2), torch.zeros(1, 2)), one(torch.zeros(1, 2)))
    with pytest.raises(ValueError, match="got 2 and 3"):
        sliced_mmd2(one(torch.zeros(1, 2)), one(torch.zeros(1, 3)))


# --- sliced ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 3])
def test_sliced_mmd2_is_close_with_many_projections(dim):
    x = one(torch.randn(20, dim, dtype=torch.float64), torch.randn(9, dim, dtype=torch.float64))
    y = x.with_points(0.5 * x.points + 1.0)
    assert torch.allclose(sliced_mmd2(x, y, projections=20_000), mmd2(x, y), rtol=0.02)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_sliced_mmd2_is_unbiased(dim):
    x = one(torch.randn(6, dim, dtype=torch.float64))
    y = one(torch.randn(4, dim, dtype=torch.float64) + 1.0)
    draws = torch.stack([sliced_mmd2(x, y, projections=8, seed=seed) for seed in range(400)])
    standard_error = draws.std() / math.sqrt(len(draws))
    assert (draws.mean() - mmd2(x, y)).abs() < 4 * standard_error


@given(any_dim(batch_pairs), st.integers(0, 5))
def test_sliced_mmd2_properties(pair, seed):
    x, y = pair
    together = sliced_mmd2(x, y, projections=7, seed=seed)
    assert (together > -1e-12).all()
    assert torch.allclose(sliced_mmd2(x, x, projections=7, seed=seed), together.new_zeros(()))
    assert torch.equal(together, sliced_mmd2(x, y, projections=7, seed=seed))
    for b, clouds_ in enumerate(zip(x, y, strict=True)):
        alone = sliced_mmd2(*map(one, clouds_), projections=7, seed=seed)
        assert torch.allclose(alone[0], together[b], atol=1e-11)


def test_sliced_mmd2_gradient():
    y = one(torch.randn(3, 2, dtype=torch.float64))
    x = torch.randn(1, 4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda p: sliced_mmd2(PointClouds.from_tensor(p), y, projections=5), x
    )


# --- Wasserstein gradients -------------------------------------------------------------------


def transports(dim):
    matrix = 0.4 * torch.randn(dim, dim, dtype=torch.float64)
    return {
        "identity": lambda p: p + 0.0,
        "affine": lambda p: p @ matrix + 1.0,
        "nonlinear": lambda p: torch.sin(p @ matrix) + 0.3 * p.square().sum(-1, keepdim=True),
        "constant": lambda p: 0.0 * p + 2.0,
    }


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", transports(1))
@settings(max_examples=6)
@given(
    clouds_=st.lists(
        clouds(2, kinds=("normal", "single", "origin", "collinear")), min_size=2, max_size=3
    )
)
def test_corollary_2_is_n_times_autodiff_for_pointwise_maps(kernel, name, clouds_):
    torch.manual_seed(0)
    transport = transports(2)[name]
    z = PointClouds.from_list(clouds_)
    exact = wasserstein_gradient(lambda mu: 0.5 * mmd2(mu, mu.map(transport), kernel), z)
    formula = corollary2_gradient(transport, z, kernel)
    scale = 1.0 + exact.abs().max()
    assert (exact - formula).abs().max() < 1e-10 * scale
    assert (formula[~z.mask] == 0).all()


def test_corollary_2_written_out():
    """``grad f(z_j) - DT(z_j)^T grad f(T(z_j))``, particle by particle, for the Riesz kernel."""
    transport = transports(2)["nonlinear"]
    z = torch.randn(6, 2, dtype=torch.float64)
    image = transport(z)

    def unit(v):
        return v / v.norm(dim=1, keepdim=True).clamp(min=1e-300)

    def slope(p):
        """Gradient of ``f(p) = -mean |p - z| + mean |p - T(z)|``."""
        return unit(p - image).mean(0) - unit(p - z).mean(0)

    formula = corollary2_gradient(transport, one(z))[0]
    for j, particle in enumerate(z):
        jacobian = torch.autograd.functional.jacobian(transport, particle)
        expected = slope(particle) - jacobian.T @ slope(image[j])
        assert torch.allclose(formula[j], expected, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_witness_integrates_to_mmd2(kernel):
    mu, nu = (
        PointClouds.from_list([torch.randn(n, 2), torch.randn(m, 2)]) for n, m in ((5, 3), (4, 7))
    )
    at_mu, at_nu = witness(mu.points, mu, nu, kernel), witness(nu.points, mu, nu, kernel)
    integral = (at_mu * mu.weights).sum(1) - (at_nu * nu.weights).sum(1)
    assert torch.allclose(integral, mmd2(mu, nu, kernel), atol=1e-5)


def test_wasserstein_gradient_of_a_potential_is_its_gradient():
    """``G(mu) = int V dmu`` has ``grad_W G = grad V``, whatever the number of particles."""
    z = PointClouds.from_list([torch.randn(5, 2), torch.randn(2, 2)])

    def energy(mu):
        return (mu.weights * mu.points.pow(4).sum(2)).sum(1)

    assert torch.allclose(wasserstein_gradient(energy, z), 4 * z.points.pow(3), atol=1e-5)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_can_be_had_without_gradient_mode(mode):
    z = PointClouds.from_list([torch.randn(5, 2), torch.randn(2, 2)])
    y = z.with_points(z.points + 1.0)
    expected = (
        wasserstein_gradient(lambda mu: mmd2(mu, y), z),
        corollary2_gradient(torch.sin, z),
    )
    with mode():
        inside = (
            wasserstein_gradient(lambda mu: mmd2(mu, y), z),
            corollary2_gradient(torch.sin, z),
        )
    assert all(torch.allclose(a, b) for a, b in zip(inside, expected, strict=True))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("chunk", [None, 2])
def test_values_can_be_had_without_gradient_mode(mode, chunk):
    x, y = one(torch.randn(5, 2)), one(torch.randn(4, 2))
    with mode():
        assert torch.allclose(mmd2(x, y, chunk=chunk), mmd2(x, y))
        assert sliced_mmd2(x, y).isfinite().all()
