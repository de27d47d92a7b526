"""Recipes as plain values: YAML files, and fields that are set by name, nested ones too."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml

from ddeq.errors import DdeqError
from ddeq.models.schema import check_arguments, one_line
from ddeq.registry import Registered, from_json, known, to_json
from ddeq.training.recipe import Recipe

__all__ = ["from_plain", "parse_value", "put", "read_yaml", "to_plain", "to_yaml"]

_MAX_BYTES, _MAX_DEPTH = 1 << 20, 8


class _Loader(yaml.SafeLoader):
    """YAML without references, which can hide a very large value in a small file."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise DdeqError("it holds a reference (*), which recipes do not have")
        return super().compose_node(parent, index)


def to_plain(recipe: Recipe) -> dict[str, Any]:
    """A recipe as dictionaries, lists and scalars."""
    values = {field.name: getattr(recipe, field.name) for field in dataclasses.fields(recipe)}
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Registered):
        return to_json(value)
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def from_plain(values: Any) -> Recipe:
    """What :func:`to_plain` returned.

    Raises:
        DdeqError: in one line that names the field.
    """
    if not isinstance(values, dict):
        raise DdeqError(f"a recipe is a list of fields with values, got {type(values).__name__}")
    _check_depth(values)
    names = [field.name for field in dataclasses.fields(Recipe)]
    for name in values:
        if name not in names:
            raise DdeqError(_unknown(name, names, values))
    for name in ("task", "data"):
        if name not in values:
            raise DdeqError(f"the recipe has no {name}")
    values = {name: _named(value, hint_of(Recipe, name), name) for name, value in values.items()}
    check_arguments(Recipe, values)
    made: dict[str, Any] = {}
    for name, value in values.items():
        kind = _kind(hint_of(Recipe, name))
        made[name] = value if kind is None else _made(value, kind, name)
    return Recipe(**made)


def _made(value: Any, kind: type, where: str) -> Any:
    try:
        return from_json(value, kind)
    except (TypeError, ValueError) as error:
        text = one_line(error)
        raise DdeqError(text if text.startswith(where) else f"{where}: {text}") from error


def _named(value: Any, hint: Any, where: str) -> Any:
    """A value with the names of classes as they are written, and all its fields known."""
    kind = _kind(hint)
    if kind is not None and isinstance(value, str):
        value = {"name": value}
    if isinstance(value, str) and hint is float:
        return _number(value)
    if isinstance(value, list):
        parts = get_args(hint)
        return [_named(part, parts[0] if parts else None, where) for part in value]
    if kind is None or not isinstance(value, dict):
        return value
    cls = class_of(value.get("name"), kind, where)
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    found: dict[str, Any] = {}
    for name, part in value.items():
        if name != "name" and name not in names:
            raise DdeqError(f"{where} has no field {one_line(name)!r}: one of {', '.join(names)}")
        inner = part if name == "name" else _named(part, hint_of(cls, name), f"{where}.{name}")
        found[name] = inner
    return {**found, "name": next(key for key, c in known(kind).items() if c is cls)}


def _number(text: str) -> Any:
    """``1e-3`` is a number, which YAML takes for a text."""
    try:
        return float(text)
    except ValueError:
        return text


def class_of(name: Any, kind: type, where: str) -> type:
    """The registered class of a name, in whatever case it is written."""
    classes = {key.lower(): cls for key, cls in known(kind).items()}
    if not isinstance(name, str) or name.lower() not in classes:
        names = ", ".join(known(kind))
        raise DdeqError(f"unknown {where} {one_line(name, 60)!r}: one of {names}")
    return classes[name.lower()]


def hint_of(cls: type, name: str) -> Any:
    """The annotation of a field."""
    return get_type_hints(cls).get(name)


def _kind(hint: Any) -> type | None:
    """The registered class that an annotation asks for, ``Solver`` or ``Groups | None``."""
    for part in (hint, *get_args(hint)):
        if isinstance(part, type) and issubclass(part, Registered):
            is_list = get_args(hint) and isinstance(getattr(hint, "__origin__", None), type)
            return None if is_list else part
    return None


def put(plain: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Sets one field of :func:`to_plain`.

    A class that is named in the place of another keeps the fields that both have.

    Args:
        plain: Is changed.
        path: ``["solver", "max_steps"]``; a number chooses from a list.
        value: Plain, or an object.
    """
    at, hint = plain, Recipe
    for i, name in enumerate(path):
        where = ".".join(path[: i + 1])
        key, hint = _below(at, hint, name, where)
        if i == len(path) - 1:
            kind = _kind(hint)
            if kind is not None and isinstance(value, str):
                at[key] = _switched(at[key], value, kind, where)
            else:
                at[key] = _plain(value)
        elif not isinstance(at[key], (dict, list)):
            raise DdeqError(f"{where} is {at[key]!r} and has no fields: set it first")
        at = at[key]


def _below(at: Any, hint: Any, name: str, where: str) -> tuple[Any, Any]:
    """Key and annotation of what a name means at a place."""
    if isinstance(at, list):
        if not name.isdigit() or int(name) >= len(at):
            raise DdeqError(f"there is no {where!r} in this recipe")
        return int(name), (get_args(hint) or (None,))[0]
    if name not in at or name == "name":
        above = where.split(".")[:-1]
        raise DdeqError(_unknown(where, list(_paths(at, above)), at))
    cls = hint if hint is Recipe else class_of(at.get("name"), _kind(hint) or Registered, where)
    return name, hint_of(cls, name)


def _unknown(name: Any, names: Sequence[str], plain: dict[str, Any]) -> str:
    """An unknown field, and which one may be meant."""
    name = one_line(name, 80)
    nested = [path for path in _paths(plain, ()) if path.split(".")[-1] == name.split(".")[-1]]
    close = nested or difflib.get_close_matches(name, names, 1)
    meant = f": {close[0]} is one" if close else f": one of {', '.join(names)}"
    return f"a recipe has no field {name!r}{meant}"


def _paths(at: Any, above: Sequence[str]) -> Iterator[str]:
    """The dotted names of all fields at and below a place."""
    if not isinstance(at, dict):
        return
    for name, value in at.items():
        if name != "name":
            yield ".".join([*above, str(name)])
            yield from _paths(value, [*above, str(name)])


def _switched(old: Any, name: str, kind: type, where: str) -> dict[str, Any]:
    """Another class, with what it has in common with the old one, and defaults."""
    cls = class_of(name, kind, where)
    values: dict[str, Any] = {"name": name}
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        default = None if field.default is dataclasses.MISSING else field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        shared = isinstance(old, dict) and field.name in old
        values[field.name] = old[field.name] if shared else _plain(default)
    return values


def parse_value(text: str, path: Sequence[str]) -> Any:
    """A value of the command line: YAML, but for fields that are texts."""
    if len(path) == 1 and hint_of(Recipe, path[0]) is str:
        return text
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise DdeqError(f"--{'.'.join(path)}: {one_line(text, 60)!r} is no value") from error


def to_yaml(recipe: Recipe) -> str:
    """A recipe as the text of a file."""
    return yaml.safe_dump(to_plain(recipe), sort_keys=False, default_flow_style=None, width=100)


def read_yaml(path: Path) -> dict[str, Any]:
    """The plain values of a recipe file.

    Raises:
        DdeqError: in one line, for a file that is not a recipe.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DdeqError(f"it has more than {_MAX_BYTES:,} bytes")
        return to_plain(from_plain(yaml.load(path.read_text("utf-8"), _Loader)))
    except RecursionError:
        raise DdeqError(f"{path}: it is nested deeper than {_MAX_DEPTH} levels") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DdeqError(f"{path}: it is not YAML: {one_line(error, 200)}") from error
    except DdeqError as error:
        raise DdeqError(f"{path}: {error}") from error


def _check_depth(value: Any, depth: int = 0) -> None:
    if depth > _MAX_DEPTH:
        raise DdeqError(f"it is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, depth + 1)
