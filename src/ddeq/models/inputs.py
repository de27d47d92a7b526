"""The forms in which clouds are given to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.measures.weighted import equal_masses

__all__ = ["CloudsLike", "RaggedBatch", "as_clouds", "as_given"]

Array: TypeAlias = "Tensor | np.ndarray"


class RaggedBatch(Protocol):
    """What a batch of torch_geometric looks like: all points, and the cloud of each."""

    pos: Any
    batch: Any


CloudsLike: TypeAlias = "PointClouds | Array | Sequence[Array] | tuple[Array, Array] | RaggedBatch"


def as_clouds(x: CloudsLike) -> PointClouds:
    """Clouds in any form as a batch.

    Args:
        x: ``PointClouds``; a list of tensors or arrays ``(N_i, d)``; one of these, for one cloud; a
            tensor or an array ``(B, N, d)`` without padding; a pair ``(points, batch)``, where
            ``points``, ``(N, d)``, holds all clouds and ``batch``, ``(N,)``, numbers the cloud of
            each point from 0; or an object with ``pos`` and ``batch`` like that, such as a batch of
            torch_geometric.

    Raises:
        DdeqError: the form is none of these, or a cloud is empty or not finite.

    Example:
        >>> points, batch = torch.randn(5, 2), torch.tensor([0, 0, 1, 1, 1])
        >>> as_clouds((points, batch)).lengths.tolist()
        [2, 3]
    """
    if isinstance(x, PointClouds):
        equal_masses(x, "a model")
        return x
    if isinstance(x, (Tensor, np.ndarray)):
        return PointClouds.from_list(list(x) if x.ndim == 3 else [x])
    pair = _pair(x)
    if pair is not None:
        return PointClouds.from_list(_split(*pair))
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
        return PointClouds.from_list(x)
    raise DdeqError(
        f"clouds must be PointClouds, arrays, a list of these or (points, batch), "
        f"got {type(x).__name__}"
    )


def as_given(result: PointClouds, x: CloudsLike) -> Any:
    """Clouds in the form of the input ``x`` that they answer; PointClouds for ``(B, N, d)``."""
    if isinstance(x, PointClouds):
        return result
    if isinstance(x, (Tensor, np.ndarray)):
        return result if x.ndim == 3 else _like(result.points[0], x)
    clouds = result.to_list()
    pair = _pair(x)
    if pair is None:
        assert isinstance(x, Sequence)
        return [_like(cloud, given) for cloud, given in zip(clouds, x, strict=True)]
    batch = torch.arange(len(clouds)).repeat_interleave(result.lengths.cpu())
    return _like(torch.cat(clouds), pair[0]), _like(batch, pair[1])


def _pair(x: Any) -> tuple[Array, Array] | None:
    """Points and the clouds they belong to, if that is the form of ``x``."""
    if isinstance(x, tuple) and len(x) == 2 and getattr(x[1], "ndim", 0) == 1:
        return x[0], x[1]
    if hasattr(x, "pos") and hasattr(x, "batch"):
        zeros = torch.zeros(len(x.pos), dtype=torch.long)
        return x.pos, zeros if x.batch is None else x.batch
    return None


def _split(points: Array, batch: Array) -> list[Tensor]:
    """The clouds of a ragged batch, each ``(N_i, d)``, in the order of their numbers."""
    flat, index = torch.as_tensor(points), torch.as_tensor(batch)
    if index.is_floating_point() or index.shape != flat.shape[:1] or not len(index):
        shapes = f"{tuple(flat.shape)} and {tuple(index.shape)}"
        raise DdeqError(f"points and batch must be (N, d) and N integers, got {shapes}")
    least, most = int(index.min()), int(index.max())
    if least < 0 or most >= len(index):  # by more clouds than points some are empty
        raise DdeqError(f"batch must number clouds from 0, none empty, got {least} to {most}")
    order = torch.argsort(index, stable=True).to(flat.device)
    sizes = torch.bincount(index.cpu().long())
    return list(flat[order].split(sizes.tolist()))


def _like(value: Tensor, given: Array) -> Array:
    """A tensor as an array if that is what was given."""
    return value.to(given.device) if isinstance(given, Tensor) else value.cpu().numpy()
