"""Proposals, rims and dense local moments: known answers, and what must not change the answer."""

import pytest
import torch
from maps import SMALL, relative_gap, shuffled, widened

from ddeq import Completer, PointClouds
from ddeq.nn import Network, ProposalMixture, Proposals, local_moments, rim_features
from ddeq.solvers import Picard

HOLES = Network(
    **SMALL,
    cross_layers=1,
    x_layers=2,
    radii=(0.3, 0.6),
    marks=2,
    near=True,
    rims=True,
    proposals=2,
)


def clouds(*sizes, dim=2, seed=0):
    torch.manual_seed(seed)
    return PointClouds.from_list([torch.randn(n, dim).double() for n in sizes])


def made(network=HOLES, dim=2):
    torch.manual_seed(1)
    options = {"estimate": True, "empty": True, "proportions": True, "trust": True}
    return Completer(dim, network=network, solver=Picard(10, 1e-4), **options).double()


def mixture(weights, dim=2):
    weights = torch.tensor([weights]).double()
    places = torch.arange(weights.shape[1]).double()[None, :, None].expand(-1, -1, dim)
    return ProposalMixture(weights.log(), places, torch.ones_like(weights), places)


def test_proposals_are_drawn_in_proportion_to_their_weights():
    drawn = mixture([0.5, 0.2, 1e-12, 0.3]).draw(torch.randn(1, 1000, 2).double())
    assert drawn[0].bincount(minlength=4).tolist() == pytest.approx([500, 200, 0, 300], abs=3)


def test_padding_is_never_drawn():
    padded = mixture([0.7, 0.3, 0.0, 0.0])
    for offset in (-40.0, 0.0, 40.0):
        assert int(padded.draw(torch.full((1, 500, 2), offset).double()).max()) <= 1


def test_more_particles_begin_with_the_anchors_of_fewer():
    model, x = made(), clouds(30, 20)
    few, many = (model.noise(torch.tensor([n, n]), 3).points for n in (9, 25))
    f = model.encode(x)
    short, long = f.mark(few).context, f.mark(many).context
    assert relative_gap(long.anchors[:, :9], short.anchors) < 1e-12
    assert relative_gap(long.shift[:, :9], short.shift) < 1e-12


def test_the_likelihood_of_one_proposal_written_out():
    one = ProposalMixture(
        torch.zeros(1, 1), torch.tensor([[[1.0, 0.0]]]), torch.tensor([[0.5]]), torch.zeros(1, 1, 3)
    )
    wanted = PointClouds.from_list([torch.tensor([[1.0, 2.0], [1.0, 0.0]])])
    expected = (2.0 / 0.5) / 2 + 2 * torch.tensor(0.5).log()
    torch.testing.assert_close(one.negative_log_likelihood(wanted), expected[None])
    nearer = PointClouds.from_list([torch.tensor([[1.0, 1.0], [1.0, 0.0]])])
    assert one.negative_log_likelihood(nearer) < one.negative_log_likelihood(wanted)


def test_a_particle_stays_near_its_anchor():
    model, x = made(), clouds(30, 20)
    noise = model.noise(torch.tensor([8, 5]), 0)
    f = model.encode(x).mark(noise.points)
    start = model.start(x, noise, f)
    assert relative_gap(start.points[..., :2], noise.with_points(f.context.anchors).points) < 1e-12
    moved = (f(start).points[..., :2] - start.points[..., :2]).norm(dim=-1)
    assert float(moved.detach().max()) < 0.2 * 8**0.5  # features are normalised


def test_the_order_of_x_and_of_batches_and_padding_change_nothing():
    model, x, counts = made(), clouds(30, 1, 20), torch.tensor([7, 3, 4])
    dense = clouds(40, 5, 60, seed=2)
    expected = model.latent(x, 0, counts, f=model.encode(x, dense))[0]
    assert expected.points.isfinite().all()
    others = [
        (shuffled(x, 4)[0], shuffled(dense, 5)[0]),
        (widened(x, 3), widened(dense, 6)),
    ]
    for other, more in others:
        found = model.latent(other, 0, counts, f=model.encode(other, more))[0]
        assert relative_gap(found.points, expected.points) < 1e-9
    for b, cloud in enumerate(expected):
        one, more = (PointClouds.from_list([c.to_list()[b]]) for c in (x, dense))
        alone = model.latent(one, 0, counts[b : b + 1], f=model.encode(one, more))[0]
        assert relative_gap(alone.points[0], cloud) < 1e-9


def test_equal_points_and_one_place():
    model, counts = made(), torch.tensor([4])
    for cloud in (torch.zeros(6, 2), torch.ones(1, 2), torch.eye(2).repeat(5, 1)):
        z, _ = model.latent(PointClouds.from_list([cloud.double()]), 0, counts)
        assert z.points.isfinite().all()


def test_every_parameter_has_a_finite_gradient():
    model, x = made().train(), clouds(30, 20)
    f = model.encode(x, clouds(40, 30, seed=3))
    z, _ = model.latent(x, 0, torch.tensor([6, 6]), f=f)
    loss = torch.sin(model.points(z).points).sum() + model.log_distances(z).sum()
    loss = loss + f.context.proposals.negative_log_likelihood(clouds(5, 9, seed=4)).sum()
    loss = (
        loss + model.missing.loss(f.context.summary, f.context.peak, torch.ones(2).double()).sum()
    )
    loss.backward()
    missing = [name for name, p in model.named_parameters() if p.grad is None]
    assert missing == [name for name in missing if name.startswith("coupling")]
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_half_precision_is_near_the_full_one():
    model, x = made().float(), clouds(30, 20).to(torch.float32)
    counts = torch.tensor([6, 4])
    full = model.points(model.latent(x, 0, counts)[0]).points
    with torch.autocast("cpu", torch.bfloat16):
        half = model.points(model.latent(x, 0, counts)[0]).points
    assert half.dtype == torch.float32
    assert float((half - full).detach().abs().median()) < 0.05


def test_a_saved_model_is_the_same(tmp_path):
    model, x = made().float(), clouds(30, 20).to(torch.float32)
    model.save_pretrained(tmp_path)
    again = Completer.from_pretrained(tmp_path)
    assert again.config() == model.config()
    assert again.network_config == HOLES
    expected, found = (m.latent(x, 0, torch.tensor([6, 4]))[0] for m in (model, again))
    assert torch.equal(found.points, expected.points)
    assert torch.equal(again.expected_distances(found), model.log_distances(expected).exp())


def test_without_a_trust_head_no_distance():
    model = Completer(2, **SMALL)
    with pytest.raises(ValueError, match="trust"):
        model.expected_distances(clouds(3, dim=8))


def test_few_marks_serve_proposals_of_more_dimensions():
    network = Network(**SMALL, marks=1, proposals=3)
    model, x = made(network, dim=3), clouds(12, 9, dim=3)
    assert model(x, counts=torch.tensor([5, 2])).lengths.tolist() == [5, 2]


def test_heads_of_a_network_with_proposals_look_near_and_far():
    rates = made().network.cross[0].attention.nearness.rate.detach()
    assert float(rates[0]) == 0.0
    assert float(rates[-1]) == pytest.approx(0.8)
    assert not made(Network(**SMALL, near=True)).network.cross[0].attention.nearness.rate.any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"proposals": 2}, "marks"),
        ({"rims": True}, "radii"),
        ({"proposals": -1}, "proposals"),
        ({"proposals": True}, "proposals"),
        ({"rims": 1, "radii": (1.0,)}, "rims"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Network(**SMALL, **options)


def test_the_proposals_of_a_point_are_relative_to_it():
    torch.manual_seed(0)
    head, high = Proposals(8, 2, 3).double(), torch.randn(1, 4, 8).double()
    x = clouds(4)
    moved = head(high, x.with_points(x.points + 5.0))
    assert relative_gap(moved.places, head(high, x).places + 5.0) < 1e-12


# --- rims and dense samples ------------------------------------------------------------------


def test_widths_are_bounded_and_change_as_their_logarithms_do():
    """``c exp(2 tanh(s / 2))``: near 0 like ``c e^s``, never beyond ``c e^2``."""
    head, x = Proposals(8, 2, 1).double(), clouds(3)
    found = []
    for number in (0.0, 1e-6, 1e3, -1e3):
        with torch.no_grad():
            head.mlp.outer.weight.zero_()
            head.mlp.outer.bias.fill_(number)
        found.append(head(torch.zeros(1, 3, 8).double(), x).widths[0, 0].log().item())
    middle, near, most, least = found
    assert near - middle == pytest.approx(1e-6, rel=1e-3)
    assert (most - middle, least - middle) == pytest.approx((2.0, -2.0))


def half_plane(count=4000):
    """A flat sheet that ends at ``x = 0``, and a point on its rim and one inside."""
    torch.manual_seed(0)
    sheet = torch.rand(count, 3).double() * torch.tensor([4.0, 8.0, 0.0]).double()
    sheet[:, 1] -= 4.0
    sheet[0], sheet[1] = torch.zeros(3), torch.tensor([2.0, 0.0, 0.0])
    return PointClouds.from_list([sheet])


def test_a_rim_is_told_from_the_inside():
    rim, inside = rim_features(local_moments(half_plane(), [0.3]), 3)[0, :2]
    assert float(rim[0]) > 0.3  # away from the hole
    assert float(rim[1:3].abs().max()) < 0.5 * float(rim[0])
    assert float(rim[3]) == pytest.approx(float(rim[:3].norm()))
    assert float(inside[3:].max()) < 0.15


def test_local_moments_of_a_dense_sample():
    x, dense = clouds(5, 3), clouds(50, 20, seed=7)
    found = local_moments(x, (0.5, 1.0), dense)
    for b in range(2):
        both = torch.cat([x.to_list()[b], dense.to_list()[b]])
        weights = torch.exp(-(both[:1] - dense.to_list()[b]).square().sum(1) / 2)
        assert float(found[b, 0, 6]) == pytest.approx(float(weights.mean().log()), rel=1e-9)
    assert relative_gap(local_moments(x, (0.5, 1.0), x), local_moments(x, (0.5, 1.0))) < 1e-12


def test_gradients_of_rims_are_finite_in_one_place():
    cloud = torch.zeros(4, 2, dtype=torch.float64, requires_grad=True)
    rim_features(local_moments(PointClouds.from_list([cloud]), [0.5]), 2).sum().backward()
    assert cloud.grad.isfinite().all()
