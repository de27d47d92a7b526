"""The seven corruptions of ModelNet-C, at five levels, as functions of a cloud and a generator.

The kinds and their parameters are those of Ren, Pan, Liu, "Benchmarking and Analyzing Point Cloud
Classification under Corruptions", ICML 2022. There they are made for 1,024 points inside the unit
ball; here counts are shares of the cloud's points, so that they suit a cloud of any size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["CORRUPTIONS", "LEVELS", "corrupt"]

LEVELS = 5
_PER_LEVEL = 100 / 1024  # share of the points in the local clusters of one level

Corruption = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


def corrupt(cloud: np.ndarray, kind: str, level: int, rng: np.random.Generator) -> np.ndarray:
    """A corrupted copy of a cloud.

    Args:
        cloud: ``(N, 3)``; it is brought into the unit ball around its mean first.
        kind: A name of :data:`CORRUPTIONS`.
        level: From 1, mild, to :data:`LEVELS`.
        rng: Source of everything random.

    Returns:
        ``(M, 3)`` float64.
    """
    if kind not in CORRUPTIONS:
        raise ValueError(f"unknown corruption {kind!r}: one of {', '.join(CORRUPTIONS)}")
    if not 1 <= level <= LEVELS:
        raise ValueError(f"the level must be 1 to {LEVELS}, got {level}")
    return CORRUPTIONS[kind](_in_ball(cloud), level, rng)


def _in_ball(cloud: np.ndarray) -> np.ndarray:
    centred = cloud - cloud.mean(0, dtype=np.float64)
    return centred / max(float(np.linalg.norm(centred, axis=1).max()), 1e-12)


def _scale(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """Each coordinate times ``U(1/s, s)``, ``s`` from 1.6 to 2."""
    most = 1.5 + 0.1 * level
    return _in_ball(cloud * rng.uniform(1 / most, most, 3))


def _jitter(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise of deviation 0.01 per level."""
    return cloud + 0.01 * level * rng.standard_normal(cloud.shape)


def _rotate(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """Turns about all three axes, each by up to 6 degrees per level."""
    turned = cloud
    for axis, angle in enumerate(rng.uniform(-1, 1, 3) * level * np.pi / 30):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[[a, a, b, b], [a, b, a, b]] = (
            np.cos(angle),
            -np.sin(angle),
            np.sin(angle),
            np.cos(angle),
        )
        turned = turned @ turn.T
    return turned


def _drop_global(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """Random points, from a quarter to three quarters of them."""
    kept = max(1, int(len(cloud) * (0.875 - 0.125 * level)))
    return cloud[rng.choice(len(cloud), kept, replace=False)]


def _drop_local(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """The points nearest to random points, in up to seven clusters."""
    for size in _clusters(cloud, level, rng):
        centre = cloud[rng.integers(len(cloud))]
        order = np.argsort(((cloud - centre) ** 2).sum(1), kind="stable")
        cloud = cloud[np.sort(order[min(size, len(cloud) - 1) :])]
    return cloud


def _add_global(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """Points uniform in the unit ball, about 1 % per level."""
    count = max(1, round(0.1 * _PER_LEVEL * level * len(cloud)))
    direction = rng.standard_normal((count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.concatenate([cloud, direction * rng.random((count, 1)) ** (1 / 3)])


def _add_local(cloud: np.ndarray, level: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian clusters of deviation 0.075 to 0.125 around random points, inside the unit ball."""
    parts = [cloud]
    for size in _clusters(cloud, level, rng):
        centre, width = cloud[rng.integers(len(cloud))], rng.uniform(0.075, 0.125)
        more = centre + width * rng.standard_normal((size, 3))
        parts.append(more / np.maximum(np.linalg.norm(more, axis=1, keepdims=True), 1.0))
    return np.concatenate(parts)


def _clusters(cloud: np.ndarray, level: int, rng: np.random.Generator) -> list[int]:
    """Random sizes of one to seven clusters that make up the share of the level."""
    count = int(rng.integers(1, 8))
    total = round(_PER_LEVEL * level * len(cloud))
    return rng.multinomial(total, np.full(count, 1 / count)).tolist()


CORRUPTIONS: dict[str, Corruption] = {
    "scale": _scale,
    "jitter": _jitter,
    "rotate": _rotate,
    "drop global": _drop_global,
    "drop local": _drop_local,
    "add global": _add_global,
    "add local": _add_local,
}
"""The corruptions by name, in the order of the benchmark."""
