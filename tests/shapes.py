"""Shapes that docstrings state, checked while the code runs.

``(B, N, d)`` beside an argument, an attribute or a result is a promise. Inside :func:`checked` each
call of a described function is held to it: a letter is one number per call, ``B`` that of the
clouds that are handed over, the name of an integer argument its value; anything else, ``K + 1``
say, is left open.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from torch import Tensor

from ddeq.measures.clouds import PointClouds

SHAPE = r"\(([^()`]*)\)"
Shape = tuple[str, ...]


class ShapeError(AssertionError):
    """A tensor has another shape than its docstring says."""


@dataclass(frozen=True)
class Described:
    """What a docstring says of a function: shapes of arguments by name, and of its results."""

    arguments: dict[str, Shape]
    results: list[Shape]


def shapes(text: str) -> list[Shape]:
    """Every ``(...)`` in double backquotes of its own."""
    found = re.findall(rf"``{SHAPE}``", text)
    return [tuple(part.strip() for part in one.split(",") if part.strip()) for one in found]


def entries(doc: str, section: str) -> dict[str, Shape]:
    """The first shape of each entry of a section such as ``Args``."""
    found = re.search(rf"^{section}:\n((?:    .*\n|\n)*)", doc + "\n", re.MULTILINE)
    parts = re.split(r"^    (?=\w+: )", found[1] if found else "", flags=re.MULTILINE)[1:]
    pairs = ((part.partition(":")[0], shapes(part.partition(":")[2])) for part in parts)
    return {name: of[0] for name, of in pairs if of}


def described(function: Callable[..., Any]) -> Described:
    """What the docstring says; a result only where the function returns tensors."""
    doc = inspect.cleandoc(function.__doc__ or "")
    returns = str(function.__annotations__.get("return", ""))
    number = {"Tensor": 1, "tuple[Tensor, Tensor]": 2}.get(returns, 0)
    section = re.search(r"^Returns:\n((?:    .*\n|\n)*)", doc + "\n", re.MULTILINE)
    summary = doc.split("\n\n")[0].replace("\n", " ")
    arrow = re.search(rf"-> ({SHAPE})``", summary)
    if arrow:
        summary = f"``{arrow[1]}``"
    results = shapes(section[1] if section else summary)
    return Described(entries(doc, "Args"), results if number and len(results) == number else [])


def check(where: str, shape: Shape, value: Any, known: dict[str, int]) -> None:
    """Holds a tensor to a shape; letters that are met for the first time are noted."""
    if not isinstance(value, Tensor) or "..." in shape:
        return
    if len(shape) != value.dim():
        raise ShapeError(f"{where} is {tuple(value.shape)}, not {shape}")
    for token, size in zip(shape, value.shape, strict=True):
        wanted = int(token) if token.isdigit() else known.get(token)
        if wanted is not None and wanted != size:
            raise ShapeError(f"{where} is {tuple(value.shape)}, not {shape} with {known}")
        if token.isidentifier():
            known[token] = size


def holding(function: Callable[..., Any], says: Described, calls: Counter[str]) -> Any:
    """The function, held to what is said of it."""
    signature = inspect.signature(function)
    name = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def held(*args: Any, **kwargs: Any) -> Any:
        values = signature.bind(*args, **kwargs).arguments
        known = {key: value for key, value in values.items() if type(value) is int}
        clouds = [value for value in values.values() if isinstance(value, PointClouds)]
        known |= {"B": len(clouds[0])} if clouds else {}
        for key, shape in says.arguments.items():
            check(f"{name}: {key}", shape, values.get(key), known)
        result = function(*args, **kwargs)
        parts: Sequence[Any] = result if isinstance(result, tuple) else [result]
        for shape, part in zip(says.results, parts, strict=False):
            check(f"{name}: result", shape, part, known)
        calls[name] += 1
        return result

    return held


def holding_attributes(cls: type, of: dict[str, Shape], calls: Counter[str]) -> Any:
    """The constructor of a record, whose tensors are held to the shapes of its attributes."""
    made: Any = cls.__init__

    @functools.wraps(made)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        known: dict[str, int] = {}
        for name, shape in of.items():
            check(f"{cls.__name__}.{name}", shape, getattr(self, name, None), known)
        calls[f"{cls.__module__}.{cls.__qualname__}"] += 1

    return init


def modules(rooms: Sequence[str]) -> list[Any]:
    """All modules of some rooms."""
    tops = [importlib.import_module(f"ddeq.{room}") for room in rooms]
    inner = [
        name.name
        for top in tops
        for name in pkgutil.walk_packages(top.__path__, f"{top.__name__}.")
    ]
    return [*tops, *(importlib.import_module(name) for name in inner)]


def replacements(rooms: Sequence[str], calls: Counter[str]) -> Iterator[tuple[Any, str, Any]]:
    """What to put where: owner, name, checked function."""
    for module in modules(rooms):
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(value) and any(vars(described(value)).values()):
                yield value, name, holding(value, described(value), calls)
            elif inspect.isclass(value):
                yield from of_class(value, calls)


def of_class(cls: type, calls: Counter[str]) -> Iterator[tuple[Any, str, Any]]:
    """The methods and properties of a class, and its constructor where attributes have shapes."""
    for name, value in list(vars(cls).items()):
        function = value.fget if isinstance(value, property) else value
        if not inspect.isfunction(function) or name == "__init__":
            continue
        says = described(function)
        if says.arguments or says.results:
            held = holding(function, says, calls)
            yield cls, name, property(held) if isinstance(value, property) else held
    of = entries(inspect.cleandoc(cls.__doc__ or ""), "Attributes")
    if of and "__init__" in vars(cls):
        yield cls, "__init__", holding_attributes(cls, of, calls)


@contextmanager
def checked(*rooms: str) -> Iterator[Counter[str]]:
    """Checks every call until the block is left; yields how often each function was called."""
    calls: Counter[str] = Counter()
    loaded = [module for name, module in sys.modules.items() if name.partition(".")[0] == "ddeq"]
    with ExitStack() as stack:
        for owner, name, held in list(replacements(rooms, calls)):
            if inspect.isclass(owner):
                stack.enter_context(mock.patch.object(owner, name, held))
                continue
            for module in loaded:  # wherever the function was imported to
                for alias, value in list(vars(module).items()):
                    if value is owner:
                        stack.enter_context(mock.patch.object(module, alias, held))
        yield calls
