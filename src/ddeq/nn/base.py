"""What a network of measures offers to the models: ``encode``, ``step``, and a map for solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds

__all__ = ["EquilibriumMap", "MeasureNetwork", "full_precision", "over_tensors"]


def over_tensors(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Applies ``function`` to every tensor in nested tuples and dataclasses."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple):
        return tuple(over_tensors(item, function) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(
            *(over_tensors(getattr(value, field.name), function) for field in fields(value))
        )
    return value


class MeasureNetwork(nn.Module, ABC):
    """``F_theta(Z, X)``, equivariant in ``Z`` and invariant in ``X``; a base for one's own.

    A context is what ``F_theta(., X)`` needs of ``X``: a tensor, or a frozen dataclass or a tuple
    of these, in which every tensor has the batch first. A completer that estimates how many points
    are missing also reads ``context.summary`` and ``context.peak``, ``(B, p)`` each.

    Args:
        dim: ``d``, dimension of the points of ``X``.
        features: ``p``, dimension of the particles of ``Z``.
        mark_size: Numbers that the mark of a particle has; 0 for a network without marks.

    Attributes:
        share: Rank and number of processes that share a batch. Each draws the dropout of the whole
            batch and takes its part, so that they do together what one process does.
    """

    def __init__(self, dim: int, features: int, mark_size: int = 0) -> None:
        super().__init__()
        self.dim, self.features, self.mark_size = dim, features, mark_size
        self.share = (0, 1)

    @abstractmethod
    def encode(self, x: PointClouds, fixed: PointClouds | None = None) -> Any:
        """Everything of ``F_theta(., X)`` that does not depend on the moving particles.

        A network that can look at more points than it encodes takes these as ``dense``; see
        :meth:`ddeq.nn.EquilibriumNetwork.encode`.

        Args:
            x: ``B`` clouds in ``R^d``.
            fixed: Latent particles that do not move, in ``R^p``.
        """

    @abstractmethod
    def step(self, z: PointClouds, context: Any) -> PointClouds:
        """``F_theta(Z, X)`` at the moving particles, ``(B, N, p) -> (B, N, p)``."""

    def mark(self, context: Any, u: Tensor) -> Any:
        """The context of particles with marks ``u``, ``(B, N, >= mark_size)``."""
        return context

    def bind(self, context: Any) -> EquilibriumMap:
        """``F_theta(., X)`` as a map for a solver, in the precision of ``torch.autocast`` here."""
        if torch.is_inference_mode_enabled():  # whose tensors a flow cannot differentiate
            with torch.inference_mode(False):
                context = over_tensors(context, torch.clone)
        return EquilibriumMap(self, context, _autocast_dtype(context))

    def compile(self, *args: Any, **options: Any) -> None:
        """Compiles :meth:`step`, which a solver applies over and over, by ``torch.compile``.

        Sizes are dynamic: other clouds, numbers of clouds and of particles use the same code, but
        for sizes of 1, which torch treats apart.

        Args:
            args: Of ``torch.compile``.
            options: Of ``torch.compile``.
        """
        options = {"dynamic": True, **options}
        self.step = torch.compile(self.step, *args, **options)  # type: ignore[method-assign]


class EquilibriumMap:
    """``z -> F_theta(z, X)`` for one encoded ``X``; can be narrowed to some clouds.

    Args:
        network: ``F_theta``.
        context: What it needs of ``X``.
        precision: Of ``torch.autocast`` in which ``F_theta`` is evaluated, also where the solver
            around it is not; None for that of the particles.
    """

    def __init__(
        self, network: MeasureNetwork, context: Any, precision: torch.dtype | None = None
    ) -> None:
        self.network, self.context, self.precision = network, context, precision

    def __call__(self, z: PointClouds) -> PointClouds:
        if self.precision is None:
            return self.network.step(z, self.context)
        with torch.autocast(z.points.device.type, self.precision):
            image = self.network.step(z, self.context)
        return z.with_points(image.points.to(z.points.dtype))

    @property
    def fixed_counts(self) -> Tensor | None:
        """How many fixed particles each cloud has beside the moving ones, ``(B,)``, if any."""
        fixed = getattr(self.context, "fixed", None)
        return None if fixed is None else fixed.count[:, 0]

    def mark(self, u: Tensor) -> EquilibriumMap:
        """The map whose particle ``i`` has the mark ``u_i``, of which it takes what it needs.

        Args:
            u: ``(B, N, >= mark_size)``.
        """
        return self._with(self.network.mark(self.context, u))

    def select(self, index: Tensor) -> EquilibriumMap:
        """The map of some clouds of the batch."""
        return self._with(over_tensors(self.context, lambda tensor: tensor[index]))

    def detach(self) -> EquilibriumMap:
        """The map with its context cut from the autograd graph."""
        return self._with(over_tensors(self.context, Tensor.detach))

    def _with(self, context: Any) -> EquilibriumMap:
        return EquilibriumMap(self.network, context, self.precision)


def full_precision(like: Tensor) -> AbstractContextManager[Any]:
    """Turns ``torch.autocast`` off on the device of a tensor: measures are compared as they are."""
    device = like.device.type
    if not torch.is_autocast_enabled(device):  # nothing to put into an exported graph
        return nullcontext()
    return torch.autocast(device, enabled=False)


def _autocast_dtype(context: Any) -> torch.dtype | None:
    """The precision of ``torch.autocast`` on the device of a context; None where it is off."""
    devices: set[str] = set()

    def visit(tensor: Tensor) -> Tensor:
        devices.add(tensor.device.type)
        return tensor

    over_tensors(context, visit)
    dtypes = [torch.get_autocast_dtype(d) for d in devices if torch.is_autocast_enabled(d)]
    return dtypes[0] if dtypes else None
