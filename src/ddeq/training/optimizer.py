"""The optimiser: Muon for the matrices and convolutions of the network, AdamW for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from ddeq.errors import DdeqError

__all__ = ["OPTIMIZERS", "CombinedOptimizer", "Muon", "make_optimizer", "orthogonal"]

_LEAST = 16  # a matrix with fewer rows or columns has no directions worth balancing


_QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients of Jordan et al., "Muon" (2024): steep at 0, so that few iterations do."""


def orthogonal(matrix: Tensor, iterations: int = 5) -> Tensor:
    """About ``U V^T`` for ``matrix = U S V^T``, by Newton-Schulz iteration, ``(m, n) -> (m, n)``.

    Each iteration maps every singular value by ``a s + b s^3 + c s^5``, which brings those of a
    matrix of norm 1 near to 1: into about 0.7 to 1.2, all that is needed.
    """
    a, b, c = _QUINTIC
    x = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    x = x / (x.norm() + 1e-7)
    for _ in range(iterations):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x if matrix.shape[0] <= matrix.shape[1] else x.T


class Muon(Optimizer):
    """Momentum whose matrices are made orthogonal before they are applied.

    Written here because torch's own computes in bfloat16, which a CPU without instructions for it
    does tens of times more slowly than the float32 of the weights.

    Args:
        params: Matrices, and kernels of convolutions ``(out, in, ...)``, taken as ``(out, rest)``.
        lr: Learning rate, in the units of AdamW: an update is scaled to the root mean square 0.2
            that AdamW's updates have.
        weight_decay: Decoupled.
        momentum: Of the gradients, after Nesterov.
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float, weight_decay: float, momentum: float = 0.95
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update of all matrices that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                mean = state["momentum"].lerp_(weight.grad, 1.0 - group["momentum"])
                ahead = weight.grad.lerp(mean, group["momentum"])
                weight.mul_(1.0 - group["lr"] * group["weight_decay"])
                matrix = ahead.flatten(1)
                size = 0.2 * max(matrix.shape) ** 0.5
                update = orthogonal(matrix).view_as(weight)
                weight.add_(update, alpha=-group["lr"] * size)


class CombinedOptimizer(Optimizer):
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

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
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
    if name not in OPTIMIZERS:
        raise DdeqError(f"unknown optimizer {name!r}: one of {', '.join(OPTIMIZERS)}")
    return OPTIMIZERS[name](list(model.parameters()), rate, weight_decay)


def _adamw(every: list[nn.Parameter], rate: float, weight_decay: float) -> Optimizer:
    return AdamW(every, lr=rate, weight_decay=weight_decay)


def _muon(every: list[nn.Parameter], rate: float, weight_decay: float) -> Optimizer:
    matrices = [p for p in every if p.ndim in (2, 4) and min(p.flatten(1).shape) >= _LEAST]
    chosen = {id(p) for p in matrices}
    rest = [p for p in every if id(p) not in chosen]
    return CombinedOptimizer(
        [
            Muon(matrices, rate, weight_decay),
            AdamW(rest, lr=rate, weight_decay=weight_decay),
        ]
    )


OPTIMIZERS: dict[str, Callable[[list[nn.Parameter], float, float], Optimizer]] = {
    "adamw": _adamw,
    "muon": _muon,
}
"""``(parameters, rate, weight_decay) -> optimizer``."""
