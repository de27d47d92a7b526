"""Solvers made of solvers: chains, and mixing of any steps."""

import json
from dataclasses import dataclass, replace

import pytest
import torch
from maps import Affine

from ddeq import Classifier, Completer, PointClouds, metrics
from ddeq.measures.divergences import SlicedMMD
from ddeq.models.pretrained import shipped
from ddeq.registry import from_json, to_json
from ddeq.solvers import (
    Anderson,
    Broyden,
    Chain,
    Picard,
    Solver,
    Step,
    Transport,
    WassersteinFlow,
    Weiszfeld,
)
from ddeq.solvers.weiszfeld import weiszfeld_step


def cloud(*sizes, dim=2):
    return PointClouds.from_list([torch.randn(n, dim, dtype=torch.float64) for n in sizes])


def iterates(solver, f, z0):
    return [z.points for z in solver.solve(f, z0, save_every=1).trajectory[:-1]]


# --- chains ----------------------------------------------------------------------------------


def test_each_solver_of_a_chain_takes_its_steps_and_starts_afresh():
    f, z0 = Affine.random([0.6, 0.3], 3), cloud(4, 5, dim=3)
    flow = WassersteinFlow(3, step_size=0.5, momentum=0.9, decay=0.5)
    found = iterates(Chain(Weiszfeld(2), flow, Anderson(4, tol=0.0)), f, z0)
    assert len(found) == 9
    expected, start = [], z0
    for part in (Weiszfeld(3), replace(flow, max_steps=4), Anderson(4)):
        path = iterates(replace(part, tol=0.0), f, start)
        expected += path[: 4 if isinstance(part, Anderson) else -1]
        start = z0.with_points(path[-1])
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, expected, strict=True))


def test_a_chain_has_the_sum_of_steps_and_the_end_of_its_last():
    chain = Chain(Weiszfeld(4), Picard(26, tol=1e-3))
    assert (chain.max_steps, chain.tol) == (30, 1e-3)
    assert Chain(Weiszfeld(4), Picard(tol=1e-3), max_steps=30).max_steps == 30
    longer = replace(chain, max_steps=40, tol=0.0)
    assert longer.parts == chain.parts
    f, z0 = Affine.random([0.6], 3), cloud(4, dim=3)
    path = iterates(longer, f, z0)
    assert len(path) == 40
    assert torch.equal(path[-1], f(z0.with_points(path[-2])).points)
    assert len(iterates(replace(chain, max_steps=3, tol=0.0), f, z0)) == 3


def test_a_chain_has_one_divergence():
    chain = Chain(Picard(3), WassersteinFlow(5, divergence=SlicedMMD()))
    assert {part.divergence for part in chain.parts} == {SlicedMMD()}
    with pytest.raises(ValueError, match="Weiszfeld steps are made for"):
        Chain(Weiszfeld(4), WassersteinFlow(5, divergence=SlicedMMD()))


@pytest.mark.parametrize(
    "solver",
    [
        Chain(Weiszfeld(4), Picard(26)),
        Chain(Chain(Picard(2), Broyden(3)), Anderson(of=Weiszfeld()), tol=0.1),
        Anderson(of=Transport(damping=0.5), window=3),
        Anderson(of=Chain(Weiszfeld(1), Transport())),
    ],
)
def test_composed_solvers_are_saved(solver):
    assert from_json(json.loads(json.dumps(to_json(solver))), Solver) == solver


@dataclass(frozen=True)
class Settling(Solver):
    """What the chain replaced: one solver that goes on by ``z <- F(z)`` after some steps."""

    settle: int = 4

    def step(self, f, z, state, k):
        image = f(z)
        residual, points = weiszfeld_step(z, image)
        return Step(image, residual, image.points if k >= self.settle else points, state)


SHIPPED = [(kind, name) for kind in (Classifier, Completer) for name in shipped(kind.kind)]


@pytest.mark.parametrize(("kind", "name"), SHIPPED)
def test_shipped_models_answer_bit_for_bit_as_with_one_solver(kind, name):
    model = kind.from_pretrained(name)
    chain = model.solver
    if not (isinstance(chain, Chain) and [*map(type, chain.parts)] == [Weiszfeld, Picard]):
        pytest.skip("it has another solver")
    x = PointClouds.from_list([torch.randn(n, model.dim) for n in (30, 17)])
    answers = []
    for solver in (chain, Settling(chain.max_steps, chain.tol, settle=chain.parts[0].max_steps)):
        model.solver = solver
        with torch.no_grad():
            answers.append(model.latent(x))
    (one, found), (other, expected) = answers
    assert torch.equal(one.points, other.points)
    assert torch.equal(found.residuals, expected.residuals)
    assert found.steps.tolist() == expected.steps.tolist()


# --- mixing ----------------------------------------------------------------------------------


def test_mixing_of_plain_applications_is_the_default():
    f, z0 = Affine.random([0.6, 0.3], 3), cloud(4, 5, dim=3)
    one, other = (iterates(s, f, z0) for s in (Anderson(9), Anderson(9, of=Picard())))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_mixing_keeps_the_state_of_what_it_accelerates():
    f, z0 = Affine.random([0.6, 0.3], 3), cloud(4, 4, dim=3)
    flow = WassersteinFlow(step_size=0.1, momentum=0.9)
    mixer = Anderson(of=flow)
    state = flow.init(z0) | {"velocity": torch.ones_like(z0.points)}
    named = {f"of.{name}": value for name, value in state.items()}
    mixed = mixer.step(f, z0, mixer.init(z0) | named, 0)
    plain = flow.step(f, z0, state, 0)
    assert torch.allclose(mixed.points, plain.points)  # there is nothing to mix yet
    assert torch.equal(mixed.state["of.velocity"], plain.state["velocity"])


def test_weiszfeld_steps_stand_still_where_measures_differ():
    """Coincident particles before a target on both sides of them: no step parts them."""
    z0 = PointClouds.from_tensor(torch.zeros(1, 2, 1))
    target = PointClouds.from_tensor(torch.tensor([[[-1.0], [1.0]]]))
    for solver in (Weiszfeld(20), Anderson(20, of=Weiszfeld())):
        solution = solver.solve(lambda z: target, z0)
        assert torch.equal(solution.value.points, z0.points)
        assert solution.residual.tolist() == [1.0]
        assert not solution.converged.any()
    assert Anderson(20, of=Transport()).solve(lambda z: target, z0).converged.all()


# --- steps along an assignment ---------------------------------------------------------------


def turned(z):
    """A turn by 90 degrees and a pull to the unit circle: squares on it are its fixed measures."""

    def move(p):
        pull = 0.5 + 0.5 / p.norm(dim=-1, keepdim=True).clamp(min=1e-3)
        return pull * torch.stack([-p[..., 1], p[..., 0]], -1)

    return z.map(move)


def test_a_transport_step_by_hand():
    z = PointClouds.from_tensor(torch.tensor([[[0.0], [1.0], [5.0]]]))
    image = z.with_points(torch.tensor([[[6.0], [0.5], [2.0]]]))
    step = Transport(damping=0.5).step(lambda z: image, z, {}, 0)
    assert step.points.flatten().tolist() == [0.25, 1.5, 5.5]
    assert torch.equal(step.image.points, image.points)


def test_transport_is_picard_up_to_the_order():
    f, z0 = Affine.random([0.6, 0.3], 3), cloud(4, 5, dim=3)
    for a, b in zip(iterates(Transport(6), f, z0), iterates(Picard(6), f, z0), strict=True):
        assert metrics.wasserstein2(z0.with_points(a), z0.with_points(b)).max() < 1e-7


def test_mixing_on_an_assignment_finds_a_measure_that_no_particle_rests_in():
    """Mixing by label looks for particles at rest; there is none but the origin."""
    torch.manual_seed(3)
    z0 = cloud(24)
    matched = Anderson(60, tol=1e-8, of=Transport(damping=0.5)).solve(turned, z0)
    labelled = Anderson(60, tol=1e-8).solve(turned, z0)
    assert matched.residual < 1e-2 * labelled.residual
    assert (matched.value.points.norm(dim=-1) - 1).abs().max() < 1e-2
    assert matched.spread > 0.9


def test_mixing_on_an_assignment_needs_fewer_steps_than_the_steps_it_mixes():
    """A slow contraction that also permutes: as a measure it contracts by 0.95 per step."""
    centre = torch.tensor([3.0, -1.0], dtype=torch.float64)
    target = cloud(12).points

    def f(z):
        return z.map(lambda p: (0.95 * (p - target) + target + 0.05 * centre).roll(1, dims=1))

    z0 = cloud(12)
    mixed = Anderson(100, tol=1e-6, of=Transport()).solve(f, z0)
    plain = Transport(100, tol=1e-6).solve(f, z0)
    assert mixed.steps < plain.steps
