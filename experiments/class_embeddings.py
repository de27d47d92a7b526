"""Classes in the pooled fixed points of the shipped classifiers, and in the plane by t-SNE."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from common import digits
from scipy.spatial import cKDTree

from ddeq.data import CloudDataset, LengthBuckets, load
from ddeq.models import Classifier
from ddeq.viz.from_model import choose, flatten, pooled

NAME = "class-embeddings"
PAPER = "figures: class embeddings"

_NEIGHBOURS = 5


def run(data: str, budget: float) -> dict[str, Any]:
    """Embeds test clouds and asks their neighbours for the class."""
    seed, few = 0, data == "mini"
    sets = {"mnist-pc": (digits(data), 400 if few else 1000)}
    if not few:
        sets["modelnet40"] = (load("modelnet40", "test"), 800)
    rows, drawn = [], {}
    for weights, (clouds, count) in sets.items():
        chosen = choose(clouds, count, seed)
        features, raw, labels = _embed(weights, clouds, chosen, seed)
        plane = flatten(features, "tsne", seed)
        spaces = {"moments of the cloud": raw, "maxpool(Z*)": features, "t-SNE of it": plane}
        rows += [
            {
                "weights": weights,
                "clouds": len(chosen),
                "space": name,
                "dimensions": where.shape[1],
                "neighbours agree, %": _agree(where, labels),
            }
            for name, where in spaces.items()
        ]
        drawn[weights] = {
            "plane": np.round(plane, 2).tolist(),
            "labels": labels.tolist(),
            "classes": list(clouds.classes),
        }
    return {
        "seed": seed,
        "settings": {
            "data": ", ".join(clouds.name for clouds, _ in sets.values()),
            "weights": "as shipped",
            "protocol": f"most frequent class of the {_NEIGHBOURS} nearest others",
        },
        "rows": rows,
        "drawn": drawn,
        "shows": _verdict(rows),
    }


def expect(result: dict[str, Any]) -> dict[str, bool]:
    """What must come out."""
    agree = [row["neighbours agree, %"] for row in result["rows"]]
    return {
        "classes of digits are apart in the fixed points": agree[1] > 90,
        "more so than in the moments of the clouds": agree[1] > agree[0],
    }


def plot(result: dict[str, Any]) -> Any:
    """The planes, coloured by class."""
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke

    from ddeq.viz.diagrams import class_colors
    from ddeq.viz.drawing import TEXT

    drawn = result["drawn"]
    figure = Figure(figsize=(5.6 * len(drawn), 5.2), layout="constrained")
    for i, (weights, one) in enumerate(drawn.items()):
        ax, places = figure.add_subplot(1, len(drawn), i + 1), np.array(one["plane"])
        labels, colors = np.array(one["labels"]), class_colors(len(one["classes"]))
        ax.scatter(*places.T, c=[colors[label] for label in labels], s=9, linewidths=0)
        for label in np.unique(labels):
            part = places[labels == label]
            x, y = part[np.linalg.norm(part - np.median(part, 0), axis=1).argmin()]
            size = 11 if len(colors) <= 12 else 6.5
            text = ax.text(x, y, one["classes"][label], ha="center", fontsize=size, color=TEXT)
            text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
        ax.set_title(weights, fontsize=10, color=TEXT)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return figure


def _verdict(rows: list[dict[str, Any]]) -> str:
    said = [f"{r['neighbours agree, %']:.1f} % ({r['weights']})" for r in rows[1::3]]
    return (
        "In the pooled fixed points the classes are apart, before the linear head: the nearest "
        f"others have the right class for {' and '.join(said)}. The paper draws digits by UMAP "
        "(80 neighbours) and shapes by t-SNE (perplexity 30); here both are by t-SNE."
    )


def _embed(
    weights: str, clouds: CloudDataset, chosen: list[int], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pooled fixed points ``(n, p)``, moments ``(n, m)`` and classes ``(n,)`` of some clouds."""
    even, model = clouds.in_proportion(), Classifier.from_pretrained(weights)
    buckets = LengthBuckets(clouds.lengths[chosen], 64, shuffle=False)
    order = [[chosen[i] for i in bucket] for bucket in buckets]
    features, labels = pooled(model, even, order, seed)
    raw = np.stack([_moments(even[i][0].numpy()) for bucket in order for i in bucket])
    return features, raw, labels


def _agree(points: np.ndarray, labels: np.ndarray) -> float:
    near = cKDTree(points).query(points, _NEIGHBOURS + 1)[1][:, 1:]
    voted = [np.bincount(labels[row]).argmax() for row in near]
    return 100 * float(np.mean(np.array(voted) == labels))


def _moments(cloud: np.ndarray) -> np.ndarray:
    """Means of all products of two to four coordinates: what little a cloud says by itself."""
    axes = range(cloud.shape[1])
    groups = [g for n in (2, 3, 4) for g in combinations_with_replacement(axes, n)]
    return np.array([cloud[:, list(group)].prod(1).mean() for group in groups])
