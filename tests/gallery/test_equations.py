"""Every equation of the gallery against its known answer."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch

from ddeq import PointClouds, mmd2
from ddeq.gallery import Equation, equations
from ddeq.gallery.barycentre import Barycentre
from ddeq.gallery.circle import Circle
from ddeq.gallery.equation import cycle, normal_marks
from ddeq.gallery.game import MeanFieldGame
from ddeq.gallery.iterated import Sierpinski
from ddeq.gallery.quicksort import Quicksort
from ddeq.solvers import Picard

NAMES = sorted(equations())


@pytest.fixture(params=NAMES)
def equation(request) -> Equation:
    return equations()[request.param]()


@cache
def solved(equation: Equation) -> PointClouds:
    return equation.solver.solve(equation.f, equation.z0).value


def test_all_are_listed():
    expected = {"barycentre", "bellman", "circle", "fern", "game", "mckean-vlasov"}
    assert expected | {"quicksort", "sierpinski"} == set(NAMES)


def test_the_start_is_far_and_the_equilibrium_near_the_answer(equation):
    z = solved(equation)
    assert equation.error(equation.z0) > 3 * equation.tolerance
    assert equation.error(z) < equation.tolerance
    residual = mmd2(z, equation.f(z)) / z.std().square().sum(1).sqrt()
    # at most that of two even chains of N points, one between the points of the other
    assert float(residual.max()) < 4 / z.points.shape[1] ** 2


def test_draws_have_the_moments_of_the_answer(equation):
    """The two ways to the answer, moments and sampling, share no code."""
    assert equation.error(equation.sample(20_000)) < 0.03


def test_the_law_is_the_answers_and_not_its_moments_alone(equation):
    z, drawn = solved(equation), equation.sample(1500)
    size = 1500.0**-0.5
    spread = drawn.std().square().sum(1).sqrt()
    assert bool((mmd2(z, drawn) / spread < 4 * size**2 + equation.tolerance**2).all())


def test_same_seed_same_equation(equation):
    again = type(equation)(seed=equation.seed)
    assert torch.equal(again.z0.points, equation.z0.points)
    assert torch.equal(again.f(again.z0).points, equation.f(equation.z0).points)


def test_error_is_one_for_a_collapse_and_infinite_for_nan(equation):
    mean, _ = equation.moments()
    collapsed = PointClouds.from_tensor(mean[:, None].expand(-1, 5, -1))
    assert equation.error(collapsed) == pytest.approx(1.0, abs=1e-6)
    assert equation.error(collapsed.map(lambda p: p * float("nan"))) == math.inf


def test_too_few_particles_are_an_error(equation):
    with pytest.raises(ValueError, match="at least 2"):
        type(equation)(particles=1)


def test_parents_form_one_cycle():
    parents = cycle(50, torch.Generator().manual_seed(3))
    seen, at = [], 0
    for _ in range(50):
        seen.append(at)
        at = int(parents[at])
    assert at == 0
    assert sorted(seen) == list(range(50))


def test_normal_marks_have_exact_moments():
    marks = normal_marks(40, 3, torch.Generator().manual_seed(0))
    assert torch.allclose(marks.mean(0), torch.zeros(3, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(marks.T @ marks / 40, torch.eye(3, dtype=torch.float64), atol=1e-12)


def test_barycentre_of_commuting_gaussians_averages_the_roots():
    commuting = Barycentre(
        means=((0.0, 0.0), (2.0, 4.0)),
        covariances=(((1.0, 0.0), (0.0, 9.0)), ((25.0, 0.0), (0.0, 1.0))),
    )
    mean, covariance = commuting.moments()
    assert torch.allclose(mean, mean.new_tensor([[1.0, 2.0]]))
    assert torch.allclose(covariance, covariance.new_tensor([[[9.0, 0.0], [0.0, 4.0]]]))


def test_moments_that_are_known_by_hand():
    mean, covariance = Sierpinski().moments()
    # corners (0, 0), (1, 0), (1/2, sqrt(3)/2): variance of Z is a third of the corners'
    assert mean[0].tolist() == pytest.approx([0.5, math.sqrt(3) / 6])
    assert covariance[0].flatten().tolist() == pytest.approx([1 / 18, 0, 0, 1 / 18])
    assert float(Quicksort().moments()[1]) == pytest.approx(0.42026, abs=1e-5)


def test_game_nobody_gains_at_equilibrium_and_best_replies_alone_diverge():
    game = MeanFieldGame()
    z = solved(game)
    assert game.exploitability(game.z0) > 1
    assert abs(game.exploitability(z)) < 1e-12
    moved = z.map(lambda p: p + 1e-3 * torch.randn_like(p))
    assert game.exploitability(moved) > 0
    plain = Picard(max_steps=60, tol=0.0).solve(game.f, z.map(lambda p: p + 1e-3))
    assert float(plain.residuals[-1]) > 10 * float(plain.residuals[0])


def test_on_the_circle_no_particle_rests_and_the_measure_does():
    circle = Circle()
    z = solved(circle)
    moved = (circle.f(z).points - z.points).norm(dim=2)
    assert float(moved.min()) > 1
    assert circle.error(Picard(max_steps=200, tol=0.0).solve(circle.f, circle.z0).value) > 0.5
