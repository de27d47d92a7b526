"""Gradients at an equilibrium: implicit ones against finite differences, phantom ones beside."""

import math
from dataclasses import replace

import pytest
import torch
from maps import ALIVE, SMALL, Affine, Tracked, relative_gap, small_network

from ddeq import ImplicitGradient, PhantomGradient, PointClouds
from ddeq.nn import Network
from ddeq.solvers import Picard

TIGHT = ImplicitGradient(max_steps=200, tol=1e-12)


def finite_difference(loss, parameters, direction, step=1e-5):
    """Central difference of a loss along a direction in the space of all parameters."""
    with torch.no_grad():
        values = []
        for sign in (1, -2):
            for p, d in zip(parameters, direction, strict=True):
                p += sign * step * d
            values.append(loss())
        for p, d in zip(parameters, direction, strict=True):
            p += step * d
    return float(values[0] - values[1]) / (2 * step)


def random_direction(parameters, seed=0):
    """A unit vector in the space of all parameters."""
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]
    norm = math.sqrt(sum(float(part.square().sum()) for part in parts))
    return [part / norm for part in parts]


def along(gradients, direction):
    return float(sum((g * d).sum() for g, d in zip(gradients, direction, strict=True)))


class Toy:
    """``F(z)_i = c_i + 1/2 tanh(z_i W + mean(z) V + b)``, its rows then put in another order.

    ``F`` has the fixed measure of the map without the permutation; at it, ``F(z)_i = z_{s(i)}``.
    """

    def __init__(self, permuted):
        self.sizes = (5, 3)
        self.z0 = PointClouds.from_list(
            [torch.randn(n, 2, dtype=torch.float64) for n in self.sizes]
        )
        self.anchors = self.z0.with_points(2.0 * torch.randn_like(self.z0.points)).points
        shapes = ((2, 2), (2, 2), (2,))
        self.parameters = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]
        order = torch.arange(5).repeat(2, 1)
        if permuted:
            order = torch.tensor([[2, 0, 1, 4, 3], [1, 2, 0, 3, 4]])
        self.order = order

    def ordered(self, z):
        w, v, b = self.parameters
        return z.with_points(
            self.anchors + 0.5 * torch.tanh(z.points @ w + (z.mean() @ v)[:, None] + b)
        )

    def __call__(self, z):
        image = self.ordered(z).points
        return z.with_points(image.gather(1, self.order[..., None].expand_as(image)))

    def solve(self):
        solution = Picard(max_steps=150, tol=0.0).solve(self.ordered, self.z0)
        return replace(solution, image=self(solution.value).detach())

    @staticmethod
    def loss(z):
        """Of the measure: the order of the particles does not matter."""
        return (z.weights * torch.sin(2 * z.points).prod(2)).sum() + z.mean().pow(3).sum()


@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_implicit_gradient_is_the_finite_difference_of_the_solved_loss(permuted, seed):
    torch.manual_seed(seed)
    toy = Toy(permuted)
    gradients = torch.autograd.grad(toy.loss(TIGHT(toy, toy.solve())), toy.parameters)
    for k in range(3):
        direction = random_direction(toy.parameters, k)
        slope = finite_difference(lambda: toy.loss(toy.solve().value), toy.parameters, direction)
        assert along(gradients, direction) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_the_assignment_matters_in_the_test_above():
    """Pairing particle ``i`` with particle ``i`` of the image gives another, wrong gradient."""
    toy = Toy(permuted=True)
    solution = toy.solve()
    right = torch.autograd.grad(toy.loss(TIGHT(toy, solution)), toy.parameters)
    image = toy(solution.value)
    (g,) = torch.autograd.grad(toy.loss(image), image.points, retain_graph=True)
    jacobian = torch.autograd.functional.jacobian(
        lambda p: toy(PointClouds(p, solution.value.mask)).points, solution.value.points
    )
    j = jacobian.reshape(g.numel(), g.numel())
    naive = torch.linalg.solve((torch.eye(len(j)) - j).T, g.flatten()).view_as(g)
    wrong = torch.autograd.grad(image.points, toy.parameters, naive)
    assert max(relative_gap(a, b) for a, b in zip(wrong, right, strict=True)) > 1e-2


@pytest.mark.parametrize("corners", [3, 5, 8])
def test_implicit_gradient_of_a_rotation(corners):
    """``F`` pulls to the corners of a polygon of radius ``rho`` and turns it by one corner, so
    ``F(z)_i = z_{i+1}``; the loss ``sum |z|^3`` at equilibrium has slope ``3 n rho^2``."""
    rho = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    angle = 2 * math.pi * torch.arange(corners, dtype=torch.float64) / corners

    def f(z):
        r, phi = z.points.norm(dim=2), torch.atan2(z.points[..., 1], z.points[..., 0])
        r = rho + 0.5 * (r - rho)
        phi = phi - 0.3 * torch.sin(corners * phi) / corners + 2 * math.pi / corners
        return z.with_points(torch.stack([r * phi.cos(), r * phi.sin()], dim=2))

    polygon = PointClouds.from_tensor(
        rho.item() * torch.stack([angle.cos(), angle.sin()], dim=1)[None]
    )
    solution = Picard(max_steps=1).solve(f, polygon)
    assert solution.residual < 1e-12
    assert torch.allclose(solution.image.points, polygon.points.roll(-1, dims=1))
    TIGHT(f, solution).points.norm(dim=2).pow(3).sum().backward()
    assert rho.grad.item() == pytest.approx(3 * corners * rho.item() ** 2, rel=1e-9)


class SmallNetwork:
    """A double-precision network whose equilibrium is found to the last digits."""

    def __init__(self, seed=0, **options):
        torch.manual_seed(seed)
        self.network = Network(**SMALL, cross_layers=1, **options).build(2).double().eval()
        with torch.no_grad():
            # a large constant beside the residual path of z: a contraction, so solves are tight
            self.network.z_lift.outer.bias += 5.0 * torch.randn(8, dtype=torch.float64)
        self.x = PointClouds.from_list([torch.randn(n, 2, dtype=torch.float64) for n in (6, 4)])
        self.z0 = PointClouds.from_list([torch.randn(n, 8, dtype=torch.float64) for n in (3, 5)])
        self.fixed = PointClouds.from_list([torch.randn(n, 8, dtype=torch.float64) for n in (2, 4)])
        self.parameters = list(self.network.parameters())

    def solve(self, fixed=False):
        f = self.network.bind(self.network.encode(self.x, self.fixed if fixed else None))
        solution = Picard(max_steps=40, tol=0.0).solve(f.detach(), self.z0)
        return f, solution

    @staticmethod
    def loss(z):
        return (z.weights * torch.sin(z.points).sum(2).square()).sum()


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("pushforward", [False, True])
def test_implicit_gradient_of_a_network(fixed, pushforward):
    case = SmallNetwork(pushforward=pushforward)
    f, solution = case.solve(fixed)
    assert (f(solution.value).points - solution.value.points).abs().max() < 1e-11
    case.loss(TIGHT(f, solution)).backward()
    gradients = [p.grad for p in case.parameters]
    assert all(g is not None for g in gradients)
    for seed in range(2):
        direction = random_direction(case.parameters, seed)
        slope = finite_difference(
            lambda: case.loss(case.solve(fixed)[1].value), case.parameters, direction
        )
        assert along(gradients, direction) == pytest.approx(slope, rel=1e-6)


def test_the_phantom_gradient_points_the_same_way():
    case = SmallNetwork()
    f, solution = case.solve()

    def flat(adjoint):
        case.network.zero_grad()
        case.loss(adjoint(f, solution)).backward(retain_graph=True)
        return torch.cat([p.grad.flatten() for p in case.parameters])

    exact = flat(TIGHT)
    cosine = [
        torch.cosine_similarity(flat(PhantomGradient(steps=steps)), exact, dim=0)
        for steps in (1, 2, 30)
    ]
    assert cosine[0] > 0.1
    assert cosine[-1] > 1 - 1e-6  # many steps are Neumann's series of the implicit gradient


def test_phantom_gradient_is_one_step_of_backpropagation():
    toy = Toy(permuted=False)
    solution = toy.solve()
    found = torch.autograd.grad(toy.loss(PhantomGradient()(toy, solution)), toy.parameters)
    expected = torch.autograd.grad(toy.loss(toy(solution.value.detach())), toy.parameters)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    image = toy(solution.value.detach()).points
    assert torch.equal(PhantomGradient()(toy, solution).points, image)  # nothing is rounded


@pytest.mark.parametrize("damping", [1.0, 0.5])
def test_phantom_gradient_unrolled_by_hand(damping):
    toy = Toy(permuted=False)
    solution = toy.solve()
    z = solution.value
    for _ in range(3):
        z = z.with_points((1 - damping) * z.points + damping * toy(z).points)
    found = PhantomGradient(steps=3, damping=damping)(toy, solution)
    assert torch.allclose(found.points, z.points, atol=1e-14)
    gradients = [torch.autograd.grad(toy.loss(y), toy.parameters) for y in (found, z)]
    assert all(torch.allclose(a, b) for a, b in zip(*gradients, strict=True))


ADJOINTS = {
    "phantom": PhantomGradient(),
    "phantom-3": PhantomGradient(steps=3),
    "phantom-damped": PhantomGradient(steps=2, damping=0.5),
    "implicit": TIGHT,
}


every_adjoint = pytest.mark.parametrize("adjoint", ADJOINTS.values(), ids=ADJOINTS)


@every_adjoint
def test_the_value_does_not_depend_on_the_gradient_mode(adjoint):
    f, z0 = Affine.random([0.5, 0.9], 3), PointClouds.from_tensor(torch.randn(2, 4, 3).double())
    solution = Picard(max_steps=4).solve(f, z0)
    with torch.no_grad():
        without = adjoint(f, solution)
        assert not without.points.requires_grad
    assert torch.allclose(adjoint(f, solution).points, without.points, atol=1e-14)


@every_adjoint
def test_no_graph_outlives_its_backward_pass(adjoint):
    """A training loop must not grow: when the result is gone, so is all that it held."""
    weight = torch.nn.Parameter(0.3 * torch.eye(3))
    z0 = PointClouds.from_tensor(torch.randn(1, 4, 3))

    def f(z):
        return z.map(lambda p: Tracked.apply(p @ weight) + 1.0)

    for _ in range(3):
        equilibrium = adjoint(f, Picard(max_steps=5).solve(f, z0))
        equilibrium.points.sum().backward()
        del equilibrium
    assert len(ALIVE) == 0


@every_adjoint
def test_gradients_do_not_see_the_batch(adjoint):
    network = small_network().requires_grad_(True)
    x = PointClouds.from_list([torch.randn(n, 2).double() for n in (5, 3)])
    z0 = PointClouds.from_list([torch.randn(n, 8).double() for n in (2, 4)])

    def gradient(x, z0):
        f = network.bind(network.encode(x))
        z = adjoint(f, Picard(max_steps=3).solve(f.detach(), z0))
        loss = SmallNetwork.loss(z)
        return torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)

    together = gradient(x, z0)
    single = [
        gradient(*(PointClouds.from_list([c.to_list()[b]]) for c in (x, z0))) for b in range(2)
    ]
    for whole, a, b in zip(together, *single, strict=True):
        if whole is not None:
            assert torch.allclose(whole, a + b, rtol=1e-5, atol=1e-6 * float(whole.abs().max()))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (PhantomGradient, {"steps": 0}),
        (PhantomGradient, {"damping": 0.0}),
        (PhantomGradient, {"damping": 1.1}),
        (ImplicitGradient, {"max_steps": 0}),
        (ImplicitGradient, {"tol": -1.0}),
    ],
)
def test_bad_options_are_refused(kind, options):
    with pytest.raises(ValueError, match="must"):
        kind(**options)
    with pytest.raises(TypeError):
        kind(step=1)
