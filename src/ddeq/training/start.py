"""Fine-tuning: a recipe's model begins with weights that were trained before."""

from __future__ import annotations

from ddeq.models import Classifier, Completer

__all__ = ["start_from"]

_OPTIONS = ("head_size", "cross_layers", "pushforward")
"""Fields of a recipe that are arguments of the network by the same name."""


def start_from(model: Classifier | Completer, name: str) -> None:
    """Copies weights into a fresh model.

    Args:
        model: As the recipe makes it. It keeps its solver, its particles and its dropout, which
            are no weights.
        name: Of shipped weights, a folder, or ``user/repo`` on the Hugging Face hub.

    Raises:
        ValueError: in one line, saying which option of the recipe differs.
    """
    source = type(model).from_pretrained(name)
    ours, theirs = model.state_dict(), source.state_dict()
    shapes = {key: value.shape for key, value in ours.items()}
    if shapes == {key: value.shape for key, value in theirs.items()}:
        model.load_state_dict(theirs)
        return
    reasons = _reasons(model.config(), source.config())
    raise ValueError(f"weights {name!r} do not fit this recipe: {'; '.join(reasons)}")


def _reasons(ours: dict, theirs: dict) -> list[str]:
    """What differs between two configurations, and which option would mend it."""
    reasons = []
    for key in sorted(theirs):
        mine, other = ours.get(key), theirs[key]
        if mine == other:
            continue
        if key == "dim":
            reasons.append(f"they are for {other}-D clouds, the data are {mine}-D (--data)")
        elif key == "num_classes":
            reasons.append(f"they know {other} classes, the data have {mine} (--data)")
        elif key in _OPTIONS:
            reasons.append(f"they have {key} {other}, the recipe {mine} (add --{key} {other})")
        elif key in ("features", "bilinear"):
            reasons.append(f"they have {key} {other}, a recipe's model has {mine}")
    return reasons or ["their layers have other shapes"]
