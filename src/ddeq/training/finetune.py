"""Fine-tuning: a recipe's model begins with weights that were trained before."""

from __future__ import annotations

from typing import Any

from ddeq.errors import DdeqError
from ddeq.models.base import EquilibriumModel

__all__ = ["start_from"]

_NO_WEIGHTS = ("name", "dropout")
"""Fields of a network's configuration that say nothing about its weights."""


_ADDED = ("network.marks.",)
"""Where the names of weights begin that a network without them can be given."""

_HEADS, _BASELINE_HEADS = ("head.", "missing."), ("out.",)
"""Where the names of weights begin that are made for certain answers."""


def start_from(model: Any, name: str) -> None:
    """Copies weights into a fresh model.

    Args:
        model: As the recipe makes it. It keeps its solver, its particles and its dropout, which
            are no weights. If only one of the two estimates how many points are missing, or they
            know other classes, that part stays fresh and the rest is copied.
        name: Of shipped weights, a folder, or ``hf:user/repo`` on the Hugging Face hub.

    Raises:
        DdeqError: in one line, saying which option of the recipe differs.
    """
    source = type(model).from_pretrained(name)
    reasons = _reasons(model.config(), source.config())
    ours, theirs = model.state_dict(), source.state_dict()
    heads = _HEADS if isinstance(model, EquilibriumModel) else _BASELINE_HEADS
    kept = {
        key: value
        for key, value in theirs.items()
        if key in ours and (ours[key].shape == value.shape or not key.startswith(heads))
    }
    new = (*heads, *_ADDED)
    fresh = [key for key in ours if key not in kept and not key.startswith(new)]
    if not reasons and (fresh or any(ours[key].shape != kept[key].shape for key in kept)):
        reasons = ["their layers have other shapes"]
    if reasons:
        mended = "; ".join(reasons)
        raise DdeqError(f"weights {name!r} do not fit this recipe: {mended}; or --from-scratch")
    if ours.get("head.weight") is not None and not _same_answers(model, source):
        kept = {key: value for key, value in kept.items() if not key.startswith("head.")}
    model.load_state_dict(kept, strict=False)


def _same_answers(model: Any, source: Any) -> bool:
    """Whether a head of the one means the same in the other: as many classes, or a number."""
    return len(getattr(model, "classes", ())) == len(getattr(source, "classes", ()))


def _reasons(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What differs between two configurations, and which option would mend it."""
    reasons = []
    if ours["dim"] != theirs["dim"]:
        reasons.append(
            f"they are for {theirs['dim']}-D clouds, the data are {ours['dim']}-D (--data)"
        )
    if "network" not in ours:  # a baseline: its layers tell
        return reasons
    mine, other = ours["network"], theirs["network"]
    if mine["name"] != other["name"]:
        return [*reasons, f"they have the network {other['name']} (add --network {other['name']})"]
    for key in sorted(other):
        if key == "marks" and not other[key]:
            continue  # marks begin with no effect
        if key not in _NO_WEIGHTS and mine[key] != other[key]:
            reasons.append(
                f"they have {key} {other[key]}, the recipe {mine[key]} "
                f"(add --network.{key} {other[key]})"
            )
    return reasons
