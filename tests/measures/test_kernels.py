"""Kernels and the distances they are profiles of."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_dim, clouds, seeds

from ddeq import PointClouds, mmd2
from ddeq.measures.divergences import MMD
from ddeq.measures.kernels import (
    Gaussian,
    InverseMultiquadric,
    Laplace,
    Riesz,
    distances,
    pair_distances,
)

KERNELS = [
    Riesz(),
    Riesz(0.5),
    Riesz(1.5),
    Gaussian(0.7),
    Laplace(0.7),
    InverseMultiquadric(0.7),
]


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Riesz(), lambda s: -s),
        (Riesz(0.5), lambda s: -math.sqrt(s)),
        (Riesz(1.5), lambda s: -(s**1.5)),
        (Gaussian(2.0), lambda s: math.exp(-(s**2) / 8)),
        (Laplace(2.0), lambda s: math.exp(-s / 2)),
        (InverseMultiquadric(2.0), lambda s: 1 / math.sqrt(1 + s**2 / 4)),
    ],
)
def test_formulas(kernel, formula):
    s = torch.tensor([0.0, 0.1, 1.0, 2.5, 30.0], dtype=torch.float64)
    expected = torch.tensor([formula(v) for v in s.tolist()], dtype=torch.float64)
    assert torch.allclose(kernel(s), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_conditionally_positive_definite(kernel):
    x = torch.randn(12, 3, dtype=torch.float64)
    centre = torch.eye(12, dtype=torch.float64) - 1 / 12  # weights that sum to zero
    gram = centre @ kernel(distances(x, x)) @ centre
    assert torch.linalg.eigvalsh(gram).min() > -1e-12


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_finite_where_points_coincide(kernel):
    x = torch.zeros(1, 3, 2, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]], dtype=torch.float64)
    for other in (x, y):
        (gradient,) = torch.autograd.grad(kernel(distances(x, other)).sum(), x)
        assert gradient.isfinite().all()


@pytest.mark.parametrize("r", [-1.0, 0.0, 2.0, 3.0, math.nan])
def test_riesz_needs_an_exponent_between_0_and_2(r):
    with pytest.raises(ValueError, match="0 < r < 2"):
        Riesz(r)


@pytest.mark.parametrize("kind", [Gaussian, Laplace, InverseMultiquadric])
@pytest.mark.parametrize("bandwidth", [0.0, -1.0, math.nan])
def test_bandwidths_are_positive(kind, bandwidth):
    with pytest.raises(ValueError, match="positive"):
        kind(bandwidth)


@given(any_dim(clouds), seeds)
def test_distances_are_those_of_a_double_loop(x, seed):
    y = torch.as_tensor(np.random.default_rng(seed).standard_normal((4, x.shape[1])))
    expected = [[math.dist(a, b) for b in y.tolist()] for a in x.tolist()]
    assert torch.allclose(distances(x, y), torch.tensor(expected, dtype=x.dtype), atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_self_distances_are_exact_away_from_the_origin(offset):
    x = torch.randn(1, 40, 3) + offset
    assert (distances(x, x).diagonal(dim1=1, dim2=2) == 0).all()
    exact = distances(x.double(), x.double())
    assert torch.allclose(distances(x, x).double(), exact, rtol=1e-5)


@given(
    st.lists(any_dim(clouds), min_size=1, max_size=1),
    st.sampled_from([torch.float32, torch.float64]),
    st.sampled_from([0.0, 1e3]),
)
def test_pair_distances_are_the_distances(batch, dtype, offset):
    """Exact up to rounding of squares: about 1e-8 of the extent for points that coincide."""
    x = torch.stack(batch).to(dtype) + offset
    y = torch.cat([x.flip(1), x + 0.5], dim=1)
    extent = 1.0 + (y - y[:, :1]).abs().max()
    for quick, plain in zip(
        pair_distances(x, y), (distances(x, x), distances(x, y), distances(y, y)), strict=True
    ):
        assert quick.dtype == dtype
        assert torch.allclose(quick, plain, rtol=1e-5, atol=1e-6 * float(extent))
    for same in (0, 2):
        assert (pair_distances(x, y)[same].diagonal(dim1=1, dim2=2) == 0).all()


def test_pair_distances_far_from_the_origin():
    """The square of 1e10 leaves a float64 product no digits for distances of a few units."""
    x, y = torch.randn(2, 6, 3), torch.randn(2, 4, 3)
    x[..., 0] = y[..., 0] = 1e10
    for quick, plain in zip(
        pair_distances(x, y), (distances(x, x), distances(x, y), distances(y, y)), strict=True
    ):
        assert torch.allclose(quick, plain, rtol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "scales"),
    [(torch.float32, (1e18, 1e19, 1e25, 1e37)), (torch.float64, (1e160, 1e300))],
)
def test_extents_whose_squares_overflow(dtype, scales):
    x, y = torch.randn(1, 5, 3, dtype=dtype), torch.randn(1, 4, 3, dtype=dtype)
    for scale in scales:
        big = (scale * x).requires_grad_()
        found = distances(big, scale * y)
        assert torch.allclose(found / scale, distances(x, y), rtol=1e-4)
        mates = distances(*(torch.cat([c, scale * c]) for c in (x, y)))
        assert torch.equal(mates[:1], distances(x, y))
        assert torch.autograd.grad((found / scale).sum(), big)[0].isfinite().all()
        clouds = [PointClouds.from_tensor(scale * c) for c in (x, y)]
        expected = mmd2(*map(PointClouds.from_tensor, (x, y)))
        assert torch.allclose(mmd2(*clouds) / scale, expected, rtol=1e-3)
        assert torch.allclose(MMD().evaluate(*clouds) / scale, expected, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64])
def test_other_dtypes_are_refused_in_one_line(dtype):
    x = PointClouds.from_tensor(torch.ones(1, 3, 2).to(dtype))
    for function in (mmd2, MMD().evaluate):
        with pytest.raises(ValueError, match=f"need float32 or float64, got {dtype}") as error:
            function(x, x)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(mode):
    with mode():
        x = torch.randn(1, 3, 2)
        assert all(kernel(distances(x, x)).isfinite().all() for kernel in KERNELS)
