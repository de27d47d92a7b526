"""What a solver accepts, to the edge, and constants of its steps that no result shows by itself."""

import pytest
import torch

from ddeq import PointClouds, solvers
from ddeq.measures.divergences import MMD, SlicedMMD
from ddeq.measures.kernels import Gaussian

EDGES = [
    ("Picard", "max_steps", (1,), (0,)),
    ("Picard", "tol", (0.0,), (-1e-9,)),
    ("Picard", "damping", (0.01, 1.0), (0.0, 1.01)),
    ("Picard", "momentum", (0.0, 0.99), (-0.01, 1.0)),
    ("Picard", "noise", (0.0,), (-0.01,)),
    ("Transport", "damping", (0.01, 1.0), (0.0, 1.01)),
    ("Broyden", "window", (1,), (0,)),
    ("WassersteinFlow", "step_size", (0.01,), (0.0,)),
    ("WassersteinFlow", "decay", (0.01, 1.0), (0.0, 1.01)),
    ("WassersteinFlow", "momentum", (0.0, 0.99), (-0.01, 1.0)),
    ("TuningFreeFlow", "first", (0.01,), (0.0,)),
    ("SobolevFlow", "bandwidth", (0.01,), (0.0,)),
    ("SobolevFlow", "ridge", (0.01,), (0.0,)),
    ("SobolevFlow", "iterations", (1,), (0,)),
    ("Anderson", "damping", (0.01, 1.0), (0.0, 1.01)),
    ("Anderson", "ridge", (0.0,), (-0.01,)),
    ("Anderson", "window", (2,), (1,)),
]


@pytest.mark.parametrize(("solver", "field", "good", "bad"), EDGES)
def test_values_to_the_edge(solver, field, good, bad):
    cls = getattr(solvers, solver)
    for value in good:
        assert getattr(cls(**{field: value}), field) == value
    for value in bad:
        with pytest.raises(ValueError, match=field):
            cls(**{field: value})


def test_every_iterate_or_every_so_many_are_kept():
    z = PointClouds.from_list([torch.ones(2, 1)])
    solver = solvers.Picard(max_steps=3)
    assert solver.solve(lambda z: z, z, save_every=1).steps == 1
    with pytest.raises(ValueError, match="save_every"):
        solver.solve(lambda z: z, z, save_every=0)


def test_a_chain_has_tolerance_and_divergence_of_its_last_solver():
    divergences = [MMD(Gaussian(0.1)), MMD(Gaussian(0.2)), SlicedMMD(3)]
    parts = [solvers.Picard(2, 0.1 * (i + 1), divergences[i]) for i in range(3)]
    chain = solvers.Chain(*parts)
    assert chain.tol == parts[-1].tol
    assert chain.max_steps == 6
    assert [part.divergence for part in chain.parts] == 3 * [divergences[-1]]


@pytest.mark.parametrize(("before", "factor"), [(torch.inf, 1 / 3), (0.0, 4.0)])
def test_the_ridge_falls_to_a_third_and_grows_fourfold(before, factor):
    z = PointClouds.from_list([torch.randn(4, 2)])
    state = {"ridge": torch.tensor([0.5]), "residual": torch.tensor([before])}
    step = solvers.SobolevFlow().step(lambda z: z.map(lambda p: 0.5 * p), z, state, 1)
    assert step.state["ridge"].tolist() == pytest.approx([0.5 * factor])
