"""The paper's forward pass as it is described, to compare with.

The same network with the same weights, driven plainly: the path of ``X`` is computed in every
solver step, attention is an explicit softmax that keeps its weights, fixed particles pass through
every layer and are reset after it, the network is evaluated twice a step (once for the gradient,
once for the residual), the objective is that of all particles, fixed ones too, and autodiff goes
through everything. Padding is masked, so the answers
are those of the library; only the cost differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ddeq import PointClouds, mmd2
from ddeq.nn import Attention, EncoderLayer, EquilibriumNetwork

__all__ = ["ReferenceFlow", "ReferenceMap"]


@dataclass(frozen=True, eq=False)
class ReferenceMap:
    """``z -> F(z, X)`` on all particles, the fixed ones first.

    Attributes:
        network: ``F``, as in the paper: without waves.
        x: The input clouds.
        fixed: Fixed particles in ``R^p``, or None.
    """

    network: EquilibriumNetwork
    x: PointClouds
    fixed: PointClouds | None = None

    def __call__(self, z: PointClouds) -> PointClouds:
        net = self.network
        x_low = net.x_norm(net.x_project(self.x.points))
        x_mean = torch.einsum("bm,bmh->bh", self.x.weights, x_low)
        x_high = net.x_lift_norm(net.x_lift(x_low))
        x_high = _encoder(net.x_encoder, x_high, x_high, self.x.mask)

        whole = self.whole(z)
        points, mask = whole.points, whole.mask
        low = net.z_norm(net.z_project(points))
        weights = mask / mask.sum(1, keepdim=True)
        mean = torch.einsum("bn,bnh->bh", weights.to(low), low)
        low = net.bilinear_norm(low + net.bilinear(low, mean, x_mean))
        h = self._reset(net.z_lift_norm(net.z_lift(low) + points))
        if net.z_encoder is not None:
            h = self._reset(_encoder(net.z_encoder, h, h, mask))
        for layer in net.cross:
            h = self._reset(_encoder(layer, h, x_high, self.x.mask))
        h = net.out_norm(h + net.out(h))
        return z.with_points(h[:, -z.points.shape[1] :])

    def whole(self, z: PointClouds) -> PointClouds:
        """All particles, the fixed ones first."""
        if self.fixed is None:
            return z
        points = torch.cat([self.fixed.points, z.points], 1)
        return PointClouds(points, torch.cat([self.fixed.mask, z.mask], 1))

    def objective(self, z: PointClouds) -> Tensor:
        """``MMD^2(Z, F(Z))`` of all particles, in units of that of the free ones, ``(B,)``."""
        whole = self.whole(z)
        share = (z.lengths / whole.lengths).to(z.points)
        return mmd2(whole, self.whole(self(z))) / share.square()

    def _reset(self, h: Tensor) -> Tensor:
        if self.fixed is None:
            return h
        count = self.fixed.points.shape[1]
        return torch.cat([self.fixed.points, h[:, count:]], 1)


@dataclass(frozen=True)
class ReferenceFlow:
    """Plain Wasserstein gradient descent on ``1/2 MMD^2(z, F(z))``, two evaluations a step."""

    step_size: float = 5.0

    def step(self, f: ReferenceMap, z: PointClouds) -> tuple[PointClouds, Tensor]:
        """The next particles and the residual there."""
        points = z.points.detach().requires_grad_()
        here = PointClouds(points, z.mask)
        objective = 0.5 * f.objective(here).sum()
        objective.backward()
        assert points.grad is not None
        gradient = points.grad * z.lengths[:, None, None]
        after = z.with_points(points.detach() - self.step_size * gradient)
        with torch.no_grad():
            residual = f.objective(after)
        return after, residual


def _encoder(layer: EncoderLayer, target: Tensor, source: Tensor, mask: Tensor) -> Tensor:
    target = layer.norm_attention(target + _attention(layer.attention, target, source, mask)[0])
    return layer.norm_mlp(target + layer.mlp(target))


def _attention(
    layer: Attention, target: Tensor, source: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Explicit softmax attention; returns its weights, ``(B, heads, N, M)``, too."""
    query = layer.query(target).unflatten(-1, (-1, layer.head_size)).transpose(1, 2)
    key, value = layer.keys_values(source)
    scores = query @ key.transpose(-1, -2) / layer.head_size**0.5
    weights = scores.masked_fill(~mask[:, None, None, :], -torch.inf).softmax(-1)
    return layer.out((weights @ value).transpose(1, 2).flatten(2)), weights
