"""``config.json`` of a weight folder: read within bounds, every value checked before it is used.

Types come from the annotations of the classes that the values are given to, so a new solver or
network is checked as well. Bounds on sizes, counts and rates are listed here by the name of the
field; what they do not cover is bounded by the weights that lie beside the file.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from ddeq.errors import DdeqError
from ddeq.registry import Registered, known

__all__ = ["check_arguments", "check_values", "one_line", "read_config"]

_MAX_BYTES, _MAX_DEPTH, _MAX_ITEMS, _MAX_TEXT = 1 << 20, 8, 100_000, 200
_MAX_NUMBER = 1e9
_COUNTS = {
    "dim": (1, 64), "features": (1, 1 << 16), "bilinear": (1, 1 << 12), "head_size": (1, 1 << 16),
    "cross_layers": (0, 1000), "fourier": (0, 64), "num_classes": (1, 100_000),
    "particles": (1, 100_000), "max_steps": (1, 100_000), "steps": (1, 100_000),
    "projections": (1, 100_000), "max_updates": (0, 100_000), "window": (1, 1000),
    "coarse": (1, 100_000), "grid": (1, 256),
}  # fmt: skip
_RATES = {
    "dropout": (0, 1), "damping": (0, 1), "decay": (0, 1), "momentum": (0, 1), "ratio": (0, 100),
    "tol": (0, 1e9), "ridge": (0, 1e9), "step_size": (0, 1e9), "radii": (0, 1e9),
}  # fmt: skip
_SWITCHES = ("pushforward", "proportions", "estimate", "adaptive")
_LISTS = ("radii", "parts")
_OBJECTS = ("solver", "adjoint", "divergence", "kernel", "of", "network")


def one_line(text: object, limit: int = 400) -> str:
    """Text for a message: on one line, without control characters, of bounded length."""
    line = "".join(c if _harmless(c) else c.encode("unicode_escape").decode() for c in str(text))
    return line if len(line) <= limit else line[:limit] + " ..."


def _harmless(character: str) -> bool:
    """Whether a character neither controls a terminal nor breaks a line nor fails to encode."""
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")


def read_config(path: Path) -> dict[str, Any]:
    """The JSON object of a file.

    Raises:
        DdeqError: it is too large or too deep, or holds a value that no configuration has.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as stream:
        raw = stream.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise DdeqError(f"it has more than {_MAX_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8")
        config = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except RecursionError:
        raise DdeqError(f"it is nested deeper than {_MAX_DEPTH} levels") from None
    except DdeqError:
        raise
    except ValueError as error:
        raise DdeqError(f"it is not JSON: {one_line(error)}") from error
    if not isinstance(config, dict):
        raise DdeqError("it does not hold a JSON object")
    check_values(config)
    return config


def _refuse(constant: str) -> Any:
    raise DdeqError(f"it holds {constant}, which is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if len(names) > len(set(names)) and names.count(name) > 1:
            raise DdeqError(f"it gives '{one_line(name)}' twice")
    return dict(pairs)


def check_values(value: Any, where: str = "", field: str = "", depth: int = 0) -> None:
    """Refuses values out of bounds, at any depth.

    Args:
        value: A value from JSON.
        where: Its place for messages, such as ``solver.max_steps``.
        field: The name that says its bounds.
        depth: Levels above it.

    Raises:
        DdeqError: in one line that names the field.
    """
    if depth > _MAX_DEPTH:
        raise DdeqError(f"{where!r} is nested deeper than {_MAX_DEPTH} levels")
    if field in _OBJECTS and not isinstance(value, dict):
        raise DdeqError(f"{where!r} must be an object, got {one_line(json.dumps(value), 40)}")
    if field in _LISTS and not isinstance(value, list) and not where.endswith("]"):
        raise DdeqError(f"{where!r} must be a list, got {one_line(json.dumps(value), 40)}")
    ruled = field in _COUNTS or field in _RATES or field in _SWITCHES
    if ruled and not (isinstance(value, list) and field in _LISTS):
        _check_number(value, where, field)
    elif isinstance(value, dict):
        for name, part in value.items():
            if len(name) > _MAX_TEXT or not name.isidentifier():
                raise DdeqError(f"'{one_line(name)}' is not the name of a field")
            check_values(part, f"{where}.{name}" if where else name, name, depth + 1)
    elif isinstance(value, list):
        if len(value) > _MAX_ITEMS:
            raise DdeqError(f"{where!r} has {len(value):,} entries, at most {_MAX_ITEMS:,} may be")
        for place, part in enumerate(value):
            check_values(part, f"{where}[{place}]", field, depth + 1)
        if field == "classes":
            _check_classes(value)
    elif isinstance(value, str):
        if len(value) > _MAX_TEXT or not all(map(_harmless, value)):
            shown = one_line(value, 40)
            raise DdeqError(f"{where!r} is too long or has control characters: '{shown}'")
    elif value is not None:
        _check_number(value, where, field)


def _check_classes(names: list[Any]) -> None:
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise DdeqError("'classes' must be a list of names")
    if len(set(names)) < len(names):
        raise DdeqError("'classes' has the same name twice")


def _check_number(value: Any, where: str, field: str) -> None:
    """A number or a switch against the bounds of its field."""
    shown = one_line(json.dumps(value), 40)
    if field in _SWITCHES or isinstance(value, bool):
        if isinstance(value, bool) and field not in _COUNTS and field not in _RATES:
            return
        expected = "true or false" if field in _SWITCHES else "a number"
        raise DdeqError(f"{where!r} must be {expected}, got {shown}")
    whole = field in _COUNTS
    if not isinstance(value, int if whole else (int, float)):
        raise DdeqError(f"{where!r} must be {'an integer' if whole else 'a number'}, got {shown}")
    low, high = _COUNTS.get(field) or _RATES.get(field) or (-_MAX_NUMBER, _MAX_NUMBER)
    if not low <= value <= high:  # nor is NaN
        raise DdeqError(f"{where!r} must be from {low:g} to {high:g}, got {shown}")


def check_arguments(cls: type, config: dict[str, Any], where: str = "") -> None:
    """Compares the values for a class with the annotations of its constructor.

    Names that the constructor does not have are left to it.

    Args:
        cls: A model, or a registered class such as a solver.
        config: The arguments as JSON values.
        where: Their place for messages.

    Raises:
        DdeqError: in one line that names the field.
    """
    try:  # the constructor of a dataclass does not know the names of its module
        hints = get_type_hints(cls if dataclasses.is_dataclass(cls) else cls.__init__)  # type: ignore[misc]
    except NameError:  # an annotation that only type checkers know
        return
    for name in config.keys() & inspect.signature(cls).parameters.keys() & hints.keys():
        place = f"{where}.{name}" if where else name
        if not _fits(config[name], hints[name], place):
            given = one_line(json.dumps(config[name]), 40)
            raise DdeqError(f"{place!r} must be {_words(hints[name])}, got {given}")


def _fits(value: Any, hint: Any, where: str) -> bool:
    """Whether a JSON value can stand for an annotation; looks into objects."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, arg, where) for arg in args)
    if hint is type(None):
        return value is None
    if hint in (bool, str):
        return isinstance(value, hint)
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if isinstance(origin, type) and issubclass(origin, (Sequence, list, tuple)):
        return isinstance(value, list) and all(_fits(v, args[0], where) for v in value)
    if isinstance(hint, type) and issubclass(hint, Registered):
        return _fits_registered(value, hint, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, dict):
            check_arguments(hint, value, where)
        return isinstance(value, dict)
    return True


def _fits_registered(value: Any, kind: type[Registered], where: str) -> bool:
    """Whether ``{"name": class, field: value, ...}`` describes an object of a kind."""
    if not isinstance(value, dict):
        return False
    name, classes = value.get("name"), known(kind)
    if not isinstance(name, str) or name not in classes:
        hint = " (import its module first)" if "." in str(name) else ""
        shown, names = one_line(name, 60), ", ".join(classes)
        raise DdeqError(f"'{where}.name' must be one of {names}, got '{shown}'{hint}")
    values = {field: part for field, part in value.items() if field != "name"}
    check_arguments(classes[name], values, where)
    return True


def _words(hint: Any) -> str:
    """An annotation for people."""
    named = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_words(arg) for arg in get_args(hint))
    if hint is type(None):
        return "null"
    if hint in named:
        return named[hint]
    return f"an object ({hint.__name__})" if isinstance(hint, type) else "a list"
