"""The protocol by which completers are compared: nothing of the whole cloud is told.

A *completer* here is any function from a list of partial clouds to the list of their new points, in
the same coordinates: a network, a lookup, a guess. All are given the same clouds, cut by the same
seed, and measured alike::

    cloud -> turned about z (3-D) -> cut -> partial at zero mean and unit size of its own
          -> completer -> new points, back in the units of the true cloud -> metrics

The paper's protocol, in which the frame of the whole is told, is ``told=True``.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ddeq.data import CloudDataset
from ddeq.data.corruptions import item_rng
from ddeq.data.cuts import CUTS
from ddeq.data.surface import to_surface
from ddeq.errors import DdeqError
from ddeq.tasks.report import Mean

__all__ = ["METRICS", "Complete", "Problem", "Result", "evaluate", "problems", "table", "versions"]

Complete = Callable[..., Sequence[np.ndarray]]
"""``[(N_i, d)] -> [(M_i, d)]``; with ``counts=True`` it is also given how many are missing."""

METRICS = {
    "OT new": "optimal transport cost min E|x - y| of new points x and removed points y",
    "W2 new": "2-Wasserstein distance sqrt(min E|x - y|^2) of new and removed points",
    "MMD2 new": "squared MMD, kernel -|x - y|, of new and removed points",
    "MMD2 whole": "the same of the result (partial cloud and new points) and the true cloud",
    "Chamfer": "mean squared distance to the nearest point, result and true cloud, both ways added",
    "F-score": "harmonic mean of the shares of result and true cloud that lie near the other",
    "near": "share of new points near the true cloud",
    "distance": "mean distance of new points from the nearest point of the true cloud",
    "surface": "mean distance of new points from the surface through the true cloud near them",
    "better": "share of clouds whose Chamfer distance is smaller than that of doing nothing",
    "added": "new points per visible point",
    "unchanged": "share of clouds that got no new point",
}
"""What is measured of each cloud. Near: within twice the median distance of neighbours in it."""

_MOST_OT = 512
_AZIMUTH, _CUT, _OT = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Problem:
    """One partial cloud, and what is known to those who judge.

    Attributes:
        kept: The visible points in units of the true cloud, ``(N, d)``.
        removed: The points that are missing, ``(M, d)``.
        centre: What is subtracted from ``kept``, ``(d,)``, before it is shown,
        scale: and what it is divided by.
        key: Seed and index, from which the judges draw.
    """

    kept: np.ndarray
    removed: np.ndarray
    centre: np.ndarray
    scale: float
    key: tuple[int, int]

    @property
    def whole(self) -> np.ndarray:
        """The true cloud, ``(N + M, d)``."""
        return np.concatenate([self.kept, self.removed])

    @property
    def shown(self) -> np.ndarray:
        """What a completer is given, ``(N, d)`` float32."""
        return ((self.kept - self.centre) / self.scale).astype(np.float32)

    def back(self, new: np.ndarray) -> np.ndarray:
        """New points in units of the true cloud, ``(M, d)``."""
        return np.asarray(new, dtype=np.float64) * self.scale + self.centre


@dataclass(frozen=True, eq=False)
class Result:
    """What a completer does on a data set.

    Attributes:
        metrics: Mean and standard error of each metric, over the clouds for which it is defined.
        values: The metrics of each cloud, ``(n,)``, NaN where one is not defined.
        settings: Everything the figures depend on, but for the completer.
        cpu_seconds: Processor time of the completer.
    """

    metrics: dict[str, Mean]
    values: dict[str, np.ndarray]
    settings: dict[str, Any]
    cpu_seconds: float

    def to_json(self) -> dict[str, Any]:
        """Settings, versions, time and figures as JSON values."""
        figures = {name: vars(mean) for name, mean in self.metrics.items()}
        time_ = {"cpu_seconds": round(self.cpu_seconds, 2)}
        return {"settings": self.settings, "versions": versions(), **time_, "metrics": figures}


def evaluate(
    complete: Complete,
    data: CloudDataset,
    cut: str = "balls",
    seed: int = 0,
    *,
    told: bool = False,
    unit: str = "deviation",
    counts: bool = False,
    batch_size: int = 64,
    progress: Callable[[list[list[int]]], Iterable[list[int]]] = iter,
) -> Result:
    """Measures a completer on every cloud of a data set.

    Args:
        complete: The completer.
        data: Whole clouds.
        cut: A name in :data:`ddeq.data.cuts.CUTS`.
        seed: Of turns and cuts: the same seed gives every completer the same partial clouds.
        told: The paper's protocol: clouds at unit variance per coordinate, not turned, and shown
            as they are, in the frame of the whole.
        unit: Of all distances: ``"deviation"``, the root mean variance of the true cloud, or
            ``"radius"``, its largest distance from the centre of its bounding box.
        counts: Tell the completer how many points are missing: ``complete(partials, counts)``.
        batch_size: Clouds that are handed over at once; those of similar size go together.
        progress: Wraps the batches, to show how far it is.

    Raises:
        DdeqError: for an unknown cut or unit, or a completer that returns something else.
    """
    tasks = problems(data, cut, seed, told=told, unit=unit)
    order = np.argsort([len(task.kept) for task in tasks], kind="stable").tolist()
    groups = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rows: list[dict[str, float]] = [{} for _ in tasks]
    spent = 0.0
    for group in progress(groups):
        shown = [tasks[i].shown for i in group]
        extra = ([len(tasks[i].removed) for i in group],) if counts else ()
        begin = time.process_time()
        found = complete(shown, *extra)
        spent += time.process_time() - begin
        _check(found, shown)
        for i, new in zip(group, found, strict=True):
            rows[i] = measure(tasks[i], tasks[i].back(new))
    values = {name: np.array([row[name] for row in rows]) for name in METRICS}
    settings = {
        "data": data.name,
        "clouds": len(data),
        "cut": cut,
        "seed": seed,
        "frame": "told: that of the whole cloud" if told else "own: that of the visible part",
        "unit": unit,
        "counts told": counts,
    }
    return Result({n: _mean(v) for n, v in values.items()}, values, settings, spent)


def problems(
    data: CloudDataset, cut: str, seed: int = 0, *, told: bool = False, unit: str = "deviation"
) -> list[Problem]:
    """The partial clouds of a data set; arguments as in :func:`evaluate`."""
    if cut not in CUTS:
        raise DdeqError(f"unknown cut {cut!r}: one of {', '.join(CUTS)}")
    if unit not in ("deviation", "radius"):
        raise DdeqError(f"unit must be 'deviation' or 'radius', got {unit!r}")
    found = []
    for index in range(len(data)):
        whole = data[index][0].double().numpy() if told else data.raw(index).astype(np.float64)
        if not told and data.dim == 3:
            whole = whole @ _turn(item_rng(seed, index, stream=_AZIMUTH).uniform(0, 2 * np.pi))
        whole = whole / (_deviation(whole) if unit == "deviation" else _radius(whole))
        rng = item_rng(seed, index, stream=_CUT)
        kept, removed = (p.numpy() for p in CUTS[cut](torch.from_numpy(whole), rng))
        centre = np.zeros(data.dim) if told else kept.mean(0)
        scale = 1.0 if told else _deviation(kept)
        found.append(Problem(kept, removed, centre, scale, (seed, index)))
    return found


def measure(problem: Problem, new: np.ndarray) -> dict[str, float]:
    """The metrics of new points for a problem, by name; NaN where one is not defined.

    What compares new with removed points needs some of both; what is said of new points needs some.
    """
    kept, truth = problem.kept, problem.whole
    result = np.concatenate([kept, new])
    tree = cKDTree(truth)
    near = 2 * float(np.median(tree.query(truth, k=min(2, len(truth)))[0][..., -1]))
    to_truth, from_truth = tree.query(result)[0], cKDTree(result).query(truth)[0]
    before = np.square(cKDTree(kept).query(truth)[0]).mean()  # kept points lie on the truth
    after = np.square(to_truth).mean() + np.square(from_truth).mean()
    precision, recall = (to_truth <= near).mean(), (from_truth <= near).mean()
    values = dict.fromkeys(METRICS, np.nan)
    values |= {
        "MMD2 whole": _mmd2(result, truth),
        "Chamfer": after,
        "F-score": 2 * precision * recall / max(precision + recall, np.finfo(float).tiny),
        "better": float(after < before * 0.9999),  # not by rounding
        "added": len(new) / len(kept),
        "unchanged": float(len(new) == 0),
    }
    if len(new):
        away = to_truth[len(kept) :]
        values |= {"near": (away <= near).mean(), "distance": away.mean()}
        values["surface"] = to_surface(new, tree).mean()
    if len(new) and len(problem.removed):
        values |= _compare(new, problem.removed, item_rng(*problem.key, stream=_OT))
    return {name: float(value) for name, value in values.items()}


def table(results: Mapping[str, Result]) -> str:
    """A row per metric, a column per completer: mean +- standard error; ``-`` where undefined."""
    width = max(19, *(len(name) + 2 for name in results))
    lines = [" " * 12 + "".join(name.rjust(width) for name in results)]
    for metric in METRICS:
        cells = [result.metrics[metric] for result in results.values()]
        if all(np.isnan(mean.value) for mean in cells):
            continue
        shown = ["-" if np.isnan(m.value) else f"{m.value:.4f} +- {m.error:.4f}" for m in cells]
        lines.append(metric.ljust(12) + "".join(cell.rjust(width) for cell in shown))
    seconds = [1000 * r.cpu_seconds / max(r.settings["clouds"], 1) for r in results.values()]
    lines.append("ms per cloud".ljust(12) + "".join(f"{s:.2f}".rjust(width) for s in seconds))
    return "\n".join(lines)


def versions() -> dict[str, str]:
    """Versions of what figures depend on."""
    from ddeq import __version__

    found = {"ddeq": __version__, "torch": str(torch.__version__), "numpy": np.__version__}
    return {**found, "python": platform.python_version()}


def _compare(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Distances of two clouds; optimal transport of at most 512 points of each."""
    import ot

    x_few, y_few = (cloud[rng.permutation(len(cloud))[:_MOST_OT]] for cloud in (x, y))
    cost = cdist(x_few, y_few)
    uniform = [np.full(n, 1.0 / n) for n in cost.shape]
    transport, squared = (ot.emd2(*uniform, c, numItermax=1_000_000) for c in (cost, cost**2))
    return {"OT new": transport, "W2 new": max(squared, 0.0) ** 0.5, "MMD2 new": _mmd2(x, y)}


def _mmd2(x: np.ndarray, y: np.ndarray) -> float:
    """``2 E|x - y| - E|x - x'| - E|y - y'|``."""
    return 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()


def _mean(values: np.ndarray) -> Mean:
    known = values[~np.isnan(values)]
    return Mean.of(torch.from_numpy(known)) if len(known) else Mean(np.nan, np.nan)


def _check(found: Sequence[np.ndarray], shown: Sequence[np.ndarray]) -> None:
    if len(found) != len(shown):
        raise DdeqError(f"a completer gave {len(found)} clouds for {len(shown)}")
    for new, partial in zip(found, shown, strict=True):
        if np.ndim(new) != 2 or np.shape(new)[1] != partial.shape[1]:
            raise DdeqError(f"a completer gave {np.shape(new)} for a cloud {partial.shape}")
        if not np.isfinite(new).all():
            raise DdeqError("a completer gave points that are not finite")


def _deviation(points: np.ndarray) -> float:
    return float(np.sqrt(points.var(0).mean())) or 1.0


def _radius(points: np.ndarray) -> float:
    centre = (points.min(0) + points.max(0)) / 2
    return float(np.linalg.norm(points - centre, axis=1).max()) or 1.0


def _turn(angle: float) -> np.ndarray:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
