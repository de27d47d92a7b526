"""GMRES for a batch of independent linear systems."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["gmres"]


def gmres(
    operator: Callable[[Tensor], Tensor], right: Tensor, max_steps: int = 50, tol: float = 1e-6
) -> Tensor:
    """Solves ``A_b x_b = r_b`` for all ``b`` at once, from zero, without restarts.

    In the Krylov space with orthonormal basis ``V`` and ``A V_k = V_{k+1} H`` (Arnoldi), the
    residual is least for ``x = V_k y`` with ``y = argmin || ||r|| e_1 - H y ||``.

    Args:
        operator: ``x -> A x``, block diagonal over the batch, ``(B, D) -> (B, D)``.
        right: ``r``, ``(B, D)``.
        max_steps: Largest dimension of the Krylov space.
        tol: Stops when ``||r - A x|| <= tol ||r||`` for all ``b``.

    Returns:
        ``x``, ``(B, D)``; zero where ``r`` is zero.
    """
    max_steps = min(max_steps, right.shape[1])
    norm = right.norm(dim=1, keepdim=True)
    basis = [_safe_divide(right, norm)]
    size = max_steps + 1
    hessenberg = right.new_zeros(len(right), size, max_steps)
    y = right.new_zeros(len(right), 0)
    for k in range(max_steps):
        vector = operator(basis[k])
        for i, known in enumerate(basis):
            part = (vector * known).sum(1)
            hessenberg[:, i, k] = part
            vector = vector - part[:, None] * known
        rest = vector.norm(dim=1, keepdim=True)
        hessenberg[:, k + 1, k] = rest[:, 0]
        basis.append(_safe_divide(vector, rest))
        y, error = _least_squares(hessenberg[:, : k + 2, : k + 1], norm)
        if (error <= tol * norm[:, 0]).all():
            break
    return torch.einsum("bk,kbd->bd", y, torch.stack(basis[: y.shape[1]]))


def _least_squares(hessenberg: Tensor, norm: Tensor) -> tuple[Tensor, Tensor]:
    """``argmin_y || norm e_1 - H y ||`` and the minimum, ``(B, k)`` and ``(B,)``."""
    target = torch.zeros_like(hessenberg[:, :, 0])
    target[:, 0] = norm[:, 0]
    y = (torch.linalg.pinv(hessenberg) @ target[..., None])[..., 0]
    return y, (target - (hessenberg @ y[..., None])[..., 0]).norm(dim=1)


def _safe_divide(vector: Tensor, norm: Tensor) -> Tensor:
    """``vector / norm``, zero where the norm is."""
    return torch.where(norm > 0, vector / norm.clamp(min=torch.finfo(norm.dtype).tiny), 0.0)
