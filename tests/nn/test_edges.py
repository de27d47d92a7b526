"""Edges: known answers, padding, and their part in the estimate of what is missing."""

import pytest
import torch
from maps import SMALL, relative_gap, shuffled, widened

from ddeq import Completer, PointClouds
from ddeq.nn import Edges, Groups, Network

NETWORK = Network(**SMALL, radii=(0.3,), rims=True, edges=True)


def clouds(*sizes, seed=0):
    torch.manual_seed(seed)
    return PointClouds.from_list([torch.randn(n, 2).double() for n in sizes])


def made():
    torch.manual_seed(1)
    return Completer(2, network=NETWORK, estimate=True, empty=True).double()


def test_the_summary_written_out():
    logits = torch.arange(40.0).double()[None]
    found = Edges(8).double().summary(logits, clouds(40))[0]
    expected = [39 / 4, (39 + 38) / 2 / 4, 4 * float(logits.sigmoid().mean())]
    assert found.tolist() == pytest.approx(expected)


def test_padding_and_order_change_nothing():
    model, x = made(), clouds(50, 1, 23)
    expected = model.encode(x).context
    for other in (shuffled(x, 4)[0], widened(x, 30)):
        assert relative_gap(model.encode(other).context.peak, expected.peak) < 1e-12
    for b, cloud in enumerate(x.to_list()):
        alone = model.encode(PointClouds.from_list([cloud])).context
        assert relative_gap(alone.peak[0], expected.peak[b]) < 1e-12


def test_a_point_beside_a_hole_is_told_so():
    x = PointClouds.from_list([torch.tensor([[0.0, 0.0], [5.0, 0.0]]).double()] * 2)
    removed = PointClouds.from_list([torch.tensor([[0.2, 0.0]]).double()])  # the second is whole
    right = torch.tensor([[30.0, -30.0], [-30.0, -30.0]]).double()
    assert float(Edges.loss(right, x, removed).max()) < 1e-9
    assert Edges.loss(-right, x, removed).tolist() == pytest.approx([30.0, 30.0])


def test_the_estimate_reads_them_and_teaches_them():
    model, x = made().train(), clouds(30, 20)
    context = model.encode(x).context
    assert context.edges.shape == (2, 30)
    model.missing.loss(context.summary, context.peak, torch.tensor([0.5, 0.0])).sum().backward()
    assert float(model.network.edges.mlp.outer.weight.grad.abs().sum()) > 0


def test_a_saved_model_is_the_same(tmp_path):
    model, x = made().float(), clouds(30, 20).to(torch.float32)
    model.save_pretrained(tmp_path)
    again = Completer.from_pretrained(tmp_path)
    assert torch.equal(again.shares(again.encode(x)), model.shares(model.encode(x)))


def test_edges_need_points_that_have_a_place():
    with pytest.raises(ValueError, match="edges"):
        Network(**SMALL, edges=True, groups=Groups())
