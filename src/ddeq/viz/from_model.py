"""What a model does to some clouds, as arrays for :mod:`ddeq.viz.pictures` and ``diagrams``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from ddeq.data import CloudDataset, PartialItem, collate, collate_partial
from ddeq.errors import DdeqError
from ddeq.models import Completer
from ddeq.solvers.solution import Solution
from ddeq.viz.diagrams import FixedPoint
from ddeq.viz.gliding import glide
from ddeq.viz.pictures import CompletionRow, FlowRow

__all__ = [
    "check_method",
    "choose",
    "completions",
    "flatten",
    "flow",
    "match",
    "pooled",
    "principal_plane",
]

_NEEDS = {"tsne": ("sklearn", "scikit-learn"), "umap": ("umap", "umap-learn"), "pca": None}


def choose(data: CloudDataset, count: int, seed: int) -> list[int]:
    """Indices of ``count`` clouds, drawn at random, the classes in turn.

    Example:
        >>> from ddeq.data import load
        >>> data = load("mnist-mini", "test")
        >>> data.labels[choose(data, 12, seed=0)].tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    """
    rng = np.random.default_rng(seed)
    pools = [rng.permutation(np.flatnonzero(data.labels == c)) for c in range(len(data.classes))]
    rows = max(map(len, pools))
    turns = [int(pool[i]) for i in range(rows) for pool in pools if i < len(pool)]
    return turns[:count]


@torch.no_grad()
def completions(
    model: Completer, items: Sequence[PartialItem], classes: Sequence[str], seed: int = 0
) -> list[CompletionRow]:
    """Completion tasks with what the model makes of them, in the frame of the whole clouds."""
    batch = collate_partial(items).to(next(model.parameters()).device)
    z, solution = model.latent(batch.partial, seed, save_every=10**9)
    start, result = model.points(solution.trajectory[0]), model.points(z)
    clouds = (batch.partial, start, result, batch.target)
    return [
        CompletionRow(partial, before, after, target, classes[item.label])
        for item, partial, before, after, target in zip(
            items, *(c.to("cpu").to_list() for c in clouds), strict=True
        )
    ]


@torch.no_grad()
def flow(
    model: Completer, item: PartialItem, title: str, seed: int = 0, moments: int = 6
) -> FlowRow:
    """The flow of one cloud's free particles, at equal times of a smooth path."""
    batch = collate_partial([item])
    z, solution = model.latent(batch.partial, seed, save_every=1)
    residuals = solution.residuals[:, 0]
    last = int(residuals.argmin())
    iterates = [model.points(step).points[0] for step in (*solution.trajectory[:last], z)]
    path, _ = glide(iterates, moments)
    return FlowRow(
        input=batch.partial.points[0],
        free=path,
        residuals=(float(residuals[0]), float(residuals[last])),
        steps=last,
        target=batch.target.points[0],
        title=title,
    )


def match(
    solution: Solution, titles: Sequence[str]
) -> tuple[list[FixedPoint], tuple[float, float]]:
    """``Z*`` and ``F(Z*)`` in their common principal plane, matched by optimal assignment.

    The assignment is made in all dimensions, before the projection.

    Returns:
        An equilibrium per cloud, and the parts of the variance that the two axes show.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    pairs = []
    for z, image in zip(solution.value.to_list(), solution.image.to_list(), strict=True):
        a, b = z.detach().double().numpy(), image.detach().double().numpy()
        pairs.append((a, b[linear_sum_assignment(cdist(a, b, "sqeuclidean"))[1]]))
    every = np.concatenate([np.concatenate(pair) for pair in pairs])
    mean, axes, shares = principal_plane(every)
    points = [
        FixedPoint((a - mean) @ axes, (b - mean) @ axes, title)
        for (a, b), title in zip(pairs, titles, strict=True)
    ]
    return points, shares


def principal_plane(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """Mean ``(p,)``, two axes ``(p, 2)`` and their shares of the variance of ``(n, p)`` rows."""
    mean = rows.mean(0)
    _, sizes, axes = np.linalg.svd(rows - mean, full_matrices=False)
    if len(axes) < 2:
        raise ValueError("a plane needs at least two points in two dimensions")
    shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
    # the sign of an axis is free: the largest entry is made positive, so that pictures repeat
    signs = np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(1)])
    return mean, (axes[:2] * signs[:, None]).T, (float(shares[0]), float(shares[1]))


@torch.no_grad()
def pooled(
    model: Any,
    items: Any,
    batches: Iterable[list[int]],
    seed: int = 0,
    collate: Callable[[list[Any]], Any] = collate,
) -> tuple[np.ndarray, np.ndarray]:
    """``maxpool(Z*)`` of clouds, ``(n, p)``, and their classes, ``(n,)``, in the order given.

    Args:
        model: Has ``latent``.
        items: What it is asked, by number.
        batches: Numbers of items.
        seed: Of the particles.
        collate: Makes a batch of items: first the clouds that the model sees, last their classes.
    """
    features, labels = [], []
    for batch in batches:
        x, *_, y = collate([items[i] for i in batch])
        z = model.latent(x, seed)[0]
        features.append(z.points.masked_fill(~z.mask[..., None], -torch.inf).amax(1))
        labels.append(y)
    return torch.cat(features).numpy(), torch.cat(labels).numpy()


def check_method(method: str) -> None:
    """Raises DdeqError, in one line, for a method of :func:`flatten` that cannot be used."""
    if method not in _NEEDS:
        raise DdeqError(f"unknown method {method!r}: one of {', '.join(_NEEDS)}")
    needed = _NEEDS[method]
    if needed is not None and find_spec(needed[0]) is None:
        raise DdeqError(
            f"{method} needs {needed[1]}: pip install {needed[1]}, or take --method pca"
        )


def flatten(features: np.ndarray, method: str = "tsne", seed: int = 0) -> np.ndarray:
    """A place in the plane for each row, ``(n, p) -> (n, 2)``.

    Args:
        features: One row per cloud, at least 3.
        method: ``tsne`` (needs scikit-learn), ``umap`` (needs umap-learn) or ``pca``.
        seed: Of the first two, which are random.
    """
    check_method(method)
    if len(features) < 3:
        raise DdeqError(f"an embedding needs at least 3 clouds, got {len(features)}")
    if method == "pca":
        mean, axes, _ = principal_plane(features.astype(np.float64))
        return (features - mean) @ axes
    if method == "umap":
        import umap

        near = min(15, len(features) - 1)
        return umap.UMAP(n_neighbors=near, random_state=seed).fit_transform(features)
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(features) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(features)
