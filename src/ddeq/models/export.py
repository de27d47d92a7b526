"""A model in three graphs of fixed sizes, by ``torch.export`` or as ONNX: encode, step and head.

A solver applies the step in between, in whatever runs the graphs. They hold the weights, and need
neither this package nor its solvers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import EquilibriumModel
from ddeq.models.classifier import Classifier
from ddeq.models.completer import Completer
from ddeq.nn.base import MeasureNetwork, over_tensors

__all__ = ["export_parts", "write_onnx"]


class Encode(nn.Module):
    """``(points, mask, marks) -> context``, the tensors of the context in a row.

    Args:
        model: Its clouds are in the network's frame already.
    """

    def __init__(self, model: EquilibriumModel) -> None:
        super().__init__()
        self.network = model.network
        self.coupling = model.coupling if isinstance(model, Completer) else None

    def context(self, points: Tensor, mask: Tensor, marks: Tensor) -> Any:
        """The context as an object."""
        x = PointClouds(points, mask)
        fixed = None if self.coupling is None else x.map(self.coupling.lift)
        return self.network.mark(self.network.encode(x, fixed), marks)

    def forward(self, points: Tensor, mask: Tensor, marks: Tensor) -> tuple[Tensor, ...]:
        """``(B, M, d), (B, M), (B, N, >= mark_size) ->`` tensors."""
        return _tensors(self.context(points, mask, marks))


class Step(nn.Module):
    """``(z, mask, *context) -> F(z)``.

    Args:
        network: ``F``.
        context: One of :class:`Encode`, for its structure.
    """

    def __init__(self, network: MeasureNetwork, context: Any) -> None:
        super().__init__()
        self.network, self.structure = network, context

    def forward(self, z: Tensor, mask: Tensor, *context: Tensor) -> Tensor:
        """``(B, N, p), (B, N) -> (B, N, p)``."""
        left = iter(context)
        filled = over_tensors(self.structure, lambda _: next(left))
        return self.network.step(PointClouds(z, mask), filled).points


class Head(nn.Module):
    """``(z, mask) ->`` logits ``(B, C)``, or new points ``(B, N, d)``."""

    def __init__(self, model: EquilibriumModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, z: Tensor, mask: Tensor) -> Tensor:
        """``(B, N, p), (B, N) -> ...``."""
        clouds = PointClouds(z, mask)
        if isinstance(self.model, Completer):
            return self.model.points(clouds).points
        assert isinstance(self.model, Classifier)
        return self.model.logits(clouds)


def export_parts(
    model: Classifier | Completer, points: int, particles: int, batch: int = 1
) -> dict[str, ExportedProgram]:
    """Exports a model for clouds of up to ``points`` points and ``particles`` particles.

    - ``encode``: points ``(B, M, d)`` in the network's frame, their mask ``(B, M)`` and the marks
      of the particles ``(B, N, m)`` (anything for a network without marks) to the tensors of the
      context;
    - ``step``: particles ``(B, N, p)``, their mask ``(B, N)`` and the tensors of the context to
      ``F(z)``;
    - ``head``: particles at equilibrium and their mask to logits, or to new points.

    Args:
        model: In evaluation mode.
        points: ``M``.
        particles: ``N``.
        batch: ``B``.

    Returns:
        The three programs by name; ``torch.export.save`` writes one to a file.

    Example:
        >>> model = Classifier(2, 3, features=8)
        >>> parts = export_parts(model, points=20, particles=4)
        >>> z, mask = torch.randn(1, 4, 8), torch.ones(1, 4, dtype=torch.bool)
        >>> parts["head"].module()(z, mask).shape
        torch.Size([1, 3])
    """
    like = next(model.parameters()).detach()
    x, seen = like.new_zeros(batch, points, model.dim), torch.ones(batch, points).bool()
    z, mask = like.new_zeros(batch, particles, model.network.features), torch.ones(batch, particles)
    marks = like.new_zeros(batch, particles, max(model.network.mark_size, 1))
    seen, mask = seen.to(like.device), mask.bool().to(like.device)
    encode = Encode(model).eval()
    with torch.no_grad():
        context = encode.context(x, seen, marks)
        step = Step(model.network, context).eval()
        return {
            "encode": torch.export.export(encode, (x, seen, marks)),
            "step": torch.export.export(step, (z, mask, *_tensors(context))),
            "head": torch.export.export(Head(model).eval(), (z, mask)),
        }


def write_onnx(parts: Mapping[str, ExportedProgram], folder: str | Path) -> None:
    """Writes ``encode.onnx``, ``step.onnx`` and ``head.onnx`` into a folder.

    Args:
        parts: Of :func:`export_parts`.
        folder: Made if need be; files of these names are replaced.

    Raises:
        DdeqError: in one line, if the packages onnx and onnxscript are missing.
    """
    missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
    if missing:
        raise DdeqError(f"ONNX files need {' and '.join(missing)}: pip install onnx onnxscript")
    for name, program in parts.items():
        with atomic_path(Path(folder) / f"{name}.onnx") as draft, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, about itself
            torch.onnx.export(program, f=draft, external_data=False, verbose=False)


def _tensors(context: Any) -> tuple[Tensor, ...]:
    """The tensors of a context in the order of its fields."""
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    over_tensors(context, keep)
    return tuple(found)
