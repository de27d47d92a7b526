"""The optimiser: Muon for the matrices of the network, AdamW for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Muon, Optimizer

__all__ = ["Together", "make_optimizer"]

_LEAST = 16  # a matrix with fewer rows or columns has no directions worth balancing


class Together(Optimizer):
    """Several optimisers, each for its own parameters, as one.

    Args:
        parts: The optimisers.
    """

    def __init__(self, parts: Iterable[Optimizer]) -> None:
        self.parts = list(parts)
        super().__init__(
            [p for part in self.parts for g in part.param_groups for p in g["params"]], {}
        )
        self._share_groups()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """A step of each."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The states of all parts."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up what :meth:`state_dict` returned."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self._share_groups()

    def _share_groups(self) -> None:
        """One list of the parts' own groups, so that a schedule reaches them."""
        self.param_groups = [group for part in self.parts for group in part.param_groups]


def make_optimizer(model: nn.Module, name: str, rate: float, weight_decay: float) -> Optimizer:
    """An optimiser of all parameters.

    Muon replaces the momentum ``M`` of a matrix by the nearest orthogonal matrix ``U V^T``, where
    ``M = U S V^T``: all directions are learned at the same rate. It is scaled to the size of an
    update of AdamW, so that both take the same learning rate.

    Args:
        model: Whose parameters.
        name: ``muon`` for both, ``adamw`` for AdamW alone.
        rate: Learning rate.
        weight_decay: Decoupled.
    """
    every = list(model.parameters())
    if name == "adamw":
        return AdamW(every, lr=rate, weight_decay=weight_decay)
    matrices = [p for p in every if p.ndim == 2 and min(p.shape) >= _LEAST]
    chosen = {id(p) for p in matrices}
    rest = [p for p in every if id(p) not in chosen]
    return Together(
        [
            Muon(matrices, lr=rate, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
            AdamW(rest, lr=rate, weight_decay=weight_decay),
        ]
    )
