"""Model cards: a README for people, with the front matter that the Hugging Face hub reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["front_matter", "model_card"]

_USE = {
    "classifier": """x = ddeq.PointClouds.from_list(clouds)   # arrays or tensors (N_i, {dim})
labels = model(x).argmax(1)              # places in model.classes""",
    "completer": """full = model.complete(cloud, seed=0)     # its points, then the new ones""",
}


def front_matter(kind: str, dim: int) -> str:
    """The YAML block at the top of a card.

    No task of the hub takes point clouds, so there is no ``pipeline_tag``.

    Example:
        >>> print(front_matter("completer", 2).splitlines()[1])
        library_name: ddeq
    """
    tags = ("ddeq", "point-cloud", f"point-cloud-{kind}", f"{dim}d", "deep-equilibrium")
    listed = "\n".join(f"  - {tag}" for tag in tags)
    return f"---\nlibrary_name: ddeq\ntags:\n{listed}\n---\n"


def model_card(
    kind: str, config: Mapping[str, Any], size: int, facts: Mapping[str, str] | None = None
) -> str:
    """A card for a model.

    Args:
        kind: ``classifier`` or ``completer``.
        config: What ``config.json`` holds.
        size: Number of parameters.
        facts: What is known of its making, shown as a table: data, recipe, metric, command, ….
    """
    dim, solver = int(config["dim"]), config.get("solver")
    about = f"A `ddeq` {kind} of {dim}-D point clouds with {size:,} parameters"
    if solver:  # a baseline has none
        about += f", solved by {solver['name']} steps, at most {solver['max_steps']}, "
        about += f"tolerance {solver['tol']:g}"
    about += "."
    if "classes" in config:
        about += f" Classes: {_listed(config['classes'])}."
    rows = "".join(f"| {name} | {_cell(value)} |\n" for name, value in (facts or {}).items())
    table = f"\n| | |\n|---|---|\n{rows}" if rows else ""
    return f"""{front_matter(kind, dim)}
# {kind.capitalize()} of {dim}-D point clouds

{about}
{table}{_use(kind, dim)}
## Configuration

```json
{json.dumps(config, indent=2)}
```
"""


def _use(kind: str, dim: int) -> str:
    """How to load and call a model; nothing for a baseline."""
    if kind not in _USE:
        return ""
    return f"""
## Use

```python
import ddeq

model = ddeq.{kind.capitalize()}.from_pretrained("FOLDER or hf:user/repo")
{_USE[kind].format(dim=dim)}
```
"""


def _listed(names: list[str]) -> str:
    """At most twelve names in a row."""
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _cell(text: str) -> str:
    """Text that stays inside its cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")
