"""Classifier and Completer: results that depend on the cloud and the seed, and on nothing else."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from maps import SMALL, SOLVERS, relative_gap, shuffled, widened
from small_models import SHORT, assert_same, both_models, clouds, model
from strategies import KINDS, cloud_lists, make_cloud

from ddeq import Classifier, Completer, ImplicitGradient, PhantomGradient, PointClouds
from ddeq.models.base import gaussian_particles

every_solver = pytest.mark.parametrize("name", SOLVERS)


def output(made, x, **options):
    """What a model says of each cloud: logits, or new points."""
    if isinstance(made, Classifier):
        return list(made(x, **options))
    return made(x, **options).to_list()


@both_models
@every_solver
def test_batch_order_padding_and_symmetry_with_every_solver(kind, name):
    made = model(kind, solver=replace(SOLVERS[name], max_steps=6, tol=0.3))
    x = clouds(9, 4, 12)
    together = output(made, x)
    alone = [output(made, PointClouds.from_list([cloud]))[0] for cloud in x]
    assert_same(alone, together, 1e-4)
    order = [2, 0, 1]
    assert_same(output(made, x[order]), [together[b] for b in order], 1e-4)
    assert_same(output(made, widened(x, 5)), together, 1e-4)
    assert_same(output(made, shuffled(x, 0)[0]), together, 1e-4)


@both_models
@settings(max_examples=8)
@given(batch=cloud_lists(2, min_clouds=2), seed=st.integers(0, 3))
def test_batch_independence_and_symmetry(kind, batch, seed):
    made = model(kind, dtype=torch.float64)
    x = PointClouds.from_list(batch)
    together = output(made, x, seed=seed)
    assert all(result.isfinite().all() for result in together)
    alone = [output(made, PointClouds.from_list([cloud]), seed=seed)[0] for cloud in batch]
    assert_same(alone, together, 1e-7)
    assert_same(output(made, widened(x, 2), seed=seed), together, 1e-7)
    assert_same(output(made, shuffled(x, seed)[0], seed=seed), together, 1e-7)


@both_models
@pytest.mark.parametrize("offset", [100.0, 1e3])
def test_batch_independence_off_centre_in_float32(kind, offset):
    made = model(kind)
    x = clouds(9, 4, 30)
    x = x.with_points(x.points + offset)
    run = made if kind == "classifier" else made.complete
    together = run(x) if kind == "classifier" else [c - offset for c in run(x)]
    for b, cloud in enumerate(x):
        one = run(PointClouds.from_list([cloud]))
        alone = one[0] if kind == "classifier" else one.to_list()[0] - offset
        assert relative_gap(alone, together[b]) < 1e-4


@pytest.mark.parametrize("name", ["flow", "picard", "weiszfeld", "anderson-weiszfeld"])
def test_permuted_particles_have_a_permuted_equilibrium(name):
    made = model("classifier", dtype=torch.float64, solver=replace(SOLVERS[name], max_steps=6))
    x, z0 = clouds(5, 8, dtype=torch.float64), clouds(4, 3, dim=8, dtype=torch.float64)
    f = made.network.bind(made.network.encode(x))
    expected, _ = made.equilibrium(f, z0)
    other, orders = shuffled(z0, 0)
    moved, _ = made.equilibrium(f, other)
    assert_same(moved, [c[o] for c, o in zip(expected, orders, strict=True)], 1e-8)


@both_models
@pytest.mark.parametrize("mate", KINDS)
def test_awkward_batch_mates(kind, mate):
    made = model(kind, dtype=torch.float64)
    cloud = make_cloud("normal", 7, 2, seed=0)
    expected = output(made, PointClouds.from_list([cloud]))
    batch = PointClouds.from_list([make_cloud(mate, 11, 2, seed=1), cloud])
    assert_same(output(made, batch)[1:], expected, 1e-7)


@both_models
@pytest.mark.parametrize("shape", KINDS)
@pytest.mark.parametrize(
    ("adjoint", "dtype"),
    [(PhantomGradient(), torch.float64), (ImplicitGradient(), torch.float32)],
)
def test_awkward_clouds_have_finite_values_and_gradients(kind, shape, dtype, adjoint):
    made = model(kind, dtype=dtype, adjoint=adjoint)
    points = make_cloud(shape, 5, 2, seed=1, dtype=dtype).requires_grad_()
    results = output(made, PointClouds.from_list([points]))
    torch.cat([torch.sin(result).flatten() for result in results]).sum().backward()
    assert all(result.isfinite().all() for result in results)
    assert all(p.grad.isfinite().all() for p in made.parameters())
    assert points.grad.isfinite().all()


@both_models
@pytest.mark.parametrize("name", ["flow", "anderson", "weiszfeld"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(kind, name, mode):
    made = model(kind, solver=replace(SOLVERS[name], max_steps=4, tol=0.3))
    x = clouds(9, 4)
    expected = output(made, x)
    with mode():
        assert_same(output(made, PointClouds(x.points.clone(), x.mask.clone())), expected, 1e-5)
        latent, solution = made.latent(x)
        assert not latent.points.requires_grad
        assert not solution.value.points.requires_grad


@both_models
@pytest.mark.parametrize(
    "adjoint", [PhantomGradient(), PhantomGradient(3, 0.5), ImplicitGradient()]
)
def test_training_and_evaluation_return_the_same_equilibrium(kind, adjoint):
    made = model(kind, dropout=0.0, adjoint=adjoint)
    x = clouds(9, 4)
    evaluated = output(made, x)
    made.train()
    assert_same(output(made, x), evaluated, 1e-6)


@both_models
def test_dropout_acts_in_training_only(kind):
    made = model(kind, dropout=0.5)
    x = clouds(9, 4)
    assert_same(output(made, x), output(made, x), 1e-12)
    made.train()
    gap = max(relative_gap(a, b) for a, b in zip(output(made, x), output(made, x), strict=True))
    assert gap > 1e-3


@both_models
def test_a_seed_names_the_result(kind):
    made, x = model(kind), clouds(9, 4)
    first = output(made, x, seed=3)
    torch.rand(5)  # the global random state is nobody's business
    assert all(torch.equal(a, b) for a, b in zip(output(made, x, seed=3), first, strict=True))
    starts = [made.latent(x, seed=s, save_every=1)[1].trajectory[0].points for s in (3, 4)]
    assert relative_gap(*starts) > 1e-2
    assert relative_gap(output(made, x, seed=4)[0], first[0]) > 1e-6


@both_models
def test_a_seed_names_the_result_of_a_fresh_model_too(kind):
    """As it comes from its constructor, with the default dropout, nobody having called ``eval``."""
    options = {**SMALL, "solver": SHORT}
    made = Classifier(2, 3, **options) if kind == "classifier" else Completer(2, **options)
    x = clouds(9, 4)
    run = made if kind == "classifier" else made.complete
    first, second = (run(x, seed=1) for _ in range(2))
    if kind == "completer":
        first, second = first.points, second.points
    assert torch.equal(first, second)


def test_particles_depend_on_the_seed_alone():
    like = torch.zeros(1)
    batch = gaussian_particles(torch.tensor([3, 7, 5]), 4, seed=1, like=like)
    assert batch.lengths.tolist() == [3, 7, 5]
    for n, cloud in zip((3, 7, 5), batch, strict=True):
        alone = gaussian_particles(torch.tensor([n]), 4, seed=1, like=like)
        assert torch.equal(alone.to_list()[0], cloud)
    many = gaussian_particles(torch.tensor([4000]), 4, seed=1, like=like)
    assert many.mean().abs().max() < 0.1
    assert (many.std() - 1).abs().max() < 0.1
    double = gaussian_particles(torch.tensor([4000]), 4, seed=1, like=like.double())
    assert torch.allclose(double.points.float(), many.points)


@both_models
@pytest.mark.parametrize("adjoint", [PhantomGradient(), ImplicitGradient()])
@pytest.mark.parametrize("pushforward", [False, True])
def test_every_parameter_receives_a_gradient(kind, adjoint, pushforward):
    """In a push-forward fixed particles are not seen, so the coupling has no say."""
    wide = {"features": 32, "bilinear": 16, "adjoint": adjoint, "pushforward": pushforward}
    made = model(kind, **wide).train()
    torch.cat([torch.sin(r).flatten() for r in output(made, clouds(9, 4))]).sum().backward()
    without = {name for name, p in made.named_parameters() if p.grad is None}
    idle = {name for name, p in made.named_parameters() if p.grad is None or not p.grad.any()}
    if pushforward and kind == "completer":
        assert idle == {name for name, _ in made.named_parameters() if "coupling" in name}
    else:
        assert without == set()
        assert idle == set()
