"""How many points a cloud lacks, per point there is."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddeq.nn.layers import MLP

__all__ = ["BoundedShare", "MissingShare"]


class BoundedShare(MLP):
    """``share = ratio e^{tanh a}``: something is always missing, from ``ratio / e`` to ``e ratio``.

    Args:
        features: ``p``.
        ratio: The share at ``a = 0``.
    """

    least: ClassVar[int] = 1  # points that are added at least

    def __init__(self, features: int, ratio: float) -> None:
        super().__init__(features, features // 2, 1)
        self.ratio = ratio

    def share(self, mean: Tensor, peak: Tensor, sure: float = 0.0) -> Tensor:
        """Read off the mean of the encoded points, ``(B, p), (B, p) -> (B,)``; always sure."""
        return self.ratio * self(mean[:, None])[:, 0, 0].tanh().exp()

    def undecided(self, mean: Tensor, peak: Tensor, margin: float) -> Tensor:
        """Clouds within a margin of a jump of the share, ``(B,)`` bool; there is no jump."""
        return mean.new_zeros(len(mean), dtype=torch.bool)

    def loss(self, mean: Tensor, peak: Tensor, truth: Tensor) -> Tensor:
        """``log(share / truth)^2`` where something is missing, ``(B,)``."""
        some = truth > 0
        ratio = self.share(mean, peak) / torch.where(some, truth, torch.ones_like(truth))
        return some * ratio.log().square()


class MissingShare(nn.Module):
    """Reads two numbers off an encoded cloud: the logit of "something is missing", and how much.

    ``share = ratio e^a``, ``|a| < 2``, if ``logit > 0``; 0 otherwise. A hole is seen by the few
    points at its edge, so the head reads the largest features over the points beside their means.

    Args:
        features: ``p``.
        ratio: The share at ``a = 0``.
        more: Numbers that ``peak`` has beside the features.
    """

    least: ClassVar[int] = 0

    def __init__(self, features: int, ratio: float, more: int = 0) -> None:
        super().__init__()
        self.ratio = ratio
        self.mlp = MLP(2 * features + more, features, 2)

    def forward(self, mean: Tensor, peak: Tensor) -> tuple[Tensor, Tensor]:
        """``(B, p), (B, p + more) ->`` logit ``(B,)`` and logarithm of the share ``(B,)``."""
        logit, log_share = self.mlp(torch.cat([mean, peak], -1)).unbind(-1)
        scale = torch.log(torch.as_tensor(self.ratio).to(log_share))
        return logit, scale + 2.0 * torch.tanh(0.5 * log_share)

    def share(self, mean: Tensor, peak: Tensor, sure: float = 0.0) -> Tensor:
        """``(B, p), (B, p + more) -> (B,)``, 0 where nothing is missing.

        Args:
            mean: See :meth:`forward`.
            peak: See :meth:`forward`.
            sure: The logit from which the share is a whole one; below it is ``logit / sure`` of it.
        """
        logit, log_share = self(mean, peak)
        part = (logit / sure).clamp(max=1.0) if sure > 0 else 1.0
        return torch.where(logit > 0, part * log_share.exp(), 0.0)

    def undecided(self, mean: Tensor, peak: Tensor, margin: float) -> Tensor:
        """Clouds whose logit lies within a margin of 0, where the share jumps, ``(B,)`` bool."""
        return self(mean, peak)[0].abs() <= margin

    def loss(self, mean: Tensor, peak: Tensor, truth: Tensor) -> Tensor:
        """Cross entropy of "something is missing", and the squared log error where it is, ``(B,)``.

        Args:
            mean: See :meth:`forward`.
            peak: See :meth:`forward`.
            truth: The true share, 0 where nothing is missing, ``(B,)``.
        """
        logit, log_share = self(mean, peak)
        some = truth > 0
        error = log_share - torch.where(some, truth, torch.ones_like(truth)).log()
        entropy = F.binary_cross_entropy_with_logits(logit, some.to(logit), reduction="none")
        return entropy + some * error.square()
