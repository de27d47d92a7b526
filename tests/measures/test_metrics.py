"""Metrics on clouds whose distances are known."""

import math

import pytest
import torch
from hypothesis import given
from strategies import any_dim, batch_pairs, known_pairs

from ddeq import PointClouds, metrics


def one(cloud):
    return PointClouds.from_list([cloud])


@given(known_pairs())
def test_wasserstein2_in_closed_form(pair):
    x, y = one(pair.x), one(pair.y)
    # what is 0 is found as the root of a rounding error
    assert metrics.wasserstein2(x, y).item() == pytest.approx(pair.w2, abs=1e-6)
    assert metrics.ot_distance(x, y).item() <= pair.w2 + 1e-6  # W1 <= W2


def test_transport_of_a_translation():
    x = PointClouds.from_list([torch.randn(5, 2), torch.randn(3, 2)])
    shift = torch.tensor([3.0, 4.0])
    moved = x.map(lambda p: p + shift)
    for metric in (metrics.wasserstein2, metrics.ot_distance):
        assert torch.allclose(metric(x, moved), torch.tensor(5.0), rtol=1e-5)


@given(any_dim(batch_pairs, max_size=6))
def test_chamfer_is_the_double_loop(pair):
    values = metrics.chamfer(*pair)
    for value, x, y in zip(values, *pair, strict=True):
        squared = [[math.dist(a, b) ** 2 for b in y.tolist()] for a in x.tolist()]
        expected = sum(map(min, squared)) / len(x) + sum(
            map(min, zip(*squared, strict=True))
        ) / len(y)
        assert value.item() == pytest.approx(expected, abs=1e-10)


@given(any_dim(batch_pairs))
def test_metrics_do_not_see_the_batch(pair):
    for metric in (metrics.chamfer, metrics.wasserstein2, metrics.ot_distance):
        together = metric(*pair)
        alone = torch.cat([metric(one(x), one(y)) for x, y in zip(*pair, strict=True)])
        assert torch.allclose(alone, together, atol=1e-7)


def test_spread():
    z = PointClouds.from_list([torch.tensor([[3.0, 0.0], [-3.0, 0.0]]), torch.ones(4, 2)])
    assert torch.allclose(metrics.spread(z), torch.tensor([3.0, 0.0]), atol=1e-6)


def test_accuracy():
    logits = torch.tensor([[0.0, 2.0, 1.0], [5.0, 2.0, 1.0]])
    assert metrics.accuracy(logits, torch.tensor([1, 2])).tolist() == [1.0, 0.0]
