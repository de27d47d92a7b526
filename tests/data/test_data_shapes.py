"""Generated shapes."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from ddeq.data.shapes.generator import CLASSES, shape, shapes


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(list(seed))


@pytest.mark.parametrize("name", CLASSES)
def test_shapes_are_finite_about_unit_size_and_reproducible(name):
    for seed in range(8):
        points = shape(name, 300, rng(seed))
        assert points.shape == (300, 3)
        assert points.dtype == np.float32
        assert np.isfinite(points).all()
        assert 0.7 < np.ptp(points, axis=0).max() < 1.6
        assert (points == shape(name, 300, rng(seed))).all()


@pytest.mark.parametrize("name", CLASSES)
def test_shapes_vary(name):
    extents = np.array([np.ptp(shape(name, 400, rng(1, s)), axis=0) for s in range(12)])
    ratios = extents / extents.max(1, keepdims=True)
    assert ratios.std(0).max() > 0.02


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1500])
def test_any_number_of_points(count):
    for name in CLASSES:
        assert shape(name, count, rng(0)).shape == (count, 3)


@pytest.mark.parametrize("name", CLASSES)
def test_points_are_evenly_spread(name):
    points = shape(name, 500, rng(3))
    nearest = cKDTree(points).query(points, k=2)[0][:, 1]
    assert nearest.std() / nearest.mean() < 0.45  # independent points have about 0.52


@pytest.mark.parametrize("name", ["airplane", "bathtub", "car", "chair", "toilet"])
def test_left_and_right_are_alike(name):
    points = shape(name, 800, rng(5)).astype(np.float64)
    mirrored = points * [1, -1, 1]
    assert cKDTree(points).query(mirrored)[0].max() < 0.12


def test_the_set_is_balanced_and_grows_at_its_end():
    small, large = shapes("train", 16, n_points=50), shapes("train", 24, n_points=50)
    assert np.bincount(small.labels).tolist() == [2] * 8
    assert all((small.raw(i) == large.raw(i)).all() for i in range(16))
    assert not (shapes("test", 8, n_points=50).raw(0) == small.raw(0)).all()
    assert not (shapes("train", 8, seed=1, n_points=50).raw(0) == small.raw(0)).all()
    assert small.classes == CLASSES


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="choose from airplane"):
        shape("boat", 10, rng(0))
    with pytest.raises(ValueError, match="n_points"):
        shape("vase", 0, rng(0))
    with pytest.raises(ValueError, match="split"):
        shapes("validation")
