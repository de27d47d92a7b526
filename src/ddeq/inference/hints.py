"""What a user knows of a scan: which way is up, where the hole is, the whole's frame, symmetry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ddeq.data.view import FramedClouds
from ddeq.errors import DdeqError
from ddeq.measures.clouds import Normalization
from ddeq.nn import EquilibriumMap

__all__ = ["Hints", "mirrored_points"]

_MIRRORED = 20_000  # points that are mirrored at most
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True)
class Hints:
    """What is known beside the points, in the units of the cloud.

    Attributes:
        up: The axis of a 3-D cloud that points up, ``"z"`` or ``"y"``.
        box: New points lie in it: the least and then the largest coordinates, ``2 d`` numbers.
        hole: New points lie in this ball: its centre and its radius, ``d + 1`` numbers. As many
            are added as its surroundings suggest, whatever the model says is missing.
        frame: Centre of the whole object and its size, the root of the mean variance over the
            coordinates, ``d + 1`` numbers; for models that were trained with it.
        symmetry: The object has a vertical plane of symmetry: what is missing on one side is
            taken from the other first.
    """

    up: str = "z"
    box: tuple[float, ...] | None = None
    hole: tuple[float, ...] | None = None
    frame: tuple[float, ...] | None = None
    symmetry: bool = False

    def check(self, dim: int) -> None:
        """Refuses hints that do not fit a cloud.

        Raises:
            DdeqError: in one line that names the hint.
        """
        if self.up not in ("z", "y") or (self.up != "z" and dim != 3):
            raise DdeqError(f"up must be z or y, z but in 3 dimensions: {self.up!r}")
        for name, count in (("box", 2 * dim), ("hole", dim + 1), ("frame", dim + 1)):
            values = getattr(self, name)
            if values is None:
                continue
            if len(values) != count or not np.isfinite(values).all():
                raise DdeqError(f"{name} needs {count} numbers for a {dim}-D cloud: {values}")
            if name != "box" and not values[-1] > 0:
                raise DdeqError(f"{name} needs a positive {'radius' if name == 'hole' else 'size'}")
        if self.box is not None and not (np.array(self.box[dim:]) > self.box[:dim]).all():
            raise DdeqError(f"box needs its least coordinates first: {self.box}")

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Which points may be new ones, ``(n, d) -> (n,)`` bool."""
        dim, found = points.shape[1], np.ones(len(points), dtype=bool)
        if self.box is not None:
            found &= ((points >= self.box[:dim]) & (points <= self.box[dim:])).all(1)
        if self.hole is not None:
            found &= np.linalg.norm(points - self.hole[:dim], axis=1) <= self.hole[dim]
        return found

    def upright(self, points: np.ndarray) -> np.ndarray:
        """Points as the network takes them, z up, ``(n, d)``; exact but for signs and order."""
        return points if self.up == "z" else points @ _Y_UP.T.astype(points.dtype)

    def back(self, points: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`upright`."""
        return points if self.up == "z" else points @ _Y_UP.astype(points.dtype)

    def framed(self, seen: FramedClouds) -> FramedClouds:
        """The cloud in the frame of the whole, if that is known."""
        if self.frame is None:
            return seen
        view = seen.views[0]
        centre = self.upright(np.array([self.frame[:-1]]))[0]
        shift = torch.as_tensor((centre - view.shift) / view.scale).to(seen.x.points)[None]
        scale = torch.full_like(shift, self.frame[-1] / view.scale)
        old, new = seen.frame, Normalization(shift, scale)
        return replace(seen, x=new.apply(old.invert(seen.x)), frame=new)

    def wanted(self, cloud: np.ndarray, size: int) -> int | None:
        """New points that a hole needs at the density around it; None if no hole is named.

        Of the ball of twice its radius, the surface outside of the hole is ``2^(d-1) - 1`` times
        that inside.
        """
        if self.hole is None:
            return None
        dim = cloud.shape[1]
        gaps = np.linalg.norm(cloud - self.hole[:dim], axis=1)
        around = ((gaps > self.hole[dim]) & (gaps <= 2 * self.hole[dim])).mean() * size
        return max(round(around / max(2 ** (dim - 1) - 1, 1)), 1)

    def restrict(self, f: EquilibriumMap, seen: FramedClouds) -> EquilibriumMap:
        """The map whose particles belong to proposals inside the box or the hole, if any does."""
        mixture = getattr(f.context, "proposals", None)
        if mixture is None or (self.box is None and self.hole is None):
            return f
        inside = partial(self._inside, seen)
        allowed = torch.stack([inside(places) for places in mixture.places])
        allowed = allowed & (mixture.logits > -torch.inf)
        if not bool(allowed.any()):
            return f
        # far below the others: a mixture without weights would draw anything
        logits = torch.where(allowed, mixture.logits, mixture.logits - 40.0)
        narrowed = replace(mixture, logits=logits)
        return type(f)(f.network, replace(f.context, proposals=narrowed), f.precision)

    def _inside(self, seen: FramedClouds, places: Tensor) -> Tensor:
        """Which places of the network's frame are inside, ``(n, d) -> (n,)`` bool."""
        own = self.back(seen.invert([places])[0].astype(np.float64))
        return torch.from_numpy(self.inside(own)).to(places.device)


def mirrored_points(cloud: np.ndarray, seed: int = 0) -> np.ndarray:
    """Points of a cloud, z up, mirrored at its best vertical plane, where none are yet, ``(m, d)``.

    None are where a mirrored point is farther from the cloud than twice the median distance of
    neighbours in it.
    """
    from scipy.spatial import cKDTree

    from ddeq.models.baselines.guesses import mirror_visible

    few = cloud[np.random.default_rng(seed).permutation(len(cloud))[:_MIRRORED]]
    image = mirror_visible(torch.from_numpy(few), len(few), np.random.default_rng(seed)).numpy()
    tree = cKDTree(few)
    typical = np.median(tree.query(few, k=min(2, len(few)))[0][..., -1])
    return image[tree.query(image)[0] > 2 * typical]
