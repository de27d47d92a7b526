"""Completion of holes of all kinds: batches, terms of the loss, a short training, batches alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import ot
import pytest
import torch
from maps import SMALL

from ddeq import PointClouds
from ddeq.data import CloudDataset, load
from ddeq.data.holes import HoleDataset, collate_holes
from ddeq.measures.kernels import distances
from ddeq.nn import Network
from ddeq.solvers import Picard
from ddeq.tasks import Holes
from ddeq.tasks.holes import to_surface, transport
from ddeq.tasks.pull import pull
from ddeq.training import PRESETS, train
from ddeq.training.data import CloudData

NETWORK = Network(
    **SMALL,
    cross_layers=1,
    radii=(0.3, 0.6),
    marks=2,
    near=True,
    rims=True,
    proposals=2,
    edges=True,
)


def balls(count: int = 12, dim: int = 3) -> CloudDataset:
    """Spheres of 200 points."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(200, dim)) for _ in range(count)]
    clouds = [cloud / np.linalg.norm(cloud, axis=1, keepdims=True) for cloud in clouds]
    return CloudDataset.from_list(clouds, [0] * count, ("ball",), "balls")


def test_items_are_in_the_frame_of_what_is_visible():
    data = HoleDataset(balls().in_proportion(), {"half": 1.0}, seed=3)
    item = data[0]
    assert item.partial.mean(0).abs().max() < 1e-5
    assert float(item.partial.var(0, unbiased=False).mean()) == pytest.approx(1.0, rel=1e-4)
    assert item.share == pytest.approx(len(item.removed) / len(item.partial), abs=1.0)
    gaps = distances(item.removed, item.whole).amin(1)
    assert float(gaps.max()) < 1e-5  # one frame for all parts
    assert torch.equal(data[0].partial, item.partial)
    data.set_epoch(1)
    assert not torch.equal(data[0].partial[:20], item.partial[:20])


def test_the_frame_of_the_whole_can_be_told():
    data = HoleDataset(balls().in_proportion(), {"half": 1.0}, told=1.0, changed=True)
    for item in map(data.__getitem__, range(len(data))):
        assert item.whole.var(0, unbiased=False).tolist() == pytest.approx([1.0] * 3, rel=1e-4)
        kept = distances(item.partial, item.whole).amin(1) < 1e-6
        assert kept.all()  # no noise,
        assert len(item.partial) * (1 + item.share) == pytest.approx(
            len(item.whole)
        )  # none thinned


def test_whole_clouds_stand_last_in_a_batch():
    tasks = HoleDataset(balls(), {"half": 0.5, "whole": 0.5}, changed=True)
    batch = collate_holes([tasks[i] for i in range(12)])
    some = len(batch.removed)
    assert 0 < some < 12
    assert (batch.share[:some] > 0).all()
    assert not batch.share[some:].any()
    assert len(batch.whole) == some
    none = collate_holes([t for t in map(tasks.__getitem__, range(12)) if not len(t.removed)])
    assert none.removed is None
    assert none.to("cpu").whole is None


def test_terms_of_the_loss_written_out():
    torch.manual_seed(0)
    x, y = (PointClouds.from_list([torch.randn(n, 2), torch.randn(n + 2, 2)]) for n in (5, 7))
    for b, (u, v) in enumerate(zip(x.to_list(), y.to_list(), strict=True)):
        cost = distances(u, v)
        assert float(transport(x, y)[b]) == pytest.approx(ot.emd2([], [], cost.numpy()), rel=1e-5)
        near = to_surface(x, y)[b, : len(u)]
        torch.testing.assert_close(near, cost.amin(1), atol=1e-2, rtol=0)
    moved = x.with_points(x.points + torch.tensor([3.0, 4.0]))
    assert pull(moved, x).tolist() == pytest.approx([5.0, 5.0], rel=1e-5)


def test_every_parameter_learns():
    task = Holes(particles=6, reads=40)
    data = balls()
    model = task.make_model(data, network=NETWORK, solver=Picard(3)).train()
    tasks = task.items(task.prepare(data), training=True, seed=0)
    loss, solution = task.loss(model, collate_holes([tasks[i] for i in range(8)]), seed=1)
    assert solution is not None
    loss.backward()
    missing = [name for name, p in model.named_parameters() if p.grad is None]
    assert missing == [name for name in missing if name.startswith("coupling")]
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_a_batch_of_whole_clouds_teaches_that_nothing_is_missing():
    task = Holes(particles=6, whole=1.0)
    model = task.make_model(balls(), network=NETWORK, solver=Picard(3)).train()
    tasks = task.items(balls().in_proportion(), training=True, seed=0)
    loss, solution = task.loss(model, collate_holes([tasks[i] for i in range(4)]), seed=1)
    assert solution is None
    loss.backward()
    assert float(model.missing.mlp.outer.bias.grad[0]) > 0


@pytest.mark.parametrize("name", ["scans-completion", "digits-completion"])
def test_a_short_training_lowers_the_loss(name: str, tmp_path: Path):
    preset = PRESETS[name]
    data = load(preset.data, "train").subset(np.arange(24))
    task = replace(preset.task, particles=8, reads=48)
    recipe = replace(
        preset,
        task=task,
        network=NETWORK,
        optimizer="adamw",
        average=0.0,
        batch_size=6,
        epochs=10,
        warmup=2,
        validation=0.2,
    )
    batches = CloudData(recipe, whole=data)
    torch.manual_seed(0)
    held = [batches.recipe.task.items(batches.train, True, 5)[i] for i in range(12)]
    before = task.make_model(data, network=NETWORK, solver=Picard(4))
    model = train(recipe, tmp_path, data=batches, verbose=False)
    first, last = (
        float(task.loss(m.eval(), collate_holes(held), seed=7)[0].detach()) for m in (before, model)
    )
    assert last < first - 0.05
    full = model.complete(data.raw(0), seed=1)
    assert full[: len(data.raw(0))].tobytes() == data.raw(0).tobytes()
