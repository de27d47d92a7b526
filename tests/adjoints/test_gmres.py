"""The linear solver of the implicit gradient, and the penalty on the Jacobian's size."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import Affine
from strategies import seeds

from ddeq import PointClouds, jacobian_penalty
from ddeq.adjoints.gmres import gmres


@given(seeds, st.integers(1, 8), st.sampled_from([0.3, 0.9, 3.0]))
def test_gmres_solves_what_a_direct_solver_does(seed, size, norm):
    """``(I - J) x = r`` with ``J`` a contraction or far from one."""
    torch.manual_seed(seed)
    j = torch.randn(3, size, size, dtype=torch.float64)
    a = (
        torch.eye(size, dtype=torch.float64)
        - norm * j / torch.linalg.matrix_norm(j, 2)[:, None, None]
    )
    right = torch.randn(3, size, dtype=torch.float64)
    found = gmres(lambda x: (a @ x[..., None])[..., 0], right, max_steps=size + 2, tol=1e-14)
    residual = (a @ found[..., None])[..., 0] - right
    well_posed = torch.linalg.cond(a) < 1e6
    assert (residual.norm(dim=1) <= 1e-9 * right.norm(dim=1))[well_posed].all()
    expected = torch.linalg.solve(a, right)
    assert torch.allclose(found[well_posed], expected[well_posed], rtol=1e-6, atol=1e-6)


def test_gmres_treats_each_system_by_itself():
    """A system that is done at once, one with no right side, and one that needs every step."""
    a = torch.stack([torch.eye(6), torch.eye(6), torch.eye(6) - 2 * torch.randn(6, 6)]).double()
    right = torch.randn(3, 6).double()
    right[1] = 0.0
    found = gmres(lambda x: (a @ x[..., None])[..., 0], right, max_steps=10, tol=1e-12)
    assert torch.allclose(found[0], right[0])
    assert (found[1] == 0).all()
    assert torch.allclose(found[2], torch.linalg.solve(a[2], right[2]), rtol=1e-8)
    assert found.isfinite().all()


def test_gmres_minimises_the_residual_in_float32():
    a = (torch.eye(40) - 1.5 * torch.randn(40, 40) / math.sqrt(40))[None]
    right = torch.randn(1, 40)
    errors = []
    for steps in (5, 20, 40):
        found = gmres(lambda x: (a @ x[..., None])[..., 0], right, max_steps=steps, tol=0.0)
        errors.append(float(((a @ found[..., None])[..., 0] - right).norm()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3 * right.norm()


def test_gmres_stops_when_all_systems_are_solved():
    """A matrix with ``k`` different eigenvalues needs ``k`` products."""
    calls = []

    def product(x, values):
        calls.append(len(x))
        return values * x

    for count in (1, 2, 3):
        calls.clear()
        values = 1.0 + torch.arange(6, dtype=torch.float64) % count
        right = torch.randn(2, 6, dtype=torch.float64)
        found = gmres(lambda x, v=values: product(x, v), right, max_steps=6, tol=1e-10)
        assert len(calls) == count
        assert torch.allclose(found, right / values)


def linear_map(f):
    """The Jacobian of a map of one cloud as a matrix."""

    def matrix(z):
        jacobian = torch.autograd.functional.jacobian(
            lambda p: f(PointClouds.from_tensor(p)).points, z
        )
        return jacobian.reshape(z.numel(), z.numel())

    return matrix


def test_jacobian_penalty_of_a_linear_map():
    """``||J v||^2 / (N p)`` for each draw; its mean is ``||J||_F^2 / (N p)``."""
    f = Affine.random([1.3, 0.4], 2)
    z = PointClouds.from_list([torch.randn(n, 2, dtype=torch.float64) for n in (3, 5)])
    draws = torch.stack([jacobian_penalty(f, z, seed=seed) for seed in range(600)])
    for b, cloud in enumerate(z):
        one = f.select(torch.tensor([b]))
        j = linear_map(one)(cloud[None])
        v = torch.as_tensor(np.random.default_rng(7).standard_normal((5, 2)))[: len(cloud)]
        assert torch.allclose(draws[7, b], (j @ v.flatten()).square().sum() / j.shape[0])
        error = draws[:, b].std() / math.sqrt(len(draws))
        assert (draws[:, b].mean() - j.square().sum() / j.shape[0]).abs() < 4 * error
        assert torch.allclose(jacobian_penalty(one, PointClouds.from_list([cloud])), draws[0, b])


def test_jacobian_penalty_can_be_trained_and_is_small_for_a_weak_map():
    weight = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
    z = PointClouds.from_tensor(torch.randn(1, 4, 3, dtype=torch.float64))
    v = np.random.default_rng(0).standard_normal((4, 3))
    penalty = jacobian_penalty(lambda z: z.map(lambda p: weight * p), z)
    penalty.sum().backward()
    assert penalty.item() == pytest.approx(0.25 * np.square(v).mean())
    assert weight.grad.item() == pytest.approx(np.square(v).mean())


def test_jacobian_penalty_is_a_forward_difference():
    """``F(z) = z^2``: ``(F(z + h v) - F(z)) / h = 2 z v + h v^2``."""
    z = PointClouds.from_tensor(torch.randn(1, 4, 3, dtype=torch.float64))
    v = torch.as_tensor(np.random.default_rng(5).standard_normal((4, 3)))
    found = jacobian_penalty(lambda z: z.map(torch.square), z, seed=5, step=0.5)
    expected = (2 * z.points * v + 0.5 * v.square()).square().mean()
    assert found.item() == pytest.approx(expected.item())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_jacobian_penalty_without_gradients(mode):
    f, z = Affine.random([0.5], 3), PointClouds.from_tensor(torch.randn(1, 4, 3).double())
    with mode():
        assert torch.allclose(jacobian_penalty(f, z), jacobian_penalty(f, z))


def test_gmres_stops_relative_to_the_right_side():
    """A system in another unit stops at the same step."""
    a = torch.diag(torch.arange(1.0, 9.0, dtype=torch.float64))
    right = torch.ones(1, 8, dtype=torch.float64)
    plain, scaled = (gmres(lambda x: x @ a, unit * right, 8, tol=0.3) for unit in (1.0, 1024.0))
    assert torch.allclose(scaled, 1024.0 * plain, rtol=1e-9)
    assert 0.01 < ((plain @ a - right).norm() / right.norm()).item() <= 0.3
