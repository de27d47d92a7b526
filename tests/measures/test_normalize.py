"""Clouds at zero mean and unit size, and back."""

import pytest
import torch
from cloud_batches import batch
from hypothesis import given
from strategies import KINDS, any_dim, cloud_lists, make_cloud

from ddeq import PointClouds


@given(any_dim(cloud_lists))
def test_mean_and_std_are_those_of_each_cloud(clouds):
    x = PointClouds.from_list(clouds)
    for b, cloud in enumerate(clouds):
        assert torch.allclose(x.mean()[b], cloud.mean(0), atol=1e-12)
        assert torch.allclose(x.std()[b], cloud.std(0, correction=0), atol=1e-12)


@given(any_dim(cloud_lists))
def test_normalize_and_its_inverse(clouds):
    x = PointClouds.from_list(clouds)
    y, way = x.normalize()
    assert torch.equal(y.mask, x.mask)
    assert (y.points[~y.mask] == 0).all()
    assert torch.allclose(way.invert(y).points, x.points, rtol=1e-13, atol=1e-12)
    assert torch.allclose(way.apply(x).points, y.points)
    for cloud, original in zip(y, clouds, strict=True):
        flat = original.std(0, correction=0) < 1e-12
        assert cloud.mean(0).abs().max() < 1e-11
        expected = torch.where(flat, 0.0, 1.0).to(cloud)
        assert torch.allclose(cloud.std(0, correction=0), expected, atol=1e-10)


@given(cloud_lists(2, min_clouds=2))
def test_normalize_does_not_see_the_batch(clouds):
    together = PointClouds.from_list(clouds).normalize()[0].to_list()
    for cloud, result in zip(clouds, together, strict=True):
        alone = PointClouds.from_list([cloud]).normalize()[0].to_list()[0]
        assert torch.allclose(alone, result, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("proportions", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", [*KINDS, "flat"])
def test_a_normalised_cloud_does_not_depend_on_its_unit(kind, dtype, proportions):
    cloud = make_cloud("normal" if kind == "flat" else kind, 30, 3, seed=0, dtype=dtype)
    if kind == "flat":
        cloud[:, 2] = 2.7
    expected, frame = PointClouds.from_list([cloud]).normalize(proportions)
    for unit in (1e-20, 2.0**-7, 1e3, 1e15):
        y, other = PointClouds.from_list([unit * cloud]).normalize(proportions)
        assert torch.allclose(y.points, expected.points, atol=2e-5)
        assert torch.equal(other.flat, frame.flat)
        if not frame.flat.all():
            assert torch.allclose(other.scale, unit * frame.scale, rtol=1e-5)


@pytest.mark.parametrize("proportions", [False, True])
@pytest.mark.parametrize("value", [2.0, 2.7, 1e6 + 0.1, -1e-7])
def test_a_flat_coordinate_is_exactly_zero_and_stays_flat(value, proportions):
    cloud = 10.0 * torch.randn(351, 3)
    cloud[:, 1] = value
    y, frame = PointClouds.from_list([cloud]).normalize(proportions)
    assert (y.points[..., 1] == 0).all()
    assert frame.scale[0, 1] >= 1.0
    said = frame.invert(y.with_points(torch.randn_like(y.points)))
    assert (said.points[..., 1] == cloud[0, 1]).all()
    assert said.points[..., 0].std() > 1.0


def test_constant_coordinates_are_centred_and_take_the_scale_of_the_others():
    x = PointClouds.from_list([torch.tensor([[2.0, 1e6 + 0.1], [6.0, 1e6 + 0.1]])])
    y, way = x.normalize()
    assert y.points.tolist() == [[[-1.0, 0.0], [1.0, 0.0]]]
    assert way.scale.tolist() == [[2.0, 2.0]]
    assert torch.equal(way.invert(y).points, x.points)


def test_a_single_place_is_centred_and_left_unscaled():
    x = PointClouds.from_list([torch.tensor([[1.0, 1e6 + 0.1], [1.0, 1e6 + 0.1]])])
    y, way = x.normalize()
    assert y.points.tolist() == [[[0.0, 0.0], [0.0, 0.0]]]
    assert way.scale.tolist() == [[1.0, 1.0]]
    assert torch.equal(way.invert(y).points, x.points)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_normalize_in_float32(offset, scale):
    x = PointClouds.from_list([scale * (torch.randn(351, 2) + offset)])
    y, way = x.normalize()
    assert y.mean().abs().max() < 2e-6 + 1.2e-7 * offset  # one rounding of the shift
    assert (y.std() - 1).abs().max() < 1e-5
    error = (way.invert(y).points - x.points).abs().max()
    assert error <= 4e-7 * x.points.abs().max()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("ulps", "flat"), [(1, True), (8, True), (48, False)])
def test_coordinates_that_differ_by_rounding_are_constant(sign, ulps, flat):
    """Far from the origin, on either side: a unit in the last place of 1e6 is 1/16."""
    far = torch.tensor([1e6, 1e6 + ulps / 16])
    x = PointClouds.from_list([torch.stack([sign * far, torch.tensor([1.0, 3.0])], dim=1)])
    scale = x.normalize()[1].scale[0]
    assert (scale[0] == 1.0) == flat
    assert scale[1] == 1.0 == x.std()[0, 1]
    assert x.normalize(proportions=True)[1].scale[0, 0] == pytest.approx(
        (0.5 * (1.0 + (0.0 if flat else (ulps / 32) ** 2))) ** 0.5
    )


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_normalize_at_extreme_scales(scale):
    y = PointClouds.from_list([scale * torch.randn(50, 2)]).normalize()[0]
    assert torch.allclose(y.std(), torch.ones(1, 2), atol=1e-4)


@pytest.mark.parametrize("kind", ["single", "coincident", "collinear", "origin"])
def test_normalize_has_a_finite_gradient(kind):
    cloud = make_cloud(kind, 5, 2, seed=0)
    if kind == "collinear":
        cloud[:, 1] = 2.0
    points = cloud.requires_grad_()
    y = PointClouds.from_list([points]).normalize()[0]
    y.points.square().sum().backward()
    assert points.grad.isfinite().all()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(mode):
    with mode():
        y, way = batch(3, 1).normalize()
        assert way.invert(y).cat(y).lengths.tolist() == [6, 2]
