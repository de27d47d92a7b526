"""Maps, starts and comparisons that the tests of solvers share."""

from dataclasses import replace

import pytest
import torch
from maps import (
    SOLVERS,
    Affine,
    relative_gap,
)

from ddeq import PointClouds

every_solver = pytest.mark.parametrize("name", SOLVERS)


def solver(name, **options):
    return replace(SOLVERS[name], **options)


def particles(*sizes, dim=3, dtype=torch.float64):
    return PointClouds.from_list([torch.randn(size, dim, dtype=dtype) for size in sizes])


def staggered(dtype=torch.float64):
    """A map and a start whose clouds finish at different times."""
    return Affine.random([0.9, 0.05, 0.5], 3, dtype), particles(4, 6, 3, dtype=dtype)


def assert_same(found, expected, tolerance, steps=True):
    """Two solutions of the same clouds agree."""
    assert relative_gap(found.value.points, expected.value.points) < tolerance
    assert relative_gap(found.image.points, expected.image.points) < tolerance
    scale = expected.initial_residual.clamp(min=1e-30)
    assert ((found.residual - expected.residual) / scale).abs().max() < tolerance
    if steps:
        assert found.steps.tolist() == expected.steps.tolist()
        assert found.converged.tolist() == expected.converged.tolist()


def part(solution, index):
    """What a solution says of some of its clouds."""
    names = ("value", "image", "residual", "initial_residual", "steps", "converged")
    return replace(solution, **{name: getattr(solution, name)[index] for name in names})
