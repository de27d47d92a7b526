"""What a classifier says of itself and of a cloud beside the class, fitted after training."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["auroc", "calibration_error", "fit_temperature", "fit_upright"]

_NARROWING = 60  # halvings of the bracket: to the precision of float64


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """The ``T > 0`` of the lowest cross entropy of ``softmax(logits / T)`` (Guo et al., 2017).

    The cross entropy is convex in ``1 / T``, so the sign of its slope there brackets the minimum.

    Args:
        logits: Of clouds that were not trained on, ``(n, C)``.
        labels: Their classes, ``(n,)``.

    Returns:
        ``T``, from 0.01 to 100.

    Example:
        >>> sure = torch.tensor([[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [9.0, 0.0]])
        >>> t = fit_temperature(sure, torch.tensor([0, 0, 0, 1]))  # right in three of four
        >>> round(float((sure / t).softmax(1)[0, 0]), 4)
        0.75
    """
    logits = logits.double()
    own = logits.gather(1, labels[:, None])[:, 0]
    low, high = 0.01, 100.0  # of 1 / T
    for _ in range(_NARROWING):
        middle = (low * high) ** 0.5
        mean = ((middle * logits).softmax(1) * logits).sum(1)
        low, high = (low, middle) if float((mean - own).mean()) > 0 else (middle, high)
    return 1.0 / (low * high) ** 0.5


def calibration_error(probabilities: Tensor, labels: Tensor, bins: int = 15) -> float:
    """Expected calibration error: ``sum_b n_b / n |accuracy_b - confidence_b|``.

    Args:
        probabilities: ``(n, C)``.
        labels: ``(n,)``.
        bins: Of equal width, by the probability of the likeliest class.

    Example:
        >>> p = torch.tensor([[0.8, 0.2]]).expand(10, 2)
        >>> round(calibration_error(p, torch.tensor([0] * 8 + [1] * 2)), 6)
        0.0
    """
    confidence, guess = probabilities.double().max(1)
    right = (guess == labels).double()
    index = (confidence * bins).long().clamp(max=bins - 1)
    gaps = torch.zeros(bins, dtype=torch.float64).index_add(0, index, right - confidence)
    return float(gaps.abs().sum() / len(labels))


def auroc(inside: Tensor, outside: Tensor) -> float:
    """Probability that a score of ``outside`` is higher than one of ``inside``, ties half.

    Args:
        inside: Scores of clouds that are like the training data, ``(n,)``.
        outside: Scores of others, ``(m,)``.

    Example:
        >>> auroc(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 1.0]))
        0.875
    """
    above = (outside[:, None] > inside).double() + 0.5 * (outside[:, None] == inside).double()
    return float(above.mean())


def fit_upright(right: Tensor, wrong: Tensor, decay: float = 0.01) -> Tensor:
    """Weights of :meth:`ddeq.Classifier.uprightness`, by logistic regression on pairs.

    The lowest ``mean log(1 + exp(w . (wrong - right))) + decay |s w|^2``, with the deviations ``s``
    of the features.

    Args:
        right: Features of clouds that stand upright, ``(n, p)``.
        wrong: Of the same clouds, lying, one row of poses after another, ``(k, n, p)``.
        decay: Of the weights.

    Returns:
        ``w``, ``(p,)``.

    Example:
        >>> x = torch.randn(100, 3, generator=torch.manual_seed(0))
        >>> w = fit_upright(x, (x - torch.tensor([1.0, 0.0, 0.0]))[None])
        >>> w.shape, bool((x @ w > (x - torch.tensor([1.0, 0.0, 0.0])) @ w).all())
        (torch.Size([3]), True)
    """
    scale = torch.cat([right[None], wrong]).flatten(0, 1).double().std(0).clamp(min=1e-6)
    gaps = ((right - wrong).double() / scale).flatten(0, 1)  # (k n, p)
    with torch.enable_grad():
        weights = torch.zeros_like(scale, requires_grad=True)
        optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimizer.zero_grad()
            value = F.softplus(-gaps @ weights).mean() + decay * weights.square().sum()
            value.backward()
            return value

        optimizer.step(loss)
    return (weights.detach() / scale).to(right)
