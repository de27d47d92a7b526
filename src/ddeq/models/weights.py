"""``model.safetensors`` of a weight folder: its header is compared before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ddeq.errors import DdeqError
from ddeq.models.schema import one_line

__all__ = ["Entry", "check_entries", "outline", "read_header", "read_weights"]

_FLOATS = ("F16", "BF16", "F32", "F64")
_CALLS = 100  # calls of torch that a constructor makes per tensor, at most; ours make about ten
M = TypeVar("M", bound=torch.nn.Module)


class Entry(NamedTuple):
    """One tensor as the header describes it: shape, and type in the words of the format."""

    shape: tuple[int, ...]
    dtype: str


def read_header(path: Path) -> dict[str, Entry]:
    """The tensors of a file by name, without their values.

    Raises:
        DdeqError: it is not a whole safetensors file.
        OSError: the file cannot be read.
    """
    with open(path, "rb"):  # a missing file is an OSError whatever safetensors makes of it
        pass
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            return {n: Entry(tuple(s.get_shape()), s.get_dtype()) for n, s in slices.items()}
    except SafetensorError as error:
        raise DdeqError(f"it is not a whole safetensors file: {one_line(error)}") from error


class _Outline(TorchFunctionMode):
    """Leaves out random values; ends a constructor that makes far more tensors than the file has.

    The first random tensor without memory would cost a second: torch imports its compiler for it.
    """

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._left = calls

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        self._left -= 1
        if self._left < 0:
            raise DdeqError("it asks for many more layers than the weights beside it have")
        drawn = func in (torch.rand, torch.randn)
        return (torch.empty if drawn else func)(*args, **(kwargs or {}))


def outline(make: Callable[[], M], tensors: int) -> M:
    """The model that ``make`` builds, without memory for its weights.

    Args:
        make: The constructor.
        tensors: How many tensors the file holds; the time spent is bounded by it.
    """
    with torch.device("meta"), _Outline(_CALLS * tensors + 1000):
        return make()


def check_entries(header: Mapping[str, Entry], model: torch.nn.Module, described_by: str) -> None:
    """Compares names, shapes and types with those of a model.

    Args:
        header: The tensors of the file.
        model: The model that they are for.
        described_by: What the model was made from, for messages.

    Raises:
        DdeqError: in one line that names the first tensor that differs.
    """
    state: dict[str, Tensor] = model.state_dict()
    kinds = {entry.dtype for entry in header.values() if entry.dtype in _FLOATS}
    problem = f"it holds numbers of several types: {', '.join(kinds)}" if len(kinds) > 1 else ""
    for name in sorted(state.keys() | header.keys()):
        problem = problem or _difference(header.get(name), state.get(name), one_line(name, 80))
    if problem:
        raise DdeqError(f"it does not fit {described_by}: {problem}")


def _difference(entry: Entry | None, tensor: Tensor | None, name: str) -> str:
    """What is wrong with one tensor of the file, if anything."""
    if entry is None or tensor is None:
        return f"'{name}' is missing" if entry is None else f"the model has no '{name}'"
    if entry.shape != tuple(tensor.shape):
        return f"'{name}' has shape {list(entry.shape)}, expected {list(tensor.shape)}"
    if (entry.dtype in _FLOATS) != tensor.is_floating_point():
        return f"'{name}' is of type {entry.dtype}, expected one like {tensor.dtype}"
    return ""


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, all finite.

    Raises:
        DdeqError: in one line that names the first tensor with NaN or infinite values.
    """
    weights = load_file(path)
    for name, value in weights.items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise DdeqError(f"'{one_line(name, 80)}' has NaN or infinite values")
    return weights
