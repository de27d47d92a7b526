"""The quantities of the convergence theorem: exact values, and a log of a training."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq import PointClouds
from ddeq.data import load
from ddeq.nn import Network
from ddeq.training import PRESETS, train
from ddeq.training.data import CloudData
from ddeq.training.theory import TheoryLog, bound, gradient_gap, pl_ratio

SMALL = Network(features=16, bilinear=4, head_size=4, cross_layers=1, dropout=0.1)


def one(*place: float) -> PointClouds:
    return PointClouds.from_list([torch.tensor([place])])


def test_the_ratio_of_two_diracs_is_their_distance() -> None:
    # F = |x - y| and its gradient is a unit vector: no constant bounds the ratio for all measures
    assert pl_ratio(one(0.0, 0.0), one(3.0, 4.0)).item() == pytest.approx(5.0, rel=1e-5)


def test_particles_far_away_have_a_large_ratio() -> None:
    torch.manual_seed(0)
    target = PointClouds.from_list([torch.randn(6, 3)])
    near = PointClouds.from_list([torch.randn(6, 3)])
    assert pl_ratio(target, near.map(lambda p: p + 100.0)) > 10 * pl_ratio(target, near)


def test_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    clouds, others = ([torch.randn(n, 3) for n in (4, 7)] for _ in range(2))
    both = pl_ratio(PointClouds.from_list(clouds), PointClouds.from_list(others))
    alone = pl_ratio(PointClouds.from_list(clouds[:1]), PointClouds.from_list(others[:1]))
    assert both[0].item() == pytest.approx(alone.item(), rel=1e-5)


def test_the_gap_is_zero_where_the_flow_does_what_it_should() -> None:
    target, mu = one(1.0, 0.0), one(4.0, 4.0)
    assert gradient_gap(lambda z: target, target, mu).item() == pytest.approx(0.0, abs=1e-6)
    assert gradient_gap(lambda z: z, target, target).item() == 0.0
    away = gradient_gap(lambda z: one(1.0, 2.0), target, target)
    assert away.item() == pytest.approx(1.0, rel=1e-5)  # at the target only G pulls


def test_the_bound_falls_when_gradients_vanish() -> None:
    assert bound(3.0, 100) < bound(3.0, 10)
    constant = [bound(float(steps), steps) for steps in (100, 1000, 10_000)]
    assert constant == sorted(constant), "gradients that do not vanish are not bounded"


@pytest.mark.parametrize("name", ["mini-classification", "mini-completion"])
def test_a_training_is_logged_and_goes_on_as_without_the_log(name: str, tmp_path: Path) -> None:
    recipe = replace(PRESETS[name], network=SMALL, batch_size=4, epochs=1, validation=0.0)
    recipe = replace(recipe, max_points=24, train_steps=(2, 3), replay=1)
    recipe = recipe.changed({"solver.max_steps": 4})
    clouds = load("mnist-mini", "train").subset(np.arange(24))
    few = {"limit_train_batches": 6}
    log = TheoryLog(tmp_path / "theory.json", every=2)
    models = [
        train(
            recipe,
            tmp_path / str(len(callbacks)),
            data=CloudData(recipe, whole=clouds),
            verbose=False,
            trainer_options=few,
            callbacks=callbacks,
        )
        for callbacks in ([log], [])
    ]
    assert [row["step"] for row in log.rows] == [2, 4, 6]
    assert all(np.isfinite(list(row.values())).all() and row["bound"] > 0 for row in log.rows)
    assert json.loads((tmp_path / "theory.json").read_text()) == log.rows
    for watched, plain in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(watched, plain)
