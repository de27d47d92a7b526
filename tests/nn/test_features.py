"""What points are told of their neighbours: known answers, and that it is of the measure."""

import math

import pytest
import torch
from maps import relative_gap, widened

from ddeq import PointClouds
from ddeq.nn import local_moments
from ddeq.nn.features import moment_count

RADII = (0.5, 1.0)


def of(cloud, radii=RADII):
    return local_moments(PointClouds.from_list([cloud]), radii)[0]


def clouds(dim=3, dtype=torch.float64):
    torch.manual_seed(0)
    return [torch.randn(n, dim, dtype=dtype) for n in (9, 1, 30)]


def test_of_two_points():
    found = of(torch.tensor([[0.0], [2.0]], dtype=torch.float64), radii=[2.0])
    far = math.exp(-0.5)
    share = far / (1 + far)
    expected = [math.log((1 + far) / 2), share, share * (1 - share)]
    torch.testing.assert_close(found[0], torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(found[1], found[0] * torch.tensor([1.0, -1.0, 1.0]).double())


def test_a_line_and_a_sheet_are_told_apart():
    torch.manual_seed(0)
    sheet = torch.rand(4000, 3, dtype=torch.float64) * 4 - 2
    sheet[:, 2] = 0
    sheet[0] = 0
    line = sheet * torch.tensor([1.0, 0.0, 0.0]).double()
    # inside a large flat piece the weights are a Gaussian, whose covariance is r^2
    xx, xy, xz, yy, yz, zz = of(sheet, radii=[0.5])[0, 4:]
    assert float(xx) == pytest.approx(1, abs=0.1)
    assert float(yy) == pytest.approx(1, abs=0.1)
    assert max(map(abs, (float(xy), float(xz), float(yz), float(zz)))) < 0.1
    assert float(of(line, radii=[0.5])[0, 4]) == pytest.approx(1, abs=0.1)
    assert of(line, radii=[0.5])[0, 5:].abs().max() < 1e-12


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_padding_and_batch_mates_change_nothing(dim):
    x = PointClouds.from_list(clouds(dim))
    together = local_moments(x, RADII)
    assert together.shape == (3, 30, 2 * moment_count(dim))
    assert together.isfinite().all()
    wide = local_moments(widened(x, 5), RADII)
    for b, cloud in enumerate(clouds(dim)):
        for found in (together, wide):
            assert relative_gap(found[b, : len(cloud)], of(cloud)) < 1e-12


def test_padding_far_from_every_point_stays_finite():
    x = PointClouds.from_list([torch.full((2, 2), 1e3), torch.full((5, 2), 1e3)])
    assert local_moments(x, RADII).isfinite().all()


def test_order_only_orders():
    cloud = clouds()[2]
    order = torch.randperm(len(cloud))
    assert relative_gap(of(cloud[order]), of(cloud)[order]) < 1e-12


def test_it_depends_on_the_measure_and_not_on_its_points():
    cloud = clouds()[2]
    twice = of(torch.cat([cloud, cloud]))
    assert relative_gap(twice[: len(cloud)], of(cloud)) < 1e-12
    assert relative_gap(of(cloud + 3.0), of(cloud)) < 1e-10


def test_many_points_are_weighed_in_parts(monkeypatch):
    cloud = clouds()[2]
    whole = of(cloud)
    monkeypatch.setattr("ddeq.nn.features._ROWS", 7)
    assert relative_gap(of(cloud), whole) < 1e-12


def test_gradients_are_finite_where_points_coincide():
    cloud = torch.zeros(4, 2, dtype=torch.float64, requires_grad=True)
    of(cloud).sum().backward()
    assert cloud.grad.isfinite().all()
