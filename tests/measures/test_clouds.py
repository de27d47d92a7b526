"""Batches of clouds: what goes in comes out, and the mask alone says what is a point."""

import numpy as np
import pytest
import torch
from hypothesis import given
from strategies import any_dim, cloud_lists, make_cloud

from ddeq import PointClouds


def batch(*sizes, dim=2):
    return PointClouds.from_list([torch.randn(size, dim) for size in sizes])


@given(any_dim(cloud_lists))
def test_round_trip(clouds):
    x = PointClouds.from_list(clouds)
    assert len(x) == len(clouds)
    assert x.lengths.tolist() == [len(cloud) for cloud in clouds]
    assert x.mask.sum() == sum(map(len, clouds))
    assert all(torch.equal(a, b) for a, b in zip(x.to_list(), clouds, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(x, clouds, strict=True))
    assert (x.points[~x.mask] == 0).all()


def test_numpy_and_integers_become_floating_tensors():
    x = PointClouds.from_list([np.arange(6).reshape(3, 2), np.ones((1, 2), dtype=np.int32)])
    assert x.points.dtype == torch.float32
    assert PointClouds.from_list([np.zeros((1, 2))]).points.dtype == torch.float64


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("layout", ["reversed", "transposed", "big-endian", "read-only"])
def test_numpy_arrays_of_any_layout(layout):
    array = np.random.default_rng(0).standard_normal((5, 2))
    view = {
        "reversed": array[::-1],
        "transposed": np.asfortranarray(array),
        "big-endian": array.astype(">f8"),
        "read-only": array.copy(),
    }[layout]
    view.flags.writeable = layout != "read-only"
    (cloud,) = PointClouds.from_list([view])
    assert np.array_equal(cloud.numpy(), view)


def test_a_point_at_the_origin_is_a_point():
    x = PointClouds.from_list([torch.zeros(2, 2), torch.ones(5, 2)])
    assert x.lengths.tolist() == [2, 5]
    full = PointClouds.from_tensor(torch.zeros(1, 4, 3))
    assert full.lengths.tolist() == [4]
    assert full.to_list()[0].shape == (4, 3)


def test_weights_are_those_of_a_probability_measure():
    x = batch(4, 1, 7)
    assert torch.allclose(x.weights.sum(1), torch.ones(3))
    assert (x.weights[~x.mask] == 0).all()
    assert torch.allclose(x.weights[0, :4], torch.tensor(0.25))


@pytest.mark.parametrize(
    "index", [1, -1, slice(0, 2), [2, 0], torch.tensor([2, 0]), torch.tensor([True, False, True])]
)
def test_indexing_gives_a_batch(index):
    x = batch(3, 1, 5)
    chosen = x[index]
    wanted = torch.arange(3)[[index] if isinstance(index, int) else index]
    assert chosen.lengths.tolist() == x.lengths[wanted].tolist()
    for cloud, i in zip(chosen, wanted, strict=True):
        assert torch.equal(cloud, x.to_list()[i])


def test_iteration_ends_and_an_index_out_of_range_is_an_error():
    assert len(list(batch(3, 2))) == 2
    with pytest.raises(IndexError):
        batch(3, 2)[2]


def test_to_keeps_the_mask_boolean():
    x = batch(3, 2).to(torch.float64)
    assert x.points.dtype == torch.float64
    assert x.mask.dtype == torch.bool


def test_detach_and_with_points():
    x = batch(3, 1)
    moved = x.with_points(x.points.clone().requires_grad_() + 1.0)
    assert moved.points.requires_grad
    assert not moved.detach().points.requires_grad
    assert (moved.points[~x.mask] == 0).all()


def test_map_is_a_push_forward():
    x = batch(3, 1)
    y = x.map(lambda points: points[..., :1] + 7.0)
    assert y.points.shape == (2, 3, 1)
    assert (y.points[~y.mask] == 0).all()
    assert torch.equal(y.to_list()[1], x.to_list()[1][:, :1] + 7.0)


def test_cat_puts_the_other_points_behind():
    x, y = batch(3, 1), batch(2, 6)
    for union, a, b in zip(x.cat(y), x, y, strict=True):
        assert torch.equal(union, torch.cat([a, b]))


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


def test_constant_coordinates_are_centred_and_left_unscaled():
    x = PointClouds.from_list([torch.tensor([[1.0, 1e6 + 0.1], [3.0, 1e6 + 0.1]])])
    y, way = x.normalize()
    assert y.points.tolist() == [[[-1.0, 0.0], [1.0, 0.0]]]
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


GOOD = torch.zeros(3, 2)


@pytest.mark.parametrize(
    ("clouds", "words"),
    [
        ([], "empty list"),
        ([GOOD, torch.zeros(0, 2)], "cloud 1 is empty"),
        ([GOOD, torch.tensor([[0.0, torch.nan]])], "cloud 1 .*NaN"),
        ([torch.tensor([[0.0, torch.inf]])], "cloud 0 .*infinite"),
        ([GOOD, GOOD, torch.zeros(3, 3)], "cloud 2 has dimension 3"),
        ([torch.zeros(3)], "cloud 0 .*shape"),
        ([GOOD, torch.zeros(1, 3, 2)], "cloud 1 .*shape"),
        ([torch.zeros(3, 0)], "cloud 0 .*shape"),
        ([GOOD, GOOD.double()], "cloud 1 is torch.float64"),
        ([GOOD, [[0.0, 1.0], [2.0]]], "cloud 1"),
        ([GOOD, "cloud"], "cloud 1"),
        ([GOOD, None], "cloud 1"),
    ],
)
def test_bad_clouds_are_named_in_one_line(clouds, words):
    with pytest.raises(ValueError, match=words) as error:
        PointClouds.from_list(clouds)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("points", "mask"),
    [
        (torch.zeros(3, 2), torch.ones(3, 2, dtype=torch.bool)),
        (torch.zeros(1, 3, 2), torch.ones(1, 3)),
        (torch.zeros(1, 3, 2), torch.ones(1, 2, dtype=torch.bool)),
    ],
)
def test_bad_shapes_are_refused(points, mask):
    with pytest.raises(ValueError, match="must be"):
        PointClouds(points, mask)
