"""Every short cut of a solve gives what the plain way gives; so do all ways to batch the clouds.

Single evaluations of the network are compared in ``test_network.py`` and ``test_reference.py``;
here it is whole solves, so that a difference had time to grow.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from maps import relative_gap, without_select

from ddeq import Classifier, Completer, PointClouds, mmd2
from ddeq.bench.reference import load_reference
from ddeq.data import LengthBuckets, PartialDataset, collate, collate_partial, load
from ddeq.measures.kernels import distances
from ddeq.nn import Network
from ddeq.solvers import Anderson, WassersteinFlow, Weiszfeld
from ddeq.solvers.weiszfeld import weiszfeld_step

SOLVERS = {
    "weiszfeld": Weiszfeld(),
    "anderson-weiszfeld": Anderson(of=Weiszfeld()),
    "flow": WassersteinFlow(step_size=0.5),
}
every_solver = pytest.mark.parametrize("name", SOLVERS)


def case(features=32, head_size=4, dtype=torch.float32, sizes=(9, 30, 4, 17)):
    """A network, inputs, particles and fixed particles of different sizes."""
    torch.manual_seed(0)
    network = Network(features=features, head_size=head_size, cross_layers=2).build(2)
    network = network.to(dtype).eval().requires_grad_(False)
    x = PointClouds.from_list([torch.randn(n, 2, dtype=dtype) for n in sizes])
    z, fixed = (
        PointClouds.from_list([torch.randn(n, features, dtype=dtype) for n in counts])
        for counts in ([2 + n // 4 for n in sizes], sizes)
    )
    return network, x, z, fixed


def same(a, b, tolerance=1e-5):
    """Two solutions agree in their particles, images, residuals and stops."""
    assert relative_gap(a.value.points, b.value.points) < tolerance
    assert relative_gap(a.image.points, b.image.points) < tolerance
    torch.testing.assert_close(a.residual, b.residual, atol=tolerance, rtol=tolerance)
    assert a.steps.tolist() == b.steps.tolist()


@every_solver
@pytest.mark.parametrize("with_fixed", [False, True])
def test_encoding_once_is_encoding_at_every_step(name, with_fixed):
    network, x, z, fixed = case()
    fixed = fixed if with_fixed else None
    solver = replace(SOLVERS[name], max_steps=5, tol=0)
    quick = solver.solve(network.bind(network.encode(x, fixed)), z)
    same(quick, solver.solve(lambda z: network.step(z, network.encode(x, fixed)), z))


@every_solver
@pytest.mark.parametrize("head_size", [4, 32])
def test_fixed_rows_once_and_fused_attention_are_the_reference(name, head_size):
    """The reference sends fixed particles through every layer, with an explicit softmax."""
    network, x, z, fixed = case(head_size=head_size)
    solver = replace(SOLVERS[name], max_steps=5, tol=0)
    slow = load_reference().ReferenceMap(network, x, fixed)
    same(solver.solve(network.bind(network.encode(x, fixed)), z), solver.solve(slow, z))


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("dim", [2, 128])
def test_weiszfeld_from_one_product_is_weiszfeld_from_distances(dim, offset):
    """In float32 the distances come from one matrix product; here from differences, in float64."""
    z, y = (
        PointClouds.from_list([torch.randn(n, dim) + offset for n in (7, 20, 1)]) for _ in range(2)
    )
    residual, points = weiszfeld_step(z, y)
    torch.testing.assert_close(residual, mmd2(z, y), atol=1e-5 * dim**0.5, rtol=1e-5)
    for found, a, b in zip(
        z.with_points(points), z.to(torch.float64), y.to(torch.float64), strict=True
    ):
        pull, push = 1 / distances(a, b), 1 / distances(a, a)
        push.fill_diagonal_(0.0)
        moved = (pull @ b / len(b) + (push.sum(1, keepdim=True) * a - push @ a) / len(a)) / (
            pull.mean(1, keepdim=True)
        )
        assert relative_gap(found.double() - offset, moved - offset) < 1e-5 * (1 + offset / 10)


@every_solver
def test_clouds_that_leave_the_batch_are_clouds_that_stand_still(name):
    network, x, z, fixed = case(dtype=torch.float64)
    f = network.bind(network.encode(x, fixed))
    free = replace(SOLVERS[name], max_steps=12, tol=0).solve(f, z)
    tol = float((free.residuals[4] / free.initial_residual).median())
    solver = replace(SOLVERS[name], max_steps=12, tol=tol)
    leaving = solver.solve(f, z)
    assert len(set(leaving.steps.tolist())) > 1
    same(leaving, solver.solve(without_select(f), z))
    # whichever finishes first: the batch in another order, and with clouds missing
    for order in ([3, 2, 1, 0], [2, 0], [1]):
        index = torch.tensor(order)
        other = solver.solve(f.select(index), z[index])
        assert relative_gap(other.value.points, leaving.value.points[index]) < 1e-9
        assert other.steps.tolist() == leaving.steps[index].tolist()


BATCHINGS = (
    {"batch_size": 10},
    {"batch_size": 3},
    {"batch_size": 4, "seed": 1, "window": 1},
    {"batch_size": 4, "shuffle": False},
)


def batches(data, options):
    return list(LengthBuckets(data.lengths, **options))


def test_logits_do_not_depend_on_the_buckets():
    data = load("mnist-mini", "test").subset(np.arange(10))
    model = Classifier.from_pretrained("mnist-pc").double()
    found = []
    for options in BATCHINGS:
        logits = torch.empty(10, 10, dtype=torch.float64)
        for batch in batches(data, options):
            with torch.no_grad():
                logits[batch] = model(collate([data[i] for i in batch])[0])
        found.append(logits)
    assert all(relative_gap(other, found[0]) < 1e-5 for other in found[1:])


def test_completions_do_not_depend_on_the_buckets():
    data = load("mnist-mini", "test").subset(np.arange(10))
    tasks = PartialDataset(data, 0.6)
    model = Completer.from_pretrained("mnist-pc").double()
    found = []
    for options in BATCHINGS:
        new: dict[int, torch.Tensor] = {}
        for batch in batches(tasks, options):
            x = collate_partial([tasks[i] for i in batch]).partial
            with torch.no_grad():
                new |= dict(zip(batch, model(x), strict=True))
        found.append(new)
    for other in found[1:]:
        assert all(relative_gap(other[i], found[0][i]) < 1e-5 for i in range(10))
