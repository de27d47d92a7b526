"""Data sets, one per file: each module of this package registers its own when it is imported."""

from __future__ import annotations

import importlib
import pkgutil

__all__ = ["discover"]


def discover() -> None:
    """Imports every module of this package, so that all data sets are registered."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


discover()
