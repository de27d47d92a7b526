"""``ddeq.equilibrium``: any map, of clouds or of tensors, and its exact gradient."""

import pytest
import torch

import ddeq
from ddeq.measures.clouds import PointClouds
from ddeq.solvers import Picard

B, N, D = 2, 5, 3


def linear(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """A contraction ``A`` and a shift ``b`` per particle."""
    torch.manual_seed(seed)
    a = torch.randn(D, D, dtype=torch.float64)
    a = 0.7 * a / torch.linalg.matrix_norm(a, 2)
    return a.requires_grad_(), torch.randn(B, N, D, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("seed", range(3))
def test_value_and_gradient_of_a_linear_map_are_those_of_its_solution(seed: int) -> None:
    a, b = linear(seed)
    z = ddeq.equilibrium(lambda z: z @ a.T + b, torch.zeros_like(b))
    exact = torch.linalg.solve(torch.eye(D, dtype=a.dtype) - a, b.mT).mT
    torch.testing.assert_close(z, exact, rtol=1e-4, atol=1e-5)
    weights = torch.randn_like(z)
    found = torch.autograd.grad((weights * z.square()).sum(), (a, b))
    expected = torch.autograd.grad((weights * exact.square()).sum(), (a, b))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_clouds_of_different_sizes() -> None:
    a, _ = linear()
    z0 = PointClouds.from_list([torch.randn(n, D, dtype=torch.float64) for n in (4, 7)])
    shift = z0.detach()
    z = ddeq.equilibrium(lambda z: z.with_points(z.points @ a.T + shift.points), z0)
    assert isinstance(z, PointClouds)
    assert (z.mask == z0.mask).all()
    alone = ddeq.equilibrium(lambda z: z @ a.T + shift.points[:1, :4], z0.points[:1, :4])
    torch.testing.assert_close(z.points[:1, :4], alone, rtol=1e-4, atol=1e-5)
    (gradient,) = torch.autograd.grad(z.points.sum(), a)
    assert gradient.isfinite().all()


def test_a_layer_of_a_network_is_trained() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(D, D)
    with torch.no_grad():
        layer.weight.mul_(0.3)
    x, target = torch.randn(B, N, D), torch.randn(B, N, D)
    optimizer = torch.optim.Adam(layer.parameters(), 0.02)
    losses = []
    for _ in range(30):
        z = ddeq.equilibrium(lambda z: torch.tanh(layer(z)) + x, torch.zeros_like(x))
        loss = (z - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]


def test_solver_and_adjoint_are_taken() -> None:
    a, b = linear()
    seen = []

    def f(z: torch.Tensor) -> torch.Tensor:
        seen.append(torch.is_grad_enabled())
        return z @ a.T + b

    z = ddeq.equilibrium(f, b, solver=Picard(max_steps=3, tol=0.0), adjoint=ddeq.PhantomGradient())
    assert seen == [False] * 3 + [True]
    with torch.no_grad():
        again = ddeq.equilibrium(f, b, solver=Picard(max_steps=3, tol=0.0))
    torch.testing.assert_close(z.detach(), again)
    assert not again.requires_grad


def test_the_map_of_a_model() -> None:
    model = ddeq.Completer(2, features=16, head_size=4, cross_layers=1)
    x = PointClouds.from_list([torch.randn(9, 2), torch.randn(6, 2)])
    f = model.encode(x)
    z = ddeq.equilibrium(f, model.latent(x, f=f)[1].value, model.solver, model.adjoint)
    assert z.points.isfinite().all()


@pytest.mark.parametrize(
    ("f", "z0", "error", "words"),
    [
        (lambda z: z, torch.zeros(3, 2), ValueError, "B, N, d"),
        (lambda z: z, torch.zeros(1, 3, 2, dtype=torch.long), ValueError, "floating"),
        (lambda z: z[:, :1], torch.zeros(1, 3, 2), ValueError, "keep the shape"),
        (lambda z: z.tolist(), torch.zeros(1, 3, 2), TypeError, "a tensor"),
        (lambda z: z.points, PointClouds.from_list([torch.ones(2, 2)]), TypeError, "PointClouds"),
        (
            lambda z: PointClouds.from_tensor(z.points[:, :1]),
            PointClouds.from_list([torch.ones(2, 2)]),
            ValueError,
            "keep the number",
        ),
    ],
)
def test_what_is_no_such_map_is_said(f, z0, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ddeq.equilibrium(f, z0)
