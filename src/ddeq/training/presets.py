"""Recipes by name: ours, and the paper's settings as ``paper-*``."""

from __future__ import annotations

import math
from dataclasses import replace

from ddeq.adjoints import PhantomGradient
from ddeq.nn import Groups, Network, Planes
from ddeq.solvers import Picard, WassersteinFlow
from ddeq.tasks import Classification, Completion, Holes, PCNHolesTask, PCNTask, Task
from ddeq.training.recipe import Recipe

__all__ = ["PRESETS"]

_PAPER = Recipe(
    task=Classification(proportions=False),
    data="mnist-pc",
    network=Network(head_size=4, cross_layers=1, dropout=0.1),
    solver=WassersteinFlow(200, 1e-3, step_size=5.0),
    optimizer="adamw",
    learning_rate=1e-3,
    schedule="paper",
    weight_decay=0.0,
    clip=math.inf,
    average=0.0,
    augment=False,
    train_steps=(200, 200),
)
_PAPER_DEEP = replace(_PAPER, network=Network(head_size=4, cross_layers=3, dropout=0.1))
_PAPER_COMPLETION = Completion(own_frame=0.0, estimate=False, free_weight=0.0, residual_weight=0.0)

_READS_PICTURES = Network(
    pushforward=True,
    head_size=16,
    cross_layers=1,
    dropout=0.0,
    planes=Planes(size=32, widths=(16, 32, 64, 128)),
    marks=2,
    expansion=2,
)
_PICTURES = Recipe(
    task=Classification(mean=True, guide=0.5),
    data="mnist-pc",
    network=_READS_PICTURES,
    solver=Picard(12, 1e-3),
    adjoint=PhantomGradient(2),
    learning_rate=4e-3,
    train_steps=(2, 4),
)
_SHAPES = replace(
    _PICTURES,
    task=Classification(smoothing=0.2, azimuth=True, mean=True, guide=0.5),
    data="modelnet40",
    # the shipped weights had 42 epochs more, from these on, at a learning rate of 7e-3
    network=replace(_READS_PICTURES, pushforward=False, planes=None, fourier=5, groups=Groups()),
    learning_rate=1e-2,
    weight_decay=2e-2,
    epochs=19,
    batch_size=32,
    max_points=600,
    validation=0.03,
)

_COMPLETION = Recipe(
    task=Completion(own_frame=0.4),
    data="shapes",
    network=Network(head_size=32, cross_layers=2, dropout=0.0),
    augment=False,
    train_steps=(3, 6),
    replay=6,
)

_READS_HOLES = Network(
    head_size=32,
    cross_layers=2,
    dropout=0.0,
    fourier=4,
    radii=(0.15, 0.3, 0.6),
    x_layers=3,
    marks=3,
    near=True,
    rims=True,
    proposals=2,
    edges=True,
)
_HOLES = Recipe(
    task=Holes(),
    data="scans",
    network=_READS_HOLES,
    solver=Picard(40, 1e-4),
    learning_rate=3e-3,
    warmup=100,
    batch_size=20,
    train_steps=(2, 6),
)

_BASELINE = Recipe(
    task="pointnet",  # type: ignore[arg-type]  # a name stands for the task
    data="mnist-pc",
    optimizer="adamw",
    learning_rate=1e-3,
    weight_decay=1e-4,
    average=0.0,
    batch_size=32,
)
_BASELINE_DATA = {
    "mnist": {"data": "mnist-pc", "epochs": 6},
    "modelnet40": {"data": "modelnet40", "epochs": 24, "max_points": 600},
    "mini": {"data": "mnist-mini", "epochs": 6, "validation": 0.1, "warmup": 50},
}
_CLASSIFIERS = ("pointnet", "point-transformer", "deepsets", "set-transformer", "dgcnn")


def _baselines() -> dict[str, Recipe]:
    """Every baseline with every data set it is for, ``pointnet-mnist`` and so on."""
    found = {}
    for name in _CLASSIFIERS:
        for data, changes in _BASELINE_DATA.items():
            task = Task.of(name)(smoothing=0.2 if data == "modelnet40" else 0.0)  # type: ignore[call-arg]
            found[f"{name}-{data}"] = replace(_BASELINE, task=task, **changes)  # type: ignore[arg-type]
    completion = replace(_BASELINE, task=PCNTask(), learning_rate=5e-4, augment=False)
    found["pcn-mnist"] = replace(completion, data="mnist-pc", epochs=4)
    found["pcn-modelnet8"] = replace(
        completion, task=PCNTask(coarse=768), data="modelnet8", epochs=45, augment=True
    )
    found["pcn-scans"] = replace(
        completion, task=PCNHolesTask(), data="scans", epochs=200, augment=True
    )
    found["pcn-mini"] = replace(completion, data="mnist-mini", validation=0.1, warmup=50)
    return found


PRESETS: dict[str, Recipe] = {
    "mnist-classification": replace(_PICTURES, epochs=12),
    "mnist-completion": replace(_COMPLETION, data="mnist-pc", epochs=4, batch_size=32),
    "modelnet40-classification": _SHAPES,
    "modelnet40-s-classification": replace(
        _SHAPES,
        # shapes as they stand, as in the paper
        task=Classification(smoothing=0.2, mean=True, guide=0.5),
        data="modelnet40-s",
        network=replace(
            _READS_PICTURES, planes=Planes(size=64, stride=2, widths=(16, 32, 64, 128))
        ),
        learning_rate=7e-3,
        epochs=34,
        max_points=100_000,
    ),
    "modelnet8-completion": replace(
        _COMPLETION, data="modelnet8", epochs=45, batch_size=32, augment=True, max_points=256
    ),
    "shapes-completion": replace(_COMPLETION, epochs=18, batch_size=32, max_points=256),
    # the shipped weights saw as many shapes of ModelNet40 as scans
    "scans-completion": replace(_HOLES, epochs=200),
    "digits-completion": replace(
        _HOLES,
        task=Holes(told=0.5, particles=40, reads=0),
        data="mnist-mini",
        network=replace(_READS_HOLES, fourier=5, marks=2, edges=False),
        epochs=20,
        batch_size=28,
    ),
    "mini-classification": replace(
        _PICTURES, data="mnist-mini", epochs=6, validation=0.1, warmup=50
    ),
    "mini-completion": replace(
        _COMPLETION, data="mnist-mini", epochs=10, validation=0.1, warmup=50
    ),
    "paper-mnist-classification": _PAPER,
    "paper-mnist-completion": replace(_PAPER_DEEP, task=_PAPER_COMPLETION),
    "paper-modelnet40-classification": replace(_PAPER_DEEP, data="modelnet40", epochs=20),
    "paper-modelnet8-completion": replace(
        _PAPER_DEEP, task=_PAPER_COMPLETION, data="modelnet8", epochs=100
    ),
    **_baselines(),
}
"""Ours, those that begin with ``paper``, and the baselines."""
