"""Classes that are known by name, and frozen dataclasses of them as JSON values.

A solver, an adjoint, a divergence or a kernel is saved as ``{"name": class, field: value, ...}``.
Loading looks the name up among the classes that have been defined; it never imports a module.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

__all__ = ["Registered", "from_json", "import_all", "known", "to_json"]

_CLASSES: dict[str, type[Registered]] = {}


class Registered:
    """Base of classes that can be saved by name: every concrete subclass is entered when defined.

    A class of this package has its own name, any other its import path, so that two packages may
    use the same name. A class that is defined again replaces the former one.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not inspect.isabstract(cls):
            _CLASSES[registered_name(cls)] = cls


def registered_name(cls: type[Registered]) -> str:
    """``Picard`` for a class of this package, ``package.module.Class`` for any other."""
    own = cls.__module__.split(".")[0] == __name__.split(".")[0]
    return cls.__qualname__ if own else f"{cls.__module__}.{cls.__qualname__}"


def import_all(package: str) -> None:
    """Imports every module of a package, so that the classes in them are known."""
    for module in iter_modules(sys.modules[package].__path__):
        import_module(f"{package}.{module.name}")


def known(kind: type) -> dict[str, type[Any]]:
    """The concrete classes of a kind by name, in alphabetical order."""
    return {name: cls for name, cls in sorted(_CLASSES.items()) if issubclass(cls, kind)}


def to_json(part: Registered) -> dict[str, Any]:
    """``{"name": class, field: value, ...}``; registered objects among the values likewise.

    Raises:
        ValueError: for a class that is not a dataclass, or a value that JSON does not have.
    """
    name = registered_name(type(part))
    if not dataclasses.is_dataclass(part) or _CLASSES.get(name) is not type(part):
        raise ValueError(f"{name} cannot be saved: it is not a registered dataclass")
    fields = [field.name for field in dataclasses.fields(part) if field.init]
    if "name" in fields:
        raise ValueError(f"{name} cannot be saved: no field may be called 'name'")
    return {"name": name, **{field: _to_value(getattr(part, field), name) for field in fields}}


def from_json(config: dict[str, Any], kind: type) -> Any:
    """What :func:`to_json` described.

    Args:
        config: A dictionary with a ``name``, and the fields that are not at their defaults.
        kind: What it has to be: ``Solver``, ``Adjoint``, ....

    Raises:
        ValueError: for a name that no class of this kind has.
    """
    values = dict(config)
    name, classes = values.pop("name"), known(kind)
    if name not in classes:
        hint = " (import its module first)" if "." in str(name) else ""
        names = ", ".join(classes)
        raise ValueError(f"unknown {kind.__name__} {name!r}{hint}, not one of {names}")
    return classes[name](**{field: _from_value(value) for field, value in values.items()})


def _to_value(value: Any, owner: str) -> Any:
    if isinstance(value, Registered):
        return to_json(value)
    if isinstance(value, (list, tuple)):
        return [_to_value(part, owner) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{owner} cannot be saved: {value!r} is not a JSON value")


def _from_value(value: Any) -> Any:
    """Lists become tuples: the fields of a frozen dataclass do not change."""
    if isinstance(value, dict):
        return from_json(value, Registered)
    return tuple(map(_from_value, value)) if isinstance(value, list) else value
