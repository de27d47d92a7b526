"""Diagnostics against maps whose equilibria and derivatives are known exactly."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from maps import Affine

from ddeq import Classifier, Completer, PointClouds
from ddeq.cli import check_equilibrium as command
from ddeq.data import collate, load
from ddeq.diagnostics import Problem, check_equilibrium, pose, spectral_radius
from ddeq.diagnostics.checks import applied, mean_distance, other_starts, residual_over_spread
from ddeq.errors import DdeqError
from ddeq.solvers import Chain, Picard, Weiszfeld

SMALL = {"features": 8, "bilinear": 4, "head_size": 4, "cross_layers": 1}


@pytest.mark.parametrize(
    "make", [lambda: Classifier(2, 10, **SMALL), lambda: Completer(2, **SMALL)]
)
def test_one_cloud_cannot_be_compared(make):
    data = load("mnist-mini", "test")
    for clouds, some in ((1, data), (64, data.subset(np.array([0])))):
        with pytest.raises(DdeqError, match="2 clouds at least, not 1"):
            pose(make(), some, clouds=clouds)


def ragged(sizes=(5, 3, 7), dim=3, seed=0) -> PointClouds:
    generator = torch.Generator().manual_seed(seed)
    return PointClouds.from_list(
        [torch.randn(n, dim, generator=generator, dtype=torch.float64) for n in sizes]
    )


class Marked:
    """``F(z)_i = rate z_i + u_i``, whose equilibrium ``u_i / (1 - rate)`` is spread."""

    def __init__(self, rate: float, marks: PointClouds) -> None:
        self.rate, self.marks = rate, marks

    def __call__(self, z: PointClouds) -> PointClouds:
        return z.with_points(self.rate * z.points + self.marks.points)

    def select(self, index) -> Marked:
        return Marked(self.rate, self.marks[index])


def marked(rate: float) -> Problem:
    marks = ragged()
    goal = marks.points / (1 - rate)

    def distance(z: PointClouds):
        return 1.0 + (z.points - goal).flatten(1).norm(dim=1)

    return Problem(
        Marked(rate, marks),
        Picard(max_steps=60, tol=1e-12),
        lambda seed: ragged(seed=seed + 5),
        score=distance,
        error=distance,
        metric="W2",
    )


def bars(problem: Problem) -> dict[str, bool]:
    return {bar.name: bar.passed for bar in check_equilibrium(problem).bars}


@pytest.mark.parametrize("rates", [[0.3, 0.8, 0.99], [1.2, 0.5, 0.1]])
def test_spectral_radius_of_an_affine_map_is_known(rates):
    f = Affine.random(rates, dim=3)
    z = ragged()
    # all particles by themselves: a; their mean: a + b
    both = [torch.linalg.eigvals(m).abs().max() for m in (f.a, f.a + f.b)]
    expected = f.rate * max(both)
    assert torch.allclose(spectral_radius(f, z), expected, rtol=1e-6)


def test_spectral_radius_of_a_cloud_does_not_depend_on_its_batch():
    f, z = Affine.random([0.3, 0.8, 0.9], dim=3), ragged()
    together = spectral_radius(f, z)
    index = torch.tensor([1])
    alone = spectral_radius(f.select(index), PointClouds.from_list([z.to_list()[1]]))
    assert torch.allclose(together[1:2], alone, rtol=1e-6)


def test_spectral_radius_sees_through_an_exchange_of_particles():
    """``z`` is at rest as a measure while its two particles change places."""
    z = PointClouds.from_tensor(torch.tensor([[[-1.0], [1.0]]], dtype=torch.float64))
    assert float(spectral_radius(lambda z: z.with_points(z.points.flip(1)), z)) == pytest.approx(1)
    pulled = lambda z: z.with_points((0.5 * z.points + 0.5 * z.points.sign()).flip(1))  # noqa: E731
    assert float(spectral_radius(pulled, z)) == pytest.approx(0.5)


def test_an_unstopped_solver_goes_on_below_the_rounding_of_a_far_start():
    far = PointClouds.from_tensor(1e3 * torch.randn(2, 8, 3))
    problem = Problem(lambda z: z.map(lambda p: 0.5 * p), Picard(8, 0.0), lambda seed: far)
    stopped, unstopped = (p.solver.solve(problem.f, far) for p in (problem, problem.unstopped(60)))
    assert (unstopped.steps > stopped.steps).all()
    assert (unstopped.value.points.abs() < 1e-9).all()
    chain = replace(problem, solver=Chain(Weiszfeld(4), Picard(26))).unstopped(40)
    assert chain.solver.max_steps == 40


def test_residual_over_spread_has_the_scale_of_the_cloud():
    z = ragged()
    moved = z.map(lambda p: p + 0.1)
    value = residual_over_spread(z, moved)
    scaled = residual_over_spread(z.map(lambda p: 7 * p), moved.map(lambda p: 7 * p))
    assert torch.allclose(value, scaled)
    assert torch.equal(residual_over_spread(z, z), torch.zeros(3, dtype=torch.float64))
    two = PointClouds.from_tensor(torch.tensor([[[0.0], [1.0]]], dtype=torch.float64))
    assert float(mean_distance(two)) == 0.5


def test_a_marked_contraction_meets_every_bar():
    report = check_equilibrium(marked(0.5))
    assert report.passed, report.lines()
    assert report.found["drift"]["100x"]["over unit"] < 1e-9
    assert report.found["spectral radius"]["at the answer"] == pytest.approx([0.5] * 3)
    assert report.found["bypassed"]["F applied 1x"] > report.found["bypassed"]["the answer"]
    assert json.dumps(report.to_json())


def test_a_slow_contraction_fails_where_it_should():
    found = bars(marked(0.995))
    assert not found["clouds with spectral radius < 0.97"]
    assert not found["clouds with residual over spread 1e-6 in 40 evaluations"]
    assert not found["AA-MMD of answers as given"]


def test_a_neutral_map_is_flagged():
    """Every measure is an equilibrium of the identity: nothing drifts, all starts differ."""
    problem = Problem(lambda z: z, Picard(max_steps=8), lambda seed: ragged(seed=seed + 5))
    found = bars(problem)
    assert found["drift from 1x to 100x over distance of clouds"]
    assert not found["AA-MMD of answers at 10x"]
    assert not found["clouds with spectral radius < 0.97"]


def test_a_drifting_map_is_flagged():
    problem = Problem(
        lambda z: z.map(lambda p: p + 0.01), Picard(max_steps=8), lambda seed: ragged(seed=seed + 5)
    )
    assert not bars(problem)["drift from 1x to 100x over distance of clouds"]


def test_a_unique_equilibrium_without_marks_is_one_point():
    """The theorem: an equivariant contraction has all its particles in one place."""
    f = Affine.random([0.5, 0.6, 0.7], dim=3)
    problem = Problem(f, Picard(max_steps=200, tol=0.0), lambda seed: ragged(seed=seed + 5))
    report = check_equilibrium(problem)
    found = {bar.name: bar.passed for bar in report.bars}
    assert not found.pop("particles distinct: spread over distance")
    assert all(found.values()), found
    assert report.found["residual"]["over"] == "distance of clouds"


def test_one_cloud_has_nothing_to_be_compared_with():
    problem = Problem(lambda z: z, Picard(), lambda seed: ragged((4,)))
    with pytest.raises(ValueError, match="at least two"):
        check_equilibrium(problem)


def test_other_starts_keep_the_sizes_of_clouds():
    problem, start = marked(0.5), ragged()
    names = []
    for name, other in other_starts(problem, start, start, 0):
        names.append(name)
        assert torch.equal(other.mask, start.mask)
        assert float(other.points[~other.mask].abs().sum()) == 0
    assert len(set(names)) == 5
    assert torch.equal(applied(problem.f, start, 0).points, start.points)


@pytest.mark.parametrize("marks", [0, 2])
@pytest.mark.parametrize("kind", ["classifier", "completer"])
def test_models_are_posed_with_the_marks_of_their_seed(kind, marks):
    torch.manual_seed(0)
    data = load("mnist-mini", "test")
    options = {**SMALL, "marks": marks, "solver": Picard(max_steps=5)}
    if kind == "classifier":
        model = Classifier(2, 10, particles=4, proportions=True, **options)
    else:
        model = Completer(2, **options)
    model.requires_grad_(False)
    problem = pose(model, data, clouds=3, seed=7)
    answer, _ = problem.solve(problem.start(7))
    report = check_equilibrium(problem, seed=7)
    assert report.found["clouds"] == 3
    assert all(line for line in report.lines()[2:4])
    assert answer.points.isfinite().all()
    if kind == "classifier":
        assert set(report.found["particles"]["score by number"]) == {
            "1",
            "2",
            "5",
            "10",
            "20",
            "64",
        }


def test_the_answer_is_the_models_own():
    torch.manual_seed(0)
    data = load("mnist-mini", "test")
    model = Classifier(2, 10, particles=4, proportions=True, **SMALL).requires_grad_(False)
    problem = pose(model, data, clouds=2, seed=3)
    answer, _ = problem.solve(problem.start(3))
    order = np.random.default_rng(3).permutation(len(data))[:2]
    clouds = data.in_proportion().subset(order)
    x, _ = collate([clouds[i] for i in range(2)])
    expected, _ = model.latent(x, 3)
    assert torch.allclose(answer.points, expected.points, atol=1e-5)


def test_command_writes_report_and_picture(tmp_path, capsys):
    torch.manual_seed(0)
    model = Completer(2, solver=Picard(max_steps=3), **SMALL)
    model.save_pretrained(tmp_path / "model")
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    words = ["check-equilibrium", str(tmp_path / "model"), "--data", "mnist-mini", "--clouds", "2"]
    words += ["--json", str(tmp_path / "out.json"), "--picture", str(tmp_path / "out.png")]
    args = parser.parse_args(words)
    assert args.run(args) == 0
    assert "AA-MMD" in capsys.readouterr().out
    values = json.loads((tmp_path / "out.json").read_text())
    assert values["clouds"] == 2
    assert {bar["passed"] for bar in values["bars"]} <= {True, False}
    assert (tmp_path / "out.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="exists"):
        args.run(args)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "neither a folder"),
        (["completer-mnist-pc", "--clouds", "1"], "at least 2"),
        (["completer-mnist-pc", "--json", "report.txt"], "must end in"),
    ],
)
def test_command_says_what_is_wrong(words, message):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["check-equilibrium", *words])
    with pytest.raises(ValueError, match=message):
        args.run(args)
