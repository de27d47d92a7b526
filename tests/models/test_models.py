"""Classifier and Completer: results that depend on the cloud and the seed, and on nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from maps import SMALL, SOLVERS, relative_gap, shuffled, widened
from strategies import KINDS, cloud_lists, make_cloud, seeds

from ddeq import Classifier, Completer, ImplicitGradient, PhantomGradient, PointClouds
from ddeq.models.base import gaussian_particles
from ddeq.solvers import Picard, Weiszfeld

SHORT = Weiszfeld(max_steps=6, tol=0.1)
both_models = pytest.mark.parametrize("kind", ["classifier", "completer"])
every_solver = pytest.mark.parametrize("name", SOLVERS)


def model(kind, dim=2, dtype=torch.float32, seed=0, **options):
    """A small model in evaluation mode."""
    torch.manual_seed(seed)
    options = {**SMALL, "cross_layers": 1, "solver": SHORT, **options}
    if kind == "classifier":
        made = Classifier(dim, num_classes=3, particles=4, **options)
    else:
        made = Completer(dim, ratio=0.4, **options)
    return made.to(dtype).eval()


def output(made, x, **options):
    """What a model says of each cloud: logits, or new points."""
    if isinstance(made, Classifier):
        return list(made(x, **options))
    return made(x, **options).to_list()


def clouds(*sizes, dim=2, dtype=torch.float32):
    return PointClouds.from_list([torch.randn(n, dim, dtype=dtype) for n in sizes])


def assert_same(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert relative_gap(a, b) < tolerance


# --- a cloud's result does not depend on its batch -------------------------------------------


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


# --- modes -----------------------------------------------------------------------------------


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


# --- gradients -------------------------------------------------------------------------------


@both_models
@pytest.mark.parametrize("adjoint", [PhantomGradient(), ImplicitGradient()])
@pytest.mark.parametrize("pushforward", [False, True])
def test_every_parameter_receives_a_gradient(kind, adjoint, pushforward):
    """Those of ``coupling.phi`` are exactly zero: points are padded with zeros, so ``e^phi``
    multiplies nothing on the way in, and new points are read from the half that ``q`` leaves
    alone. In a push-forward fixed particles are not seen, so ``psi`` has no say either."""
    wide = {"features": 32, "bilinear": 16, "adjoint": adjoint, "pushforward": pushforward}
    made = model(kind, **wide).train()
    torch.cat([torch.sin(r).flatten() for r in output(made, clouds(9, 4))]).sum().backward()
    without = {name for name, p in made.named_parameters() if p.grad is None}
    idle = {name for name, p in made.named_parameters() if p.grad is None or not p.grad.any()}
    if pushforward and kind == "completer":
        assert idle == {name for name, _ in made.named_parameters() if "coupling" in name}
    else:
        assert without == set()
        assert idle == {name for name, _ in made.named_parameters() if "coupling.phi" in name}


# --- completion ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("dim", [2, 3])
def test_complete_returns_its_input_bit_for_bit_then_new_points(dtype, offset, scale, dim):
    made = model("completer", dim=dim, dtype=dtype)
    x = PointClouds.from_list([scale * (torch.randn(n, dim).to(dtype) + offset) for n in (20, 7)])
    full = made.complete(x)
    assert full.points.dtype == dtype
    assert full.lengths.tolist() == [28, 10]
    for cloud, whole in zip(x, full, strict=True):
        assert torch.equal(whole[: len(cloud)], cloud)
        new = whole[len(cloud) :]
        assert new.isfinite().all()
        far = (new - cloud.mean(0)).abs().max() / cloud.std(0).max()
        assert far < 20


@given(batch=cloud_lists(2, dtype=torch.float32), normalize=st.booleans())
def test_complete_keeps_awkward_clouds(batch, normalize):
    full = model("completer").complete(PointClouds.from_list(batch), normalize=normalize)
    for cloud, whole in zip(batch, full, strict=True):
        assert len(whole) > len(cloud)
        assert torch.equal(whole[: len(cloud)], cloud)
        assert whole.isfinite().all()


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_complete_at_extreme_scales(scale):
    made, unit = model("completer"), clouds(12)
    new = made.complete(unit.with_points(scale * unit.points)).to_list()[0][12:]
    assert relative_gap(new / scale, made.complete(unit).to_list()[0][12:]) < 1e-3


@given(seed=seeds, scale=st.sampled_from([1e-3, 0.7, 50.0]))
def test_complete_does_not_depend_on_units(seed, scale):
    torch.manual_seed(seed)
    made = model("completer", dtype=torch.float64)
    x = clouds(8, 5, dtype=torch.float64)
    shift = torch.randn(2, dtype=torch.float64)
    moved = made.complete(x.map(lambda p: scale * p + shift))
    expected = made.complete(x).map(lambda p: scale * p + shift)
    assert_same(moved, expected, 1e-7)


def test_complete_with_counts_and_without_normalisation():
    made, x = model("completer"), clouds(9, 4)
    counts = torch.tensor([2, 13])
    full = made.complete(x, counts=counts)
    assert full.lengths.tolist() == [11, 17]
    plain = made.complete(x, counts=counts, normalize=False)
    for cloud, whole, new in zip(x, plain, made(x, counts=counts), strict=True):
        assert torch.equal(whole, torch.cat([cloud, new]))
    for bad in (torch.tensor([1]), torch.tensor([0, 1]), torch.tensor([-1, 1])):
        with pytest.raises(ValueError, match="counts"):
            made.complete(x, counts=bad)


@pytest.mark.parametrize("ratio", [0.275, 0.01, 1.5])
def test_the_number_of_new_points(ratio):
    made = Completer(2, ratio=ratio, solver=Picard(max_steps=1), **SMALL)
    sizes = (40, 1, 11)
    added = (made.complete(clouds(*sizes)).lengths - torch.tensor(sizes)).tolist()
    assert added == [max(round(ratio * n), 1) for n in sizes]


@given(batch=cloud_lists(2, dtype=torch.float32))
def test_the_estimated_number_of_new_points_is_bounded_and_blind_to_batches(batch):
    made = model("completer", estimate=True, solver=Picard(max_steps=1))
    together = made.shares(made.encode(PointClouds.from_list(batch)))
    added = made.complete(PointClouds.from_list(batch), normalize=False).lengths
    for cloud, share, count in zip(batch, together, added, strict=True):
        assert 0.4 / math.e <= float(share.detach()) <= 0.4 * math.e
        alone = made.shares(made.encode(PointClouds.from_list([cloud])))[0]
        assert relative_gap(alone, share) < 1e-4
        assert int(count) - len(cloud) == max(1, round(float(share.detach()) * len(cloud)))


def test_an_estimate_can_be_overruled_and_is_differentiable():
    made, x = model("completer", estimate=True), clouds(9, 4)
    assert made(x, counts=torch.tensor([3, 5])).lengths.tolist() == [3, 5]
    made.shares(made.encode(x)).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in made.missing.parameters())
    assert made.network.x_encoder.mlp.inner.weight.grad.any()


def test_free_particles_start_with_the_mean_and_deviation_of_the_input():
    made = model("completer", solver=Picard(max_steps=1))
    x = PointClouds.from_list([torch.randn(50, 2) * torch.tensor([3.0, 0.1]) + 5.0])
    counts = torch.tensor([1000])
    _, solution = made.latent(x, counts=counts, save_every=1)
    start = made.points(solution.trajectory[0])
    assert torch.allclose(start.mean(), x.mean(), atol=0.2)
    assert torch.allclose(start.std(), x.std(), rtol=0.05)


def test_points_are_the_first_coordinates_of_the_inverse_coupling():
    made = model("completer", dim=3)
    z, _ = made.latent(clouds(9, 4, dim=3))
    in_full = made.coupling.inverse(z.points)[..., :3] * z.mask[..., None]
    assert torch.equal(made.points(z).points, in_full)
    x = clouds(6, 2, dim=3)
    assert torch.equal(made.points(x.map(made.coupling.lift)).points, x.points)


def test_fixed_particles_are_seen():
    """Moving one input point moves the new points, also through the fixed particles alone."""
    made = model("completer", dtype=torch.float64)
    x, z0 = clouds(6, dtype=torch.float64), clouds(3, dim=8, dtype=torch.float64)
    fixed = x.map(made.coupling.lift)
    moved = fixed.with_points(fixed.points + torch.randn_like(fixed.points))
    images = [made.network.step(z0, made.network.encode(x, c)).points for c in (fixed, moved, None)]
    assert relative_gap(images[1], images[0]) > 1e-3
    assert relative_gap(images[2], images[0]) > 1e-3


# --- classification --------------------------------------------------------------------------


def test_logits_are_a_linear_function_of_the_largest_features():
    made, x = model("classifier"), clouds(9, 4)
    z, _ = made.latent(x)
    pooled = torch.stack([cloud.max(0).values for cloud in z])
    expected = pooled @ made.head.weight.T + made.head.bias
    assert torch.allclose(made(x), expected, atol=1e-6)
    negative = clouds(3, 1, dim=8).map(lambda p: -p.abs() - 1.0)  # padding must not win
    pooled = torch.stack([cloud.max(0).values for cloud in negative])
    assert torch.allclose(made.logits(negative), pooled @ made.head.weight.T + made.head.bias)


@given(seed=seeds, scale=st.sampled_from([1e-3, 50.0]))
def test_classification_does_not_depend_on_units(seed, scale):
    torch.manual_seed(seed)
    made = model("classifier", dtype=torch.float64)
    x = clouds(8, 5, dtype=torch.float64)
    shift = torch.randn(2, dtype=torch.float64)
    assert relative_gap(made(x.map(lambda p: scale * p + shift)), made(x)) < 1e-7


@given(seed=seeds, stretch=st.sampled_from([0.25, 3.0]))
def test_proportions_are_seen_only_by_those_who_keep_them(seed, stretch):
    torch.manual_seed(seed)
    x = clouds(8, 5, dtype=torch.float64)
    wide = x.map(lambda p: p * torch.tensor([stretch, 1.0], dtype=p.dtype))
    blind = model("classifier", dtype=torch.float64)
    assert relative_gap(blind(wide), blind(x)) < 1e-7
    seeing = model("classifier", dtype=torch.float64, proportions=True)
    assert relative_gap(seeing(wide), seeing(x)) > 1e-5
    assert relative_gap(seeing(x.map(lambda p: 40 * p - 7)), seeing(x)) < 1e-7


def count(module):
    return sum(p.numel() for p in module.parameters())


def test_sizes_and_defaults_of_the_paper():
    digits, shapes = Classifier(2, num_classes=10), Classifier(3, num_classes=40, cross_layers=3)
    assert digits.particles == 10
    assert count(digits.network) == 775_616
    assert count(digits.head) == 1_290
    assert count(shapes) == pytest.approx(1.17e6, rel=0.02)
    completer = Completer(2)
    assert completer.ratio == 0.275
    assert count(completer.coupling) == 16_640
    assert count(completer) == pytest.approx(1.17e6 + 16.6e3, rel=0.02)
    assert digits(clouds(70, 41)).shape == (2, 10)


# --- options and errors ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        (Classifier, {"num_classes": 3, "classes": ["a"]}, ValueError),
        (Classifier, {"num_classes": 3, "particles": 0}, ValueError),
        (Classifier, {"num_classes": 3, "dropout": 1.0}, ValueError),
        (Classifier, {"num_classes": 3, "particle": 3}, TypeError),
        (Completer, {"ratio": 0.0}, ValueError),
        (Completer, {"ratio": math.nan}, ValueError),
        (Completer, {"ratios": 0.5}, TypeError),
    ],
)
def test_bad_options_are_refused(kind, options, error):
    with pytest.raises(error):
        kind(dim=2, **{**SMALL, **options})


@both_models
def test_clouds_of_another_dimension_are_refused_in_one_line(kind):
    made = model(kind)
    with pytest.raises(ValueError, match="dimension") as error:
        made(clouds(5, dim=3))
    assert "\n" not in str(error.value)


def test_double_clouds_can_be_given_to_a_single_precision_model():
    """numpy makes float64 by default, and so do most files."""
    cloud = np.random.default_rng(0).standard_normal((9, 2))
    x = PointClouds.from_list([cloud])
    assert model("classifier")(x).isfinite().all()
    full = model("completer").complete(x).to_list()[0]
    assert np.array_equal(full[:9].numpy(), cloud)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_cloud_as_an_array(dtype):
    made = model("completer")
    cloud = (np.random.default_rng(0).normal(size=(20, 2)) * 10 + 1e4).astype(dtype)
    full = made.complete(cloud)
    assert isinstance(full, np.ndarray)
    assert full.dtype == dtype
    assert full.shape == (28, 2)
    assert full[:20].tobytes() == cloud.tobytes()
    assert np.array_equal(made.complete(torch.from_numpy(cloud)).numpy(), full)
