"""The cuts: a partition of the cloud in its order, seeded, with known shares and known shapes."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import KINDS, make_cloud

from ddeq.data.corruptions import make_partial
from ddeq.data.cuts import CUTS, cloud_size, cut_balls, cut_brush, cut_half, cut_view, visible

FLAT = tuple(name for name in CUTS if name != "view")


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def places(cloud: torch.Tensor) -> Counter[tuple[float, ...]]:
    """How many points stand at each place."""
    return Counter(map(tuple, cloud.tolist()))


def in_order(part: torch.Tensor, cloud: torch.Tensor) -> bool:
    """Whether ``part`` is a subsequence of ``cloud``."""
    rest = iter(cloud.tolist())
    return all(any(point == other for other in rest) for point in part.tolist())


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(sorted(CUTS)),
    kind=st.sampled_from(KINDS),
    size=st.integers(1, 60),
    dim=st.integers(1, 3),
    unit=st.sampled_from([1e-3, 1.0, 1e3]),
    seed=st.integers(0, 10_000),
)
def test_the_parts_make_up_the_cloud_in_its_order(name, kind, size, dim, unit, seed):
    dim = 3 if name == "view" else dim
    cloud = unit * make_cloud(kind, size, dim, seed)
    kept, removed = CUTS[name](cloud, rng(seed))
    assert len(kept) >= 1
    assert kept.shape[1] == removed.shape[1] == dim
    assert in_order(kept, cloud)
    assert in_order(removed, cloud)
    assert places(torch.cat([kept, removed])) == places(cloud)
    again = CUTS[name](cloud, rng(seed))
    assert torch.equal(kept, again[0])
    assert torch.equal(removed, again[1])


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(20, 200),
    dim=st.integers(1, 3),
    kind=st.sampled_from(KINDS[2:]),
    seed=st.integers(0, 10_000),
)
def test_brush_and_half_remove_the_share_they_say(size, dim, kind, seed):
    cloud = make_cloud(kind, size, dim, seed)
    for cut, low, high in ((cut_brush, 0.05, 0.6), (cut_half, 0.2, 0.5)):
        share = len(cut(cloud, rng(seed))[1]) / size
        assert low - 0.5 / size <= share <= high + 0.5 / size


@pytest.mark.parametrize("name", FLAT)
def test_other_units_and_another_place_change_no_cut(name):
    cloud = make_cloud("normal", 80, 2, 0)
    removed = CUTS[name](cloud, rng(1))[1]
    moved = CUTS[name](4.0 * cloud + 2.0, rng(1))[1]
    torch.testing.assert_close(moved, 4.0 * removed + 2.0)


def test_different_seeds_cut_differently():
    cloud = make_cloud("normal", 80, 3, 0)
    for name in set(CUTS) - {"whole"}:
        assert len({CUTS[name](cloud, rng(seed))[1].sum().item() for seed in range(5)}) > 1


def test_balls_are_those_of_the_paper_on_a_normalised_cloud():
    cloud = make_cloud("normal", 300, 2, 0)
    cloud = (cloud - cloud.mean(0)) / cloud.std(0, unbiased=False)
    assert cloud_size(cloud) == pytest.approx(1.0)
    assert torch.equal(cut_balls(cloud, rng(3))[1], make_partial(cloud, 0.6, rng(3))[1])


def test_half_is_cut_by_a_plane():
    cloud = make_cloud("normal", 300, 3, 0)
    kept, removed = cut_half(cloud, rng(0))
    generator = rng(0)
    generator.uniform()
    normal = torch.from_numpy(generator.standard_normal(3))
    assert (kept @ normal).max() <= (removed @ normal).min()


def test_the_near_side_of_a_sphere_is_seen():
    sphere = rng(0).standard_normal((1500, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    seen = visible(sphere, np.array([3.0, 0.0, 0.0]))
    truth = sphere[:, 0] > 1 / 3  # the horizon of a camera at distance 3
    assert (seen == truth).mean() > 0.94
    assert seen[sphere[:, 0] > 0.5].mean() > 0.97
    kept, removed = cut_view(torch.from_numpy(sphere), rng(1))
    assert 0.28 < len(kept) / 1500 < 0.42
    assert (kept.mean(0) @ removed.mean(0)) < 0


def test_a_wall_hides_what_stands_behind_it():
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 30), np.linspace(-1, 1, 30)), -1).reshape(-1, 2)
    wall = np.column_stack([np.full(len(grid), 0.5), grid])
    behind = np.column_stack([np.full(50, -0.5), rng(0).uniform(-0.6, 0.6, (50, 2))])
    seen = visible(np.concatenate([wall, behind]), np.array([4.0, 0.1, 0.2]))
    assert seen[:900].mean() > 0.95
    assert seen[900:].mean() < 0.05


def test_duplicates_are_seen_together():
    points = rng(0).standard_normal((40, 3))
    seen = visible(np.concatenate([points, points]), np.array([9.0, 0.0, 0.0]))
    assert (seen[:40] == seen[40:]).all()
    assert seen.any()


def test_only_whole_keeps_everything_and_only_3d_has_a_view():
    cloud = make_cloud("normal", 50, 2, 0)
    assert torch.equal(CUTS["whole"](cloud, rng(0))[0], cloud)
    assert all(len(CUTS[name](cloud, rng(0))[1]) > 0 for name in FLAT if name != "whole")
    with pytest.raises(ValueError, match="3 dimensions"):
        cut_view(cloud, rng(0))
