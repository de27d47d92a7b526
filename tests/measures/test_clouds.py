"""Batches of clouds: what goes in comes out, and the mask alone says what is a point."""

import numpy as np
import pytest
import torch
from cloud_batches import batch
from hypothesis import given
from strategies import any_dim, batch_pairs, cloud_lists

from ddeq import Classifier, PointClouds, mmd2


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


@given(any_dim(batch_pairs))
def test_cat_is_that_of_each_pair_and_so_is_its_gradient(pair):
    x, y = pair
    points = [c.points.clone().requires_grad_() for c in pair]
    union = PointClouds(points[0], x.mask).cat(PointClouds(points[1], y.mask))
    assert union.points.shape[1] == int((x.lengths + y.lengths).max())
    assert torch.equal(union.lengths, x.lengths + y.lengths)
    assert (union.points[~union.mask] == 0).all()
    for whole, a, b in zip(union, x, y, strict=True):
        assert torch.equal(whole, torch.cat([a, b]))
    union.points.square().sum().backward()
    for given_, cloud in zip(points, pair, strict=True):
        assert torch.equal(given_.grad, 2 * cloud.points)


def test_cat_of_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 clouds of dimension 2 and 1 of dimension 2"):
        batch(3, 1).cat(batch(2))
    with pytest.raises(ValueError, match="dimension 2 and 1 of dimension 3"):
        batch(3).cat(batch(3, dim=3))
    with pytest.raises(ValueError, match=r"float32 and torch\.float64"):
        batch(3).cat(batch(3).to(torch.float64))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 7.0])
def test_what_stands_in_padding_does_not_matter(bad):
    x, y = batch(5, 2), batch(4, 4)
    dirty = PointClouds(x.points.masked_fill(~x.mask[..., None], bad), x.mask)
    assert torch.equal(dirty.points, x.points)
    assert torch.equal(mmd2(dirty, y), mmd2(x, y))
    assert torch.equal(dirty.mean(), x.mean())
    model = Classifier(2, 3, features=8, bilinear=4, head_size=4)
    assert torch.equal(model(dirty), model(x))
    assert (x.with_points(torch.full_like(x.points, bad)).points[~x.mask] == 0).all()


def test_nothing_is_dropped_in_silence():
    """Masks of masked arrays, imaginary parts, the last bits of large integers."""
    masked = np.ma.masked_array(np.ones((5, 2)), mask=np.eye(5, 2))
    with pytest.raises(ValueError, match="cloud 0 has masked values"):
        PointClouds.from_list([masked])
    assert len(PointClouds.from_list([np.ma.masked_array(np.ones((5, 2)))])) == 1
    with pytest.raises(ValueError, match="cloud 0 has complex"):
        PointClouds.from_list([torch.ones(5, 2) + 1j])
    with pytest.raises(ValueError, match="complex"):
        PointClouds.from_tensor(torch.ones(1, 5, 2) + 1j)
    exact = torch.tensor([[2**24 + 1, 2**52 + 1]])
    assert torch.equal(PointClouds.from_list([exact]).points[0].long(), exact)
    with pytest.raises(ValueError, match="float64 does not hold"):
        PointClouds.from_list([exact * 2 + 2**55])


def test_points_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 5\) \+ \(p,\), got shape \(2, 4, 2\)"):
        batch(5, 2).with_points(torch.zeros(2, 4, 2))


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


@pytest.mark.parametrize("value", [3, 2**24 + 1, -(2**53)])
def test_integers_are_kept_exactly(value):
    cloud = np.array([[0, value], [1, 2]], dtype=np.int64)
    found = PointClouds.from_list([cloud]).points[0]
    assert np.array_equal(found.numpy().astype(np.int64), cloud)


@pytest.mark.parametrize("cloud", [np.array([[2**53 + 1, 0]]), np.array([[1.0 + 2.0j, 0.0]])])
def test_what_cannot_be_kept_is_refused(cloud):
    with pytest.raises(ValueError, match="cloud 0"):
        PointClouds.from_list([cloud])
