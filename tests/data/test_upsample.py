"""Filling in a coarse answer: on its surface, even, exact counts, any units."""

import numpy as np
import pytest

from ddeq.data.upsample import upsample


def sphere(count, seed=0):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_new_points_lie_on_the_surface_of_a_sphere():
    radii = np.linalg.norm(upsample(sphere(800), 50_000), axis=1)
    assert radii.max() <= 1 + 1e-12
    assert np.quantile(radii, 0.01) > 0.98


def test_points_fill_the_surface_evenly():
    coarse = sphere(500)
    fine = upsample(coarse, 40_000)
    assert np.abs(fine.mean(0) - coarse.mean(0)).max() < 0.01
    assert np.abs((fine > 0).mean(0) - (coarse > 0).mean(0)).max() < 0.01


def test_parts_that_are_far_apart_are_not_bridged():
    near = np.random.default_rng(0).uniform(size=(100, 2))
    far = near + np.array([50.0, 0.0])
    fine = upsample(np.concatenate([near, far]), 5000)
    assert ((fine[:, 0] < 2) | (fine[:, 0] > 49)).all()


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("n", "count"), [(1, 1), (1, 9), (2, 9), (5, 3), (5, 5), (40, 1000), (0, 0)]
)
def test_counts(dim, n, count):
    coarse = np.random.default_rng(1).normal(size=(n, dim))
    fine = upsample(coarse, count)
    assert len(fine) == (count if n > 1 else min(n, count))
    assert np.isfinite(fine).all()
    assert np.array_equal(fine[:n], coarse[:count])


def test_units_and_type_are_those_of_the_input():
    coarse = sphere(60)
    far = 5e6 + 2000.0 * coarse
    assert np.allclose(upsample(far, 700), 5e6 + 2000.0 * upsample(coarse, 700), atol=1e-5)
    assert upsample(coarse.astype(np.float32), 70).dtype == np.float32


def test_duplicates_stay_finite():
    coarse = np.zeros((20, 3))
    assert np.array_equal(upsample(coarse, 100), np.zeros((100, 3)))


def test_the_same_seed_gives_the_same_points():
    coarse = sphere(50)
    assert np.array_equal(upsample(coarse, 500, seed=3), upsample(coarse, 500, seed=3))
    assert not np.array_equal(upsample(coarse, 500, seed=3), upsample(coarse, 500, seed=4))
