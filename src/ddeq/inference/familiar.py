"""Whether a cloud is like the surfaces that completers are trained on."""

from __future__ import annotations

import numpy as np

__all__ = ["thickness"]

_NEIGHBOURS = 16


def thickness(points: np.ndarray) -> float:
    """How far a cloud is from a surface (in 2-D: from a curve), from 0 to 1.

    The median over its points of ``l_d / l_(d-1)``, the two smallest variances along the principal
    axes of 16 neighbours: about 0 on a surface, about 1 in a solid and, in 3-D, on a curve.

    Args:
        points: ``(n, d)``, ``d >= 2``, a subsample of the cloud.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> flat = rng.uniform(size=(500, 3)) * [1, 1, 0.01]
        >>> thickness(flat) < 0.1, thickness(rng.uniform(size=(500, 3))) > 0.3
        (True, True)
    """
    from scipy.spatial import cKDTree

    centred = points.astype(np.float64) - points.mean(0, dtype=np.float64)
    count = min(_NEIGHBOURS, len(points))
    if count <= points.shape[1]:
        return 0.0  # so few points lie on some surface
    near = centred[cKDTree(centred).query(centred, count)[1]]  # (n, k, d)
    near = near - near.mean(1, keepdims=True)
    variances = np.linalg.eigvalsh(np.einsum("nki,nkj->nij", near, near))
    least, second = variances[:, 0].clip(min=0.0), variances[:, 1].clip(min=0.0)
    floor = 1e-12 * variances[:, -1] + np.finfo(float).tiny
    return float(np.median((least + floor) / (second + floor)))
