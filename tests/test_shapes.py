"""Shapes as the docstrings state them hold while models, solvers and divergences run."""

import pytest
import torch
from shapes import ShapeError, check, checked, described

import ddeq
from ddeq import PointClouds, metrics, solvers
from ddeq.measures import divergences, kernels
from ddeq.measures.clouds import length_mask
from ddeq.nn import Groups, Network
from ddeq.solvers import Picard

ROOMS = ("measures", "solvers", "adjoints", "nn")
SMALL = {"features": 16, "bilinear": 4, "head_size": 4}
NETWORKS = {
    "plain": {},
    "tokens": {"groups": Groups(points=(8, 4), widths=(8, 16), size=3)},
    "moments": {"radii": (0.3, 0.6), "rims": True, "marks": 2, "near": True},
    "proposals": {"x_layers": 2, "radii": (0.5,), "marks": 2, "proposals": 2},
}


def clouds(*sizes: int, dim: int = 2) -> PointClouds:
    return PointClouds.from_list([torch.randn(n, dim) for n in sizes])


def run_network(options: dict) -> None:
    network = Network(**SMALL, **options)
    x = clouds(9, 5, 12)
    classifier = ddeq.Classifier(2, 3, network=network, solver=Picard(3)).train()
    classifier(x).sum().backward()
    if "groups" not in options:
        completer = ddeq.Completer(2, network=network, solver=Picard(3), estimate=True)
        completer.complete(x)


@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_networks_keep_to_their_shapes(options):
    with checked(*ROOMS) as calls:
        run_network(options)
    assert len(calls) >= 20


def test_solvers_divergences_and_metrics_keep_to_their_shapes():
    f, z, y = (lambda z: z.map(lambda p: 0.5 * p + 1.0)), clouds(6, 4), clouds(5, 7)
    with checked(*ROOMS) as calls:
        for solver in (
            solvers.Anderson(max_steps=3), solvers.Broyden(max_steps=3), solvers.Weiszfeld(3),
            solvers.Transport(max_steps=3), solvers.SobolevFlow(max_steps=3),
            solvers.TuningFreeFlow(max_steps=3), solvers.WassersteinFlow(max_steps=3),
        ):  # fmt: skip
            solver.solve(f, z)
        for divergence in (
            divergences.MMD(), divergences.DrMMD(), divergences.Sinkhorn(max_updates=5),
            divergences.SlicedMMD(3), divergences.SlicedWasserstein(3),
            divergences.MMD(kernels.Gaussian(0.5)),
        ):  # fmt: skip
            divergences.wasserstein_gradient(lambda a, g=divergence: g(a, y), z)
        metrics.chamfer(z, y)
        metrics.wasserstein2(z, y)
        ddeq.equilibrium(f, z, solver=Picard(3), adjoint=ddeq.ImplicitGradient(3))
    assert len(calls) >= 30


def test_what_a_docstring_says_is_read():
    says = described(length_mask)
    assert says.results == [("B", "size")]
    assert described(kernels.Gaussian.__call__).arguments == {}


def test_another_shape_is_an_error():
    known = {"B": 2}
    check("a", ("B", "N", ">= d", "1"), torch.zeros(2, 3, 4, 1), known)
    assert known == {"B": 2, "N": 3}
    for shape in ((3, 3), (2, 4), (2, 3, 1)):
        with pytest.raises(ShapeError, match="a is"):
            check("a", ("B", "N"), torch.zeros(shape), dict(known))


def test_a_function_that_breaks_its_word_is_found(monkeypatch):
    x = clouds(3, 4)
    with checked("measures"):
        x.mean()
    monkeypatch.setattr("ddeq.measures.clouds.PointClouds.mean", broken)
    with checked("measures"), pytest.raises(ShapeError, match="broken: result"):
        x.mean()


def broken(self: PointClouds) -> torch.Tensor:
    """Mean of each cloud, ``(B, d)``."""
    return self.points.mean((1, 2))


broken.__annotations__["return"] = "Tensor"
