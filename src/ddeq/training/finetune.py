"""Fine-tuning: a recipe's model begins with weights that were trained before."""

from __future__ import annotations

from ddeq.models import Classifier, Completer

__all__ = ["start_from"]

_OPTIONS = ("bilinear", "head_size", "cross_layers", "pushforward", "waves", "radii")
"""Fields of a recipe that are arguments of the network by the same name."""


def start_from(model: Classifier | Completer, name: str) -> None:
    """Copies weights into a fresh model.

    Args:
        model: As the recipe makes it. It keeps its solver, its particles and its dropout, which
            are no weights. If only one of the two estimates how many points are missing, the rest
            is copied.
        name: Of shipped weights, a folder, or ``user/repo`` on the Hugging Face hub.

    Raises:
        ValueError: in one line, saying which option of the recipe differs.
    """
    source = type(model).from_pretrained(name)
    ours, theirs = _fits(model), _fits(source)
    if ours == theirs:
        model.load_state_dict(source.state_dict(), strict=False)
        return
    reasons = _reasons(model.config(), source.config())
    raise ValueError(f"weights {name!r} do not fit this recipe: {'; '.join(reasons)}")


def _fits(model: Classifier | Completer) -> tuple[dict, dict]:
    """What must agree: the shapes of the weights, and what the network does with them."""
    config = model.config()
    weights = model.state_dict().items()
    shapes = {key: value.shape for key, value in weights if not key.startswith("missing.")}
    return shapes, {key: config[key] for key in _OPTIONS}


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
        elif key == "features":
            reasons.append(f"they have {key} {other}, a recipe's model has {mine}")
    return reasons or ["their layers have other shapes"]
