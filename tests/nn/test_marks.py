"""Marks, nearness and the missing share: what must not change the answer does not."""

import pytest
import torch
import torch.nn.functional as F

from ddeq import Completer, PointClouds
from ddeq.nn import Attention, BoundedShare, MissingShare, Network

RICH = Network(x_layers=2, fourier=2, radii=(0.2, 0.5), marks=2, near=True)


def clouds(*sizes, dim=2):
    return PointClouds.from_list([torch.randn(n, dim) for n in sizes])


def rich(**more):
    model = Completer(2, estimate=True, empty=True, proportions=True, network=RICH, **more)
    for parameter in model.parameters():  # nothing is zero any more
        parameter.data += 0.02 * torch.randn_like(parameter)
    return model


def test_fresh_marks_change_nothing():
    model, x, z = Completer(2, network=Network(marks=2)), clouds(9, 7), clouds(5, 4, dim=128)
    f = model.encode(x)
    marked = f.mark(torch.randn(2, 5, 2))
    assert torch.equal(f(z).points, marked(z).points)


def test_equivariance_in_pairs_of_particle_and_mark():
    model, x, z, u = rich(), clouds(9, 7), clouds(5, 5, dim=128), torch.randn(2, 5, 2)
    f, order = model.encode(x), torch.tensor([3, 1, 4, 0, 2])
    straight = f.mark(u)(z).points[:, order]
    turned = f.mark(u[:, order])(z.with_points(z.points[:, order])).points
    torch.testing.assert_close(straight, turned, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(f.mark(u[:, order])(z).points, f.mark(u)(z).points)


def test_more_numbers_than_a_mark_has_are_ignored():
    model, x, z, u = rich(), clouds(9, 7), clouds(5, 5, dim=128), torch.randn(2, 5, 6)
    f = model.encode(x)
    assert torch.equal(f.mark(u)(z).points, f.mark(u[..., :2])(z).points)


@pytest.mark.parametrize("marks", [1, 5])
def test_marks_may_have_fewer_or_more_numbers_than_points(marks):
    model = Completer(2, network=Network(features=16, marks=marks))
    x, counts = clouds(9, 7), torch.tensor([4, 3])
    assert model(x, counts=counts).lengths.tolist() == [4, 3]
    again = model.latent(x, start=model.latent(x, counts=counts)[0])[0]
    assert again.lengths.tolist() == [4, 3]


def test_a_start_with_more_padding_has_the_same_marks():
    model, x = rich(), clouds(9, 7)
    start = clouds(4, 3, dim=128)
    wide = PointClouds(F.pad(start.points, (0, 0, 0, 3)), F.pad(start.mask, (0, 3)))
    found, other = (model.latent(x, start=z)[0] for z in (start, wide))
    for a, b in zip(found, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_nearness_is_minus_squared_distance_in_the_logits():
    layer = Attention(16, 4, near=True)
    layer.nearness.rate.data = torch.rand(4)
    target, source, p, x = (torch.randn(1, n, k) for n, k in ((3, 16), (6, 16), (3, 2), (6, 2)))
    key, value = layer.keys_values(source, x)
    query = layer.query(target).unflatten(-1, (-1, 4)).transpose(1, 2)
    gaps = torch.cdist(p, x).square()[:, None] * -10.0 * layer.nearness.rate[:, None, None]
    heads = F.scaled_dot_product_attention(query, key[..., :4], value[..., :4], attn_mask=gaps)
    expected = layer.out(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(target, (key, value), None, p), expected)


@pytest.mark.parametrize("logit", [-100.0, 100.0])
def test_nothing_missing_nothing_added(logit):
    model, x = rich(), clouds(30, 20)
    model.missing.mlp.outer.bias.data[0] = logit
    full = model.complete(x)
    assert torch.equal(full.lengths > x.lengths, torch.tensor([logit > 0] * 2))


def test_config_makes_the_same_model(tmp_path):
    model, x = rich(), clouds(30, 20)
    model.save_pretrained(tmp_path)
    again = Completer.from_pretrained(tmp_path)
    assert again.config() == model.config()
    counts = torch.tensor([7, 0])
    full = model.complete(x, counts=counts)
    assert full.lengths.tolist() == [37, 20]
    assert torch.equal(again.complete(x, counts=counts).points, full.points)


@pytest.mark.parametrize("head", [BoundedShare, MissingShare])
def test_the_loss_of_a_share_is_zero_at_the_truth_and_leaves_the_empty_alone(head):
    made = head(8, ratio=0.3).double()
    mean, peak = torch.randn(2, 4, 8).double()
    truth = made.share(mean, peak).detach()
    if head is MissingShare:
        made.mlp.outer.bias.data[0] = 50.0  # sure that something is missing
        truth = made(mean, peak)[1].exp().detach()
    torch.testing.assert_close(made.loss(mean, peak, truth), torch.zeros(4).double())
    twice = made.loss(mean, peak, 2 * truth)
    torch.testing.assert_close(twice, torch.full_like(twice, 2.0).log().square())
    empty = made.loss(mean, peak, torch.zeros(4).double())
    expected = torch.zeros(4).double() if head is BoundedShare else made(mean, peak)[0]
    torch.testing.assert_close(empty, expected)


def test_the_share_of_some_is_bounded():
    made = MissingShare(8, ratio=0.3)
    made.mlp.outer.weight.data *= 1e3
    share = made.share(*torch.randn(2, 50, 8))
    some = share[share > 0]
    assert 0 < len(some) < 50
    assert (some.log() - torch.tensor(0.3).log()).abs().max() <= 2.0001
