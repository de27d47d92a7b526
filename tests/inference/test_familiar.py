"""How far a cloud is from a surface."""

import numpy as np
import pytest

from ddeq.data import load
from ddeq.inference.familiar import thickness

RNG = np.random.default_rng(0)


def test_surfaces_are_thin_and_solids_and_lines_are_not() -> None:
    ball = RNG.normal(size=(1000, 3))
    sphere = ball / np.linalg.norm(ball, axis=1, keepdims=True)
    line = np.outer(RNG.uniform(size=1000), [1.0, 2.0, 3.0])
    assert thickness(sphere) < 0.1
    assert thickness(ball) > 0.45
    assert thickness(line) > 0.45
    assert thickness(load("scans", "validation").raw(0)) < 0.436


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_neither_units_nor_place_nor_order_matter(unit: float) -> None:
    cloud = RNG.normal(size=(300, 3)) * [1.0, 1.0, 0.05]
    expected = thickness(cloud)
    assert thickness(unit * (cloud[::-1] + 100.0)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 17])
def test_few_points_and_one_place(count: int) -> None:
    assert 0.0 <= thickness(np.zeros((count, 3))) <= 1.0
    assert 0.0 <= thickness(RNG.normal(size=(count, 2))) <= 1.0
