"""Puts the page of every table and figure of the paper into the navigation of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

OVERVIEW = "paper.md"


def on_config(config: Any) -> Any:
    """Called by mkdocs before the pages are read: the overview becomes a section."""
    pages = sorted(Path(config["docs_dir"], "paper").glob("*.md"))
    section = [{"All of them": OVERVIEW}, *({page.stem: f"paper/{page.name}"} for page in pages)]
    for group in config["nav"]:
        for entries in group.values():
            if isinstance(entries, list):
                for entry in entries:
                    for title, page in entry.items():
                        entry[title] = section if page == OVERVIEW else page
    return config
