"""What a user's cloud shows: calibrated probabilities, and whether it is like the training data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ddeq.data.view import NetworkView
from ddeq.errors import DdeqError
from ddeq.inference.cloud import check_cloud
from ddeq.inference.weights import classifier_for
from ddeq.measures.clouds import PointClouds
from ddeq.models import Classifier
from ddeq.models.classifier import UP
from ddeq.nn.pose import from_y_up

__all__ = ["Classes", "Recognition", "classify", "probabilities", "recognise"]


class Classes(dict[str, float]):
    """The probability of each class by its name, the most likely first.

    Attributes:
        unlike: Whether the cloud is unlike the training data, so that the probabilities say
            little; None if the weights do not tell.
        up: The axis that was taken to point up, ``"z"`` or ``"y"``; None but in three dimensions.
    """

    unlike: bool | None = None
    up: str | None = None


@dataclass(frozen=True, eq=False)
class Recognition:
    """What is said of ``B`` clouds.

    Attributes:
        probabilities: Of the classes, ``(B, C)``: the mean over the poses of
            ``softmax(logits / temperature)``.
        energy: See :meth:`ddeq.Classifier.energy`, ``(B,)``.
        y_up: Where y was taken to point up, ``(B,)`` bool.
    """

    probabilities: Tensor
    energy: Tensor
    y_up: Tensor

    def unlike(self, model: Classifier, index: int = 0) -> bool | None:
        """Whether one cloud is unlike the training data of the model; None if it cannot tell."""
        if model.unfamiliar is None:
            return None
        return float(self.energy[index]) > model.unfamiliar


def classify(
    points: np.ndarray | Tensor,
    weights: str | os.PathLike[str] | None = None,
    seed: int = 0,
    up: str | None = None,
) -> Classes:
    """The classes of a cloud in any units: what ``ddeq classify`` prints.

    Args:
        points: ``(N, d)``, an array or a tensor.
        weights: Name or folder of a classifier; by default the one shipped for dimension ``d``.
        seed: Of the latent particles.
        up: See :func:`recognise`.

    Returns:
        The probability of each class by its name, the most likely first; ``unlike`` says whether
        the cloud is unlike the training data.
    """
    cloud = check_cloud(points)
    model = classifier_for(cloud.shape[1], weights)
    found = recognise([cloud], model, seed, up)
    ranked = zip(model.classes, found.probabilities[0].tolist(), strict=True)
    classes = Classes(sorted(ranked, key=lambda pair: -pair[1]))
    classes.unlike = found.unlike(model)
    if model.dim == 3:
        classes.up = "y" if found.y_up[0] else "z"
    return classes


def probabilities(
    clouds: Sequence[np.ndarray], model: Classifier, seed: int = 0, up: str | None = None
) -> Tensor:
    """Probabilities of the classes of ``B`` clouds, ``(B, C)``; see :func:`recognise`."""
    return recognise(clouds, model, seed, up).probabilities


@torch.no_grad()
def recognise(
    clouds: Sequence[np.ndarray], model: Classifier, seed: int = 0, up: str | None = None
) -> Recognition:
    """Classifies ``B`` clouds ``(N_i, d)`` in any units.

    Args:
        clouds: Of the dimension of the model.
        model: A classifier.
        seed: Of the latent particles.
        up: The axis of 3-D clouds that points up: ``"z"``, ``"y"``, or ``"auto"`` for the one of
            the higher :meth:`ddeq.Classifier.uprightness`; by default what the model says.
    """
    up = model.up if up is None else up
    if up not in UP or (up != "z" and model.dim != 3):
        raise DdeqError(f"up must be one of {', '.join(UP)}, z but in 3 dimensions: {up!r}")
    seen = [NetworkView(cloud).for_network().points[0] for cloud in clouds]
    x = PointClouds.from_list(seen).to(next(model.parameters()).device)
    y_up = torch.full_like(x.lengths, up == "y", dtype=torch.bool)
    if up == "auto":
        y_up = model.uprightness(from_y_up(x), seed) > model.uprightness(x, seed)
    if model.dim == 3:
        x = x.with_points(torch.where(y_up[:, None, None], from_y_up(x).points, x.points))
    views = model.views(x, seed)  # (poses, B, C)
    calibrated = (views / model.temperature).softmax(-1).mean(0)
    return Recognition(calibrated.cpu(), model.energy(views).cpu(), y_up.cpu())
