"""The examples of docs/contribute.md: each, as one module, is saved, loaded, named and used."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq import registry
from ddeq.data import DATASETS
from ddeq.io.formats import base
from ddeq.registry import Registered, from_json, to_json
from ddeq.training import Recipe

PAGE = Path(__file__).parent.parent / "docs" / "contribute.md"
NAMES = ["HalfWay", "Cauchy", "NearAndFar", "ShortAndLong", "RobustRegression"]


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The page's code as a module of someone else; nothing of it stays registered."""
    tables = (registry._CLASSES, DATASETS, base.READERS, base.WRITERS)
    before = [dict(table) for table in tables]
    folder = tmp_path_factory.mktemp("theirs")
    code = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    (folder / "their_module.py").write_text("\n\n".join(code))
    sys.path.insert(0, str(folder))
    yield importlib.import_module("their_module")
    sys.path.remove(str(folder))
    del sys.modules["their_module"]
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)


def clouds(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return ddeq.PointClouds.from_list([torch.randn(n, 2, generator=generator) for n in (7, 5)])


@pytest.mark.parametrize("name", NAMES)
def test_each_is_saved_and_loaded_by_name(module, name):
    made = getattr(module, name)()
    saved = json.loads(json.dumps(to_json(made)))
    assert saved["name"] == f"their_module.{name}"
    assert from_json(saved, Registered) == made


def test_a_solver_finds_the_equilibrium_and_is_kept_with_a_model(module, tmp_path):
    solution = module.HalfWay(tol=1e-6).solve(lambda z: z.map(lambda p: 0.5 * p + 1.0), clouds())
    assert solution.converged.all()
    assert torch.allclose(solution.value.points[0], torch.tensor(2.0), atol=1e-2)
    network = ddeq.nn.Network(features=8, bilinear=4)
    model = ddeq.Classifier(2, 3, network=network, solver=module.HalfWay(max_steps=3))
    model.save_pretrained(tmp_path)
    copy = ddeq.Classifier.from_pretrained(tmp_path)
    assert copy.solver == model.solver
    assert torch.equal(copy(clouds()), model(clouds()))


def test_a_divergence_and_a_kernel_drive_the_flow(module):
    divergence = module.NearAndFar()
    assert torch.allclose(divergence(clouds(), clouds()), torch.zeros(2), atol=1e-5)
    assert (divergence(clouds(), clouds(1)) > 0.01).all()
    solver = ddeq.solvers.WassersteinFlow(step_size=0.5, max_steps=60, divergence=divergence)
    target = clouds(1)
    solution = solver.solve(lambda z: z.with_points(target.points), clouds())
    assert (solution.residual < 0.5 * divergence(clouds(), target)).all()


def test_an_adjoint_differentiates(module):
    shift = torch.ones(2, requires_grad=True)
    z = ddeq.equilibrium(
        lambda z: z.map(lambda p: 0.5 * p + shift),
        clouds(),
        solver=ddeq.solvers.Picard(),
        adjoint=module.ShortAndLong(),
    )
    (gradient,) = torch.autograd.grad(z.points[0, 0].sum(), shift)
    assert torch.allclose(gradient, torch.tensor((1 + 1.75) / 2))


def test_a_task_has_a_loss(module):
    data = ddeq.data.CloudDataset.from_list(
        [c.numpy() for c in clouds().to_list()], np.array([0.5, 2.0]), (), "numbers"
    )
    task = module.RobustRegression()
    network = ddeq.nn.Network(features=8, bilinear=4)
    model = task.make_model(data, network=network).train()
    loss, _ = task.loss(model, task.collate([data[0], data[1]]), seed=0)
    loss.backward()
    assert loss > 0
    assert all(p.grad is not None for p in model.head.parameters())


def test_a_recipe_names_them(module):
    recipe = Recipe(
        "robust-regression",
        "rings",
        solver=module.HalfWay(max_steps=5),
        adjoint=module.ShortAndLong(),
    )
    assert type(recipe.task) is module.RobustRegression
    assert recipe.solver.max_steps == 5


def test_a_data_set_loads_by_name(module):
    data = ddeq.data.load("rings", "train")
    assert (len(data), data.dim, data.classes) == (64, 2, ("half", "whole"))


def test_a_file_format_is_read_and_written(module, tmp_path):
    points = np.random.default_rng(0).normal(size=(9, 3))
    for name in ("a.f8", "a.f8.gz"):
        ddeq.write_cloud(tmp_path / name, points)
        assert np.array_equal(ddeq.read_cloud(tmp_path / name).points, points)
