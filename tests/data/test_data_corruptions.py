"""Removed parts, noise and augmentations."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ddeq.data import (
    add_noise,
    affine,
    distort,
    drop,
    even,
    item_rng,
    jitter,
    make_partial,
    mirror,
    rotate_z,
    scatter,
    stretch,
)


def rows(cloud: torch.Tensor) -> list[tuple[float, ...]]:
    return sorted(tuple(point) for point in cloud.tolist())


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(2, 60),
    dim=st.integers(1, 3),
    radius=st.floats(0, 10),
    spread=st.sampled_from([0.0, 1e-3, 1.0, 100.0]),
    seed=st.integers(0, 10_000),
)
def test_partial_and_removed_make_up_the_cloud(count, dim, radius, spread, seed):
    cloud = torch.from_numpy(np.random.default_rng(seed).normal(0, spread, (count, dim)))
    kept, removed = make_partial(cloud, radius, item_rng(seed, 3))
    assert len(kept) >= 1
    assert len(removed) >= 1
    assert rows(torch.cat([kept, removed])) == rows(cloud)
    again = make_partial(cloud, radius, item_rng(seed, 3))
    assert torch.equal(kept, again[0])
    assert torch.equal(removed, again[1])


def test_two_balls_are_removed():
    cloud = torch.randn(400, 2, generator=torch.Generator().manual_seed(0))
    kept, removed = make_partial(cloud, 0.5, item_rng(0, 0))
    centres = cloud[np.random.default_rng([0, 0]).choice(400, 2, replace=False)]
    assert (torch.cdist(kept.double(), centres.double()).amin(1) > 0.5).all()
    assert (torch.cdist(removed.double(), centres.double()).amin(1) <= 0.5 + 1e-6).all()


def test_partial_refuses_what_cannot_be_cut():
    with pytest.raises(ValueError, match="two points"):
        make_partial(torch.zeros(1, 2), 0.6, item_rng(0, 0))
    with pytest.raises(ValueError, match="radius"):
        make_partial(torch.zeros(4, 2), -1.0, item_rng(0, 0))


@pytest.mark.parametrize(("fraction", "moved"), [(0.0, 0), (0.05, 5), (0.2, 20), (1.0, 100)])
def test_noise_moves_that_share_of_the_points(fraction, moved):
    cloud = torch.zeros(100, 3)
    noisy = add_noise(cloud, fraction, item_rng(1, 2))
    assert int((noisy != 0).any(1).sum()) == moved
    assert torch.equal(cloud, torch.zeros(100, 3))
    assert torch.equal(noisy, add_noise(cloud, fraction, item_rng(1, 2)))


def test_noise_is_standard_normal():
    noisy = add_noise(torch.zeros(20_000, 2), 1.0, item_rng(0, 0))
    assert noisy.mean(0).abs().max() < 0.03
    assert (noisy.std(0) - 1).abs().max() < 0.03
    with pytest.raises(ValueError, match="fraction"):
        add_noise(torch.zeros(3, 2), 1.5, item_rng(0, 0))


def test_item_streams_differ():
    draws = {item_rng(s, i, e).random() for s in range(3) for i in range(5) for e in range(3)}
    assert len(draws) == 45
    assert item_rng(3, 4).random() == np.random.default_rng([3, 4]).random()


def test_rotation_keeps_height_and_distance_to_the_axis():
    cloud = torch.randn(50, 3, dtype=torch.float64)
    turned = rotate_z(cloud, item_rng(0, 1))
    assert torch.equal(turned[:, 2], cloud[:, 2])
    assert torch.allclose(turned[:, :2].norm(dim=1), cloud[:, :2].norm(dim=1))
    assert not torch.allclose(turned, cloud)


def test_affine_is_small_and_linear():
    a, b = torch.randn(20, 2), torch.randn(20, 2)
    change = [affine(x, item_rng(0, 1)) for x in (a, b, a + b)]
    assert torch.allclose(change[0] + change[1], change[2], atol=1e-5)
    assert (change[0] - a).norm() < 0.6 * a.norm()


def test_mirror_changes_signs_of_the_horizontal_axes_only():
    cloud = torch.randn(9, 3)
    signs = {tuple((mirror(cloud, item_rng(0, i)) / cloud)[0].tolist()) for i in range(40)}
    assert signs == {(1, 1, 1), (-1, 1, 1), (1, -1, 1), (-1, -1, 1)}


def test_distort_is_linear_and_of_the_given_strength():
    cloud = torch.eye(3, dtype=torch.float64)
    changes = torch.stack([distort(cloud, item_rng(0, i), std=0.3) - cloud for i in range(2000)])
    assert changes.mean().abs() < 0.01
    assert float(changes.std()) == pytest.approx(0.3, rel=0.03)


def test_drop_keeps_points_of_the_cloud():
    cloud = torch.randn(100, 3)
    sizes = []
    for i in range(200):
        kept = drop(cloud, item_rng(0, i), most=0.5)
        assert (kept[:, None] == cloud[None]).all(2).any(1).all()
        sizes.append(len(kept))
    assert min(sizes) >= 50
    assert max(sizes) <= 100
    assert 70 < sum(sizes) / 200 < 80


def test_scatter_adds_a_few_points_inside_the_ball():
    cloud = torch.randn(100, 2) + 40
    radius = (cloud - cloud.mean(0)).norm(dim=1).max()
    added = []
    for i in range(300):
        more = scatter(cloud, item_rng(0, i), share=0.5, most=0.1)
        assert torch.equal(more[:100], cloud)
        assert (more[100:] - cloud.mean(0)).norm(dim=1).le(radius + 1e-4).all()
        added.append(len(more) - 100)
    assert max(added) <= 10
    assert 0.4 < sum(n > 0 for n in added) / 300 < 0.55


def test_stretch_scales_each_coordinate_by_itself():
    cloud = torch.randn(9, 3, dtype=torch.float64)
    factors = torch.stack([(stretch(cloud, item_rng(0, i)) / cloud) for i in range(200)])
    assert float((factors - factors[:, :1]).abs().max()) < 1e-12
    logs = factors[:, 0].log()
    assert float(logs.abs().max()) <= 0.25
    assert float(logs.std()) == pytest.approx(0.5 / 12**0.5, rel=0.1)
    assert float(torch.corrcoef(logs.T).triu(1).abs().max()) < 0.25


@pytest.mark.parametrize(
    ("function", "dim"),
    [(rotate_z, 3), (mirror, 3), (affine, 2), (distort, 3), (stretch, 3), (jitter, 3)],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_augmentations_are_pure(function, dim, dtype):
    cloud = torch.randn(9, dim, dtype=dtype)
    before = cloud.clone()
    first, second = function(cloud, item_rng(0, 5)), function(cloud, item_rng(0, 5))
    assert torch.equal(cloud, before)
    assert torch.equal(first, second)
    assert first.dtype == dtype
    assert not torch.equal(first, cloud)


def test_augmentations_refuse_other_dimensions():
    with pytest.raises(ValueError, match="3 dimensions"):
        rotate_z(torch.zeros(4, 2), item_rng(0, 0))
    with pytest.raises(ValueError, match="3 dimensions"):
        mirror(torch.zeros(4, 2), item_rng(0, 0))
    with pytest.raises(ValueError, match="2 dimensions"):
        affine(torch.zeros(4, 3), item_rng(0, 0))


def test_even_changes_a_share_of_the_clouds():
    cloud = torch.from_numpy(np.random.default_rng(0).normal(0, [1.0, 5.0], (50, 2)))
    results = [even(cloud, np.random.default_rng(seed)) for seed in range(200)]
    changed = [r for r in results if not torch.equal(r, cloud)]
    assert 0.15 < len(changed) / 200 < 0.35
    assert (changed[0].std(0, unbiased=False) - 1).abs().max() < 1e-5
