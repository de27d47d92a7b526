"""The seven corruptions: what each does to the points, and by how much."""

import numpy as np
import pytest

from ddeq.data.robustness import CORRUPTIONS, LEVELS, corrupt

CLOUD = np.random.default_rng(7).uniform(-3, 5, (1024, 3)) * [1.0, 2.0, 0.5]


def ball(cloud):
    cloud = cloud - cloud.mean(0)
    return cloud / np.linalg.norm(cloud, axis=1).max()


def changed(kind, level, seed=0, cloud=CLOUD):
    return corrupt(cloud, kind, level, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("level", range(1, LEVELS + 1))
def test_any_cloud_gives_finite_points_and_the_same_for_the_same_seed(kind, level):
    for cloud in (CLOUD, CLOUD[:1], CLOUD[:2], np.zeros((5, 3))):
        out = changed(kind, level, cloud=cloud)
        assert out.ndim == 2
        assert out.shape[1] == 3
        assert len(out) >= 1
        assert np.isfinite(out).all()
        assert np.array_equal(out, changed(kind, level, cloud=cloud))


@pytest.mark.parametrize(("level", "kept"), [(1, 768), (3, 512), (5, 256)])
def test_drop_global_keeps_its_share_of_the_points(level, kept):
    out = changed("drop global", level)
    assert len(out) == kept
    assert set(map(tuple, out)) <= set(map(tuple, ball(CLOUD)))


@pytest.mark.parametrize("level", range(1, 6))
def test_local_kinds_drop_and_add_a_hundred_points_per_level(level):
    assert len(changed("drop local", level)) == 1024 - 100 * level
    assert len(changed("add local", level)) == 1024 + 100 * level
    assert len(changed("add global", level)) == 1024 + 10 * level


@pytest.mark.parametrize("kind", ["add global", "add local"])
def test_what_is_added_lies_in_the_unit_ball_and_the_rest_stays(kind):
    out = changed(kind, 5)
    assert np.array_equal(out[:1024], ball(CLOUD))
    assert np.linalg.norm(out, axis=1).max() <= 1 + 1e-12


def test_rotate_keeps_all_distances_and_stays_within_its_angle():
    for level in (1, 5):
        for seed in range(20):
            out = changed("rotate", level, seed)
            turn = np.linalg.lstsq(ball(CLOUD), out, rcond=None)[0]
            assert np.allclose(turn @ turn.T, np.eye(3), atol=1e-9)
            angle = np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))
            assert angle <= 3 * level * np.pi / 30
    assert not np.allclose(out, ball(CLOUD), atol=1e-3)


def test_jitter_has_its_deviation():
    noise = changed("jitter", 4) - ball(CLOUD)
    assert noise.std() == pytest.approx(0.04, rel=0.05)


def test_scale_changes_proportions_within_its_bounds():
    for level in (1, 5):
        most = 1.5 + 0.1 * level
        for seed in range(20):
            out = changed("scale", level, seed)
            ratio = out.std(0) / ball(CLOUD).std(0)
            assert ratio.max() / ratio.min() <= most**2 + 1e-9
            assert np.linalg.norm(out, axis=1).max() == pytest.approx(1)
    assert ratio.max() / ratio.min() > 1.01


@pytest.mark.parametrize(("kind", "level"), [("melt", 1), ("scale", 0), ("scale", 6)])
def test_unknown_kinds_and_levels_are_refused(kind, level):
    with pytest.raises(ValueError, match=r"unknown corruption|level must be"):
        changed(kind, level)
