"""The deregularised MMD: known values, its two limits, options."""

import math

import pytest
import torch

from ddeq import PointClouds, kernels, mmd2
from ddeq.measures.divergences import DrMMD


def cloud(*rows):
    return PointClouds.from_list([torch.tensor(rows, dtype=torch.float64)])


@pytest.mark.parametrize("regularization", [0.01, 0.1, 3.0])
@pytest.mark.parametrize("gap", [0.3, 1.0, 2.5])
def test_two_diracs(gap, regularization):
    """``T`` is a projection there, so the inverse can be written out."""
    near, r = math.exp(-(gap**2) / 2), regularization
    found = DrMMD(regularization=r)(cloud([gap, 0.0]), cloud([0.0, 0.0]))
    expected = (1 + r) / r * (2 - 2 * near - (1 - near) ** 2 / (1 + r))
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_much_regularization_is_the_mmd():
    x, y = (PointClouds.from_list([torch.randn(n, 2).double() for n in (5, 3)]) for _ in range(2))
    for kernel in (kernels.Gaussian(0.7), kernels.Laplace(), kernels.InverseMultiquadric()):
        found = DrMMD(kernel, 1e7)(x, y)
        assert torch.allclose(found, mmd2(x, y, kernel), rtol=1e-5)


def test_little_regularization_is_the_chi_squared_divergence():
    """Of masses ``p`` from masses ``q`` on the same places: ``sum (p - q)^2 / q``."""
    places = [[0.0, 0.0], [2.0, 1.0], [-1.0, 3.0]]
    x = cloud(*(places[i] for i in (0, 0, 0, 0, 1, 1, 1, 2)))
    y = cloud(*(places[i] for i in (0, 1, 1, 2)))
    p, q = (torch.tensor(m) for m in ([4 / 8, 3 / 8, 1 / 8], [1 / 4, 2 / 4, 1 / 4]))
    expected = ((p - q).square() / q).sum()
    assert DrMMD(regularization=1e-7)(x, y).item() == pytest.approx(expected.item(), rel=1e-4)


def test_less_regularization_is_a_larger_value():
    x, y = (PointClouds.from_list([torch.randn(6, 2).double()]) for _ in range(2))
    values = [DrMMD(regularization=r)(x, y).item() for r in (0.01, 0.1, 1.0, 10.0)]
    assert values == sorted(values, reverse=True)
    assert values[-1] >= mmd2(x, y, kernels.Gaussian()).item()


@pytest.mark.parametrize(
    "options", [{"regularization": 0.0}, {"regularization": math.nan}, {"kernel": kernels.Riesz()}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match="must be positive"):
        DrMMD(**options)
