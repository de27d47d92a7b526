"""Lets the site show the ``Example:`` of a docstring as code, as it shows ``Examples:``."""

from __future__ import annotations

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Called by griffe, which reads the docstrings, for every object it finds."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Renames the section."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"(?m)^Example:$", "Examples:", obj.docstring.value)
