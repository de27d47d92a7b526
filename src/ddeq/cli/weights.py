"""Which weights a command uses when none are named."""

from __future__ import annotations

from functools import cache

from ddeq.models import Classifier, Completer
from ddeq.models.pretrained import shipped

__all__ = ["available", "classifier_for", "completer_for"]

_DEFAULTS = {
    ("classifier", 2): "mnist-pc",
    ("classifier", 3): "modelnet40",
    ("completer", 2): "mnist-pc",
    ("completer", 3): "modelnet8",
}


def available(kind: str, dim: int) -> bool:
    """Whether a model of this kind comes with the package for points in ``dim`` dimensions."""
    return _DEFAULTS.get((kind, dim), "") in shipped(kind)


@cache
def classifier_for(dim: int, name: str | None) -> Classifier:
    """The named classifier, or the one shipped for points in ``dim`` dimensions."""
    model = Classifier.from_pretrained(name or _default("classifier", dim))
    _check(model.network.x_project.inner.in_features, dim, name)
    return model


@cache
def completer_for(dim: int, name: str | None) -> Completer:
    """The named completer, or the one shipped for points in ``dim`` dimensions."""
    model = Completer.from_pretrained(name or _default("completer", dim))
    _check(model.network.x_project.inner.in_features, dim, name)
    return model


def _default(kind: str, dim: int) -> str:
    if not available(kind, dim):
        raise ValueError(
            f"no {kind} for {dim}-D clouds comes with this version: train one and name its "
            "folder with --weights"
        )
    return _DEFAULTS[kind, dim]


def _check(expected: int, dim: int, name: str | None) -> None:
    if expected != dim:
        raise ValueError(f"weights {name!r} are for {expected}-D clouds, this one is {dim}-D")
