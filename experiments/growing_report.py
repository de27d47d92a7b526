"""A report of a long measurement, which grows part by part."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddeq.io.atomic import atomic_path

__all__ = ["Report"]


class Report:
    """A JSON file that grows part by part; parts that it has are not measured again."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.parts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.parts.setdefault("settings", settings)

    def add(self, name: str, part: Callable[[], Any]) -> None:
        """Measures a part, and writes the file; what another process wrote since is kept."""
        if name in self.parts:
            return
        begin = time.process_time()
        value = part()
        if isinstance(value, dict):
            value["CPU seconds"] = round(time.process_time() - begin, 1)
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.parts = {**self.parts, **kept, name: value}
        with atomic_path(self.path) as path:
            lines = [f"{json.dumps(key)}: {json.dumps(kept)}" for key, kept in self.parts.items()]
            path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(name, str(value)[:300], flush=True)
