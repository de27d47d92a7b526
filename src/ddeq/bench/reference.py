"""Where the reference implementation is: in ``benchmarks/`` of the source, not in the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["ABSENT", "load_reference", "reference_path"]

ABSENT = (
    "no reference: it is not part of the package; run ddeq bench from a source checkout "
    "(pip install -e .)"
)
_NAME = "ddeq_reference"


def reference_path() -> Path | None:
    """``benchmarks/reference.py`` beside the ``src`` that this package runs from, if it does."""
    source = Path(__file__).resolve().parents[2]
    path = source.parent / "benchmarks" / "reference.py"
    return path if source.name == "src" and path.is_file() else None


def load_reference() -> ModuleType:
    """The module with ``ReferenceMap`` and ``ReferenceFlow``."""
    path = reference_path()
    if path is None:
        raise FileNotFoundError(ABSENT)
    if _NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(_NAME, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[_NAME] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    return sys.modules[_NAME]
