"""The losses of training against their formulas, and the changes of training clouds."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from ddeq import PointClouds
from ddeq.data import CloudDataset, affine, distort, even, jitter, mirror, stretch
from ddeq.measures.divergences import mmd2
from ddeq.measures.metrics import spread
from ddeq.tasks.completion import log_residual
from ddeq.training import PRESETS
from ddeq.training.data import CloudData
from ddeq.training.module import EquilibriumModule

SMALL = {"batch_size": 4, "solver.max_steps": 3, "validation": 0.2}
SEEN = {"task.own_frame": 0.0, "task.noise": 0.0}


def case(name, monkeypatch, fields):
    """A module of a recipe with small data, and its first batch."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(20, 2)) for _ in range(10)]
    whole = CloudDataset.from_list(clouds, np.arange(10) % 2, ["a", "b"], "noise")
    recipe = PRESETS[name].changed({**SMALL, **fields})
    data = CloudData(recipe, whole=whole)
    torch.manual_seed(0)
    module = EquilibriumModule(recipe.make_model(data.train), recipe).eval()
    monkeypatch.setattr(type(module), "part", (0, 1))
    return module, next(iter(data.train_dataloader()))


@pytest.mark.parametrize("free_weight", [0.0, 0.1])
@pytest.mark.parametrize("residual_weight", [0.0, 0.5])
@pytest.mark.parametrize("count_weight", [None, 0.3])
def test_completion_loss_is_its_formula(monkeypatch, free_weight, residual_weight, count_weight):
    weights = {"task.free_weight": free_weight, "task.residual_weight": residual_weight}
    weights |= {"task.estimate": count_weight is not None, "task.count_weight": count_weight or 0.0}
    module, batch = case("mini-completion", monkeypatch, {**SEEN, **weights})
    loss, _ = module.loss(batch, seed=3, start=None)
    z, _ = module.model.latent(batch.partial, 3)
    after = module.model.encode(batch.partial)(z)
    rest = torch.log((1e-5 + mmd2(z, after)) / (1e-5 + spread(after) ** 2).sqrt())
    new = module.model.points(after if residual_weight else z)
    shares = module.model.shares(module.model.encode(batch.partial))
    error = torch.log(shares * batch.partial.lengths / batch.removed.lengths)
    expected = (
        mmd2(batch.partial.cat(new), batch.target)
        + free_weight * mmd2(new, batch.removed)
        + residual_weight * rest
        + (count_weight or 0.0) * error**2
    )
    assert float(loss.detach()) == pytest.approx(float(expected.mean().detach()), rel=1e-5)


def test_the_pull_brings_a_second_path_to_the_end_of_the_first(monkeypatch):
    marked = {**SEEN, "network.marks": 2, "task.pull_weight": 0.5}
    module, batch = case("mini-completion", monkeypatch, marked)
    assert module.recipe.task.later_applications == 2
    plain, _ = replace(module.recipe.task, pull_weight=0.0).loss(module.model, batch, 3)
    pulled, _ = module.loss(batch, seed=3, start=None)
    again, _ = module.loss(batch, seed=3, start=None)
    assert torch.equal(pulled, again)
    assert pulled > plain
    pulled.backward()
    assert module.model.network.marks.mlp.outer.weight.grad.abs().sum() > 0


def test_marks_are_the_same_in_training_and_at_use(monkeypatch):
    module, batch = case("mini-completion", monkeypatch, {**SEEN, "network.marks": 2})
    module.model.network.marks.mlp.outer.weight.data.normal_()
    _, solution = module.loss(batch, seed=3, start=None)
    _, at_use = module.model.latent(batch.partial, 3)
    torch.testing.assert_close(solution.value.points, at_use.value.points)


def test_log_residual_has_gradients_at_rest_and_for_one_particle():
    for clouds in ([torch.zeros(1, 4)], [torch.ones(3, 4)], [torch.randn(5, 4)]):
        image = torch.stack(clouds).requires_grad_()
        z = PointClouds.from_list(clouds)
        log_residual(z, PointClouds(image, z.mask)).sum().backward()
        assert image.grad.isfinite().all()


def test_nothing_is_gained_by_a_smaller_latent_space():
    z, image = (PointClouds.from_list([torch.randn(9, 4) * 100]) for _ in range(2))
    small = [cloud.map(lambda points: 0.1 * points) for cloud in (z, image)]
    torch.testing.assert_close(log_residual(*small), log_residual(z, image), atol=1e-4, rtol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_classification_loss_is_its_formula(monkeypatch, smoothing):
    changes = {"task.smoothing": smoothing, "task.guide": 0.0}
    module, (x, labels) = case("mini-classification", monkeypatch, changes)
    loss, _ = module.loss((x, labels), seed=3, start=None)
    logs = functional.log_softmax(module.model(x, seed=3), 1)
    share = torch.full_like(logs, smoothing / 2).scatter_add(
        1, labels[:, None], torch.full((len(labels), 1), 1 - smoothing)
    )
    assert float(loss.detach()) == pytest.approx(
        float(-(share * logs).sum(1).mean().detach()), rel=1e-5
    )


@pytest.mark.parametrize(
    ("dim", "changes"),
    [(1, [distort]), (2, [affine]), (3, [mirror, distort, stretch])],
)
def test_clouds_are_changed_as_their_dimension_allows(dim, changes):
    clouds = [np.random.default_rng(i).normal(size=(9, dim)) for i in range(6)]
    whole = CloudDataset.from_list(clouds, [0, 1] * 3, ["a", "b"], "noise")
    for proportions, last in ((True, [jitter, even]), (False, [jitter])):
        recipe = PRESETS["mini-classification"].changed({"task.proportions": proportions})
        loader = CloudData(recipe, whole=whole).train_dataloader()
        assert list(loader.dataset.augmentations) == [*changes, *last]


def test_shapes_to_complete_keep_their_proportions():
    clouds = [np.random.default_rng(i).normal(size=(9, 3)) for i in range(6)]
    whole = CloudDataset.from_list(clouds, [0, 1] * 3, ["a", "b"], "noise")
    loader = CloudData(PRESETS["modelnet8-completion"], whole=whole).train_dataloader()
    assert list(loader.dataset.data.augmentations) == [mirror, distort, jitter]


def test_without_validation_every_cloud_is_trained_on():
    clouds = [np.random.default_rng(i).normal(size=(9, 2)) for i in range(6)]
    whole = CloudDataset.from_list(clouds, [0, 1] * 3, ["a", "b"], "noise")
    data = CloudData(PRESETS["mini-classification"].changed({"validation": 0.0}), whole=whole)
    assert len(data.train) == 6
