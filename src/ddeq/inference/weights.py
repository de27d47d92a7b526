"""Which weights are used: by name, by folder, or those shipped for a dimension."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ddeq.errors import DdeqError
from ddeq.models import Classifier, Completer, hub
from ddeq.models.base import EquilibriumModel
from ddeq.models.pretrained import CONFIG, WEIGHTS, shipped, shipped_folder
from ddeq.models.schema import one_line, read_config

__all__ = ["available", "classifier_for", "completer_for", "default_weights", "load", "model_for"]

_DEFAULTS = {
    ("classifier", 2): "mnist-pc",
    ("classifier", 3): "modelnet40",
    ("completer", 2): "digits",
    ("completer", 3): "scans",
}


def load(name: str | os.PathLike[str], kind: str | None = None) -> Any:
    """The model in a folder, or one that comes with the package, whatever kind it is.

    Args:
        name: A folder that ``save_pretrained`` or a training wrote, the name of shipped weights,
            or ``hf:user/repo``.
        kind: ``"classifier"``, ``"completer"``, ...; needed where a name is that of several.

    Returns:
        A :class:`ddeq.Classifier`, a :class:`ddeq.Completer`, or what else the configuration says.

    Raises:
        DdeqError: in one line, if there is no such model, or more than one.

    Example:
        >>> type(load("mnist-pc", "completer")).__name__, type(load("modelnet40")).__name__
        ('Completer', 'Classifier')
    """
    text = os.fspath(name)
    types = {model.kind: model for model in _models(EquilibriumModel)}
    if kind is not None and kind not in types:
        raise DdeqError(f"no kind {kind!r} of model: choose from {', '.join(sorted(types))}")
    kinds = [kind] if kind else [found for found in types if shipped_folder(found, text)]
    if len(kinds) > 1:
        names = " or ".join(repr(found) for found in kinds)
        raise DdeqError(f"{text} is the name of several models: add the kind, {names}")
    if not kinds:
        kinds = [_kind(text)]
        if kinds[0] not in types:
            raise DdeqError(f"{one_line(text, 200)}: unknown kind {one_line(kinds[0], 40)!r}")
    return types[kinds[0]].from_pretrained(text)


def _kind(name: str) -> str:
    """What the configuration of a model in a folder, or on the hub, says that it is."""
    if name.startswith(hub.PREFIX):
        folder = hub.fetch(name.removeprefix(hub.PREFIX), (WEIGHTS, CONFIG))
    else:
        folder = Path(name)
    path = folder / CONFIG
    if not path.is_file():
        names = ", ".join(sorted({*shipped("classifier"), *shipped("completer")}))
        raise DdeqError(
            f"no model called {one_line(name, 200)!r}: neither a folder with {CONFIG} nor "
            f"shipped ({names})"
        )
    try:
        return str(read_config(path).get("kind"))
    except (OSError, ValueError) as error:
        raise DdeqError(one_line(f"{path}: {error}")) from error


def _models(base: type[EquilibriumModel]) -> Iterator[type[EquilibriumModel]]:
    """The classes of models that can be saved, also those defined outside the package."""
    for model in base.__subclasses__():
        if "kind" in vars(model):
            yield model
        yield from _models(model)


def available(kind: str, dim: int) -> bool:
    """Whether a model of this kind comes with the package for points in ``dim`` dimensions."""
    return _DEFAULTS.get((kind, dim), "") in shipped(kind)


def default_weights(kind: str, dim: int) -> str | None:
    """The name of the shipped weights of a kind for a dimension, if there are any."""
    return _DEFAULTS[kind, dim] if available(kind, dim) else None


def classifier_for(dim: int, name: str | os.PathLike[str] | None = None) -> Classifier:
    """The named classifier, or the one shipped for points in ``dim`` dimensions."""
    model: Classifier = model_for(Classifier, dim, name)
    return model


def completer_for(dim: int, name: str | os.PathLike[str] | None = None) -> Completer:
    """The named completer, or the one shipped for points in ``dim`` dimensions."""
    model: Completer = model_for(Completer, dim, name)
    return model


def model_for(kind: Any, dim: int, name: str | os.PathLike[str] | None = None) -> Any:
    """The named model of a class, or the one shipped for points in ``dim`` dimensions."""
    chosen = _default(kind.kind, dim) if name is None else os.fspath(name)
    weights = os.path.join(chosen, WEIGHTS)
    # a folder may hold other weights by the next call
    stamp = os.stat(weights).st_mtime_ns if os.path.exists(weights) else 0
    model = _loaded(kind, chosen, stamp)
    own = model.config()["dim"]
    if own != dim:
        raise DdeqError(f"weights {chosen!r} are for {own}-D clouds, this one is {dim}-D")
    return model


@lru_cache(maxsize=8)
def _loaded(kind: Any, name: str, stamp: int) -> Any:
    return kind.from_pretrained(name)


def _default(kind: str, dim: int) -> str:
    if not available(kind, dim):
        raise DdeqError(
            f"no {kind} for {dim}-D clouds comes with this version: train one and name its "
            "folder with --weights"
        )
    return _DEFAULTS[kind, dim]
