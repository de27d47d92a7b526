"""Completer: the input bit for bit, then new points; units, counts, flat clouds."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import SMALL, relative_gap, widened
from small_models import assert_same, both_models, clouds, model
from strategies import KINDS, cloud_lists, make_cloud, seeds

from ddeq import Completer, PointClouds
from ddeq.solvers import Picard


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("dim", [2, 3])
def test_complete_returns_its_input_bit_for_bit_then_new_points(dtype, offset, scale, dim):
    made = model("completer", dim=dim, dtype=dtype)
    x = PointClouds.from_list([scale * (torch.randn(n, dim).to(dtype) + offset) for n in (20, 7)])
    full = made.complete(x)
    assert full.points.dtype == dtype
    assert full.lengths.tolist() == [28, 10]
    for cloud, whole in zip(x, full, strict=True):
        assert torch.equal(whole[: len(cloud)], cloud)
        new = whole[len(cloud) :]
        assert new.isfinite().all()
        far = (new - cloud.mean(0)).abs().max() / cloud.std(0).max()
        assert far < 20


@given(batch=cloud_lists(2, dtype=torch.float32), normalize=st.booleans())
def test_complete_keeps_awkward_clouds(batch, normalize):
    full = model("completer").complete(PointClouds.from_list(batch), normalize=normalize)
    for cloud, whole in zip(batch, full, strict=True):
        assert len(whole) > len(cloud)
        assert torch.equal(whole[: len(cloud)], cloud)
        assert whole.isfinite().all()


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_complete_at_extreme_scales(scale):
    made, unit = model("completer"), clouds(12)
    new = made.complete(unit.with_points(scale * unit.points)).to_list()[0][12:]
    assert relative_gap(new / scale, made.complete(unit).to_list()[0][12:]) < 1e-3


@given(seed=seeds, scale=st.sampled_from([1e-3, 0.7, 50.0]))
def test_complete_does_not_depend_on_units(seed, scale):
    torch.manual_seed(seed)
    made = model("completer", dtype=torch.float64)
    x = clouds(8, 5, dtype=torch.float64)
    shift = torch.randn(2, dtype=torch.float64)
    moved = made.complete(x.map(lambda p: scale * p + shift))
    expected = made.complete(x).map(lambda p: scale * p + shift)
    assert_same(moved, expected, 1e-7)


@pytest.mark.parametrize("value", [2.0, 2.7, 1e4])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("proportions", [False, True])
def test_a_flat_cloud_is_completed_in_its_plane_in_any_unit(value, unit, proportions):
    made = model("completer", dim=3, proportions=proportions)
    wall = torch.randn(40, 3)
    wall[:, 2] = value
    expected = made.complete(wall)[40:]
    found = made.complete(unit * wall)
    assert torch.equal(found[:40], unit * wall)
    assert (found[40:, 2] == found[0, 2]).all()
    assert relative_gap(found[40:, :2] / unit, expected[:, :2]) < 1e-3


@both_models
@pytest.mark.parametrize("shape", KINDS)
def test_results_of_degenerate_clouds_do_not_depend_on_units(kind, shape):
    made = model(kind, dtype=torch.float64)
    cloud = make_cloud(shape, 12, 2, seed=3)
    run = made if kind == "classifier" else lambda x: made.complete(x).points
    expected = run(PointClouds.from_list([cloud]))
    for unit in (1e-6, 1e9):
        found = run(PointClouds.from_list([unit * cloud]))
        gap = found - expected if kind == "classifier" else found / unit - expected
        assert gap.abs().max() < 1e-6 * max(1.0, float(cloud.abs().max()))


def test_complete_with_counts_and_without_normalisation():
    made, x = model("completer"), clouds(9, 4)
    counts = torch.tensor([2, 13])
    full = made.complete(x, counts=counts)
    assert full.lengths.tolist() == [11, 17]
    plain = made.complete(x, counts=counts, normalize=False)
    for cloud, whole, new in zip(x, plain, made(x, counts=counts), strict=True):
        assert torch.equal(whole, torch.cat([cloud, new]))
    assert made.complete(x, counts=torch.tensor([0, 1])).lengths.tolist() == [9, 5]
    assert made.complete(x, counts=torch.tensor([0, 0])).lengths.tolist() == [9, 4]
    for bad in (torch.tensor([1]), torch.tensor([-1, 1])):
        with pytest.raises(ValueError, match="counts"):
            made.complete(x, counts=bad)


@pytest.mark.parametrize("ratio", [0.275, 0.01, 1.5])
def test_the_number_of_new_points(ratio):
    made = Completer(2, ratio=ratio, solver=Picard(max_steps=1), **SMALL)
    sizes = (40, 1, 11)
    added = (made.complete(clouds(*sizes)).lengths - torch.tensor(sizes)).tolist()
    assert added == [max(round(ratio * n), 1) for n in sizes]


@given(batch=cloud_lists(2, dtype=torch.float32))
def test_the_estimated_number_of_new_points_is_bounded_and_blind_to_batches(batch):
    made = model("completer", estimate=True, solver=Picard(max_steps=1))
    together = made.shares(made.encode(PointClouds.from_list(batch)))
    added = made.complete(PointClouds.from_list(batch), normalize=False).lengths
    for cloud, share, count in zip(batch, together, added, strict=True):
        assert 0.4 / math.e <= float(share.detach()) <= 0.4 * math.e
        alone = made.shares(made.encode(PointClouds.from_list([cloud])))[0]
        assert relative_gap(alone, share) < 1e-4
        assert int(count) - len(cloud) == max(1, round(float(share.detach()) * len(cloud)))


@pytest.mark.parametrize("size", range(20, 110, 10))
def test_the_estimated_number_does_not_depend_on_the_batch_where_it_is_rounded(size):
    """``share * size`` lies at ``k + 1/2`` up to its last bits, which padding changes."""
    made = model("completer", estimate=True, solver=Picard(max_steps=1))
    x = clouds(size, 131, 7)
    share = float(made.shares(made.encode(x))[0].detach().double())
    made.missing.ratio *= (math.floor(share * size) + 0.5) / (share * size)
    batches = [x[:1], x, x[[1, 0]], widened(x, 9)]
    where = [0, 0, 1, 0]
    found = {int(made.counts(b)[i]) for b, i in zip(batches, where, strict=True)}
    alone = PointClouds.from_list([x.to_list()[0]])
    found |= {int(made(b).lengths[i]) for b, i in zip([alone, *batches[1:]], where, strict=True)}
    assert len(found) == 1


def test_only_clouds_at_the_edge_of_rounding_are_encoded_twice(monkeypatch):
    made = model("completer", estimate=True, solver=Picard(max_steps=1))
    x, alone = clouds(100, 60, 30), []
    share = float(made.shares(made.encode(x))[0].detach().double())
    once = made._share_alone
    monkeypatch.setattr(made, "_share_alone", lambda cloud: alone.append(len(cloud)) or once(cloud))
    made.missing.ratio *= (math.floor(share * 100) + 0.25) / (share * 100)
    made.counts(x[:1])
    assert not alone
    made.missing.ratio *= (math.floor(share * 100) + 0.5) / (math.floor(share * 100) + 0.25)
    made.counts(x)
    assert 100 in alone
    assert len(alone) < 3


def test_an_estimate_can_be_overruled_and_is_differentiable():
    made, x = model("completer", estimate=True), clouds(9, 4)
    assert made(x, counts=torch.tensor([3, 5])).lengths.tolist() == [3, 5]
    made.shares(made.encode(x)).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in made.missing.parameters())
    assert made.network.x_encoder.mlp.inner.weight.grad.any()


def test_free_particles_start_with_the_mean_and_deviation_of_the_input():
    made = model("completer", solver=Picard(max_steps=1))
    x = PointClouds.from_list([torch.randn(50, 2) * torch.tensor([3.0, 0.1]) + 5.0])
    counts = torch.tensor([1000])
    _, solution = made.latent(x, counts=counts, save_every=1)
    start = made.points(solution.trajectory[0])
    assert torch.allclose(start.mean(), x.mean(), atol=0.2)
    assert torch.allclose(start.std(), x.std(), rtol=0.05)


def test_points_are_the_first_coordinates_of_the_inverse_coupling():
    made = model("completer", dim=3)
    z, _ = made.latent(clouds(9, 4, dim=3))
    in_full = made.coupling.inverse(z.points)[..., :3] * z.mask[..., None]
    assert torch.equal(made.points(z).points, in_full)
    x = clouds(6, 2, dim=3)
    assert torch.equal(made.points(x.map(made.coupling.lift)).points, x.points)


def test_fixed_particles_are_seen():
    """Moving one input point moves the new points, also through the fixed particles alone."""
    made = model("completer", dtype=torch.float64)
    x, z0 = clouds(6, dtype=torch.float64), clouds(3, dim=8, dtype=torch.float64)
    fixed = x.map(made.coupling.lift)
    moved = fixed.with_points(fixed.points + torch.randn_like(fixed.points))
    images = [made.network.step(z0, made.network.encode(x, c)).points for c in (fixed, moved, None)]
    assert relative_gap(images[1], images[0]) > 1e-3
    assert relative_gap(images[2], images[0]) > 1e-3
