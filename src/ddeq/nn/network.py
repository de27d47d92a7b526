"""The equilibrium network ``F_theta(Z, X)`` of Figure 2, in two parts.

``encode(x)`` computes everything that does not depend on ``Z``, once per solve;
``step(z, context)`` is ``F_theta(., X)``, the map whose fixed point is sought. The split is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.nn.bilinear import Bilinear
from ddeq.nn.features import moments, neighbourhoods, octaves
from ddeq.nn.layers import MLP, EncoderLayer, KeysValues

__all__ = ["Context", "EquilibriumMap", "EquilibriumNetwork", "Fixed"]


def _over_tensors(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Applies ``function`` to every tensor in nested tuples and contexts."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple):
        return tuple(_over_tensors(item, function) for item in value)
    if isinstance(value, (Context, Fixed)):
        return type(value)(
            *(_over_tensors(getattr(value, field.name), function) for field in fields(value))
        )
    return value


@dataclass(frozen=True, eq=False)
class Fixed:
    """What free particles need to know of fixed ones, computed once.

    Attributes:
        source: Keys and values of the fixed particles in the self-encoder.
        mask: Additive key mask, ``(B, 1, 1, M)``.
        total: Sum of their projected features, ``(B, h)``.
        count: How many they are, ``(B, 1)``.
    """

    source: KeysValues
    mask: Tensor
    total: Tensor
    count: Tensor


@dataclass(frozen=True, eq=False)
class Context:
    """What ``F_theta(., X)`` needs of ``X``; every tensor has the batch first.

    Attributes:
        bilinear: ``alpha mean(X)`` and ``beta mean(X)``, ``(B, h, h)``.
        sources: Keys and values of ``X`` for each layer of the cross-encoder.
        mask: Additive key mask of ``X``, ``(B, 1, 1, M)``.
        summary: Mean of the encoded points of ``X``, ``(B, p)``.
        fixed: The fixed particles, if any.
        drops: Dropout scales of the feed-forward layers on the ``Z`` path, ``(B, 1, hidden)``,
            drawn once so that ``F`` stays one map during a solve.
    """

    bilinear: tuple[Tensor, Tensor | None]
    sources: tuple[KeysValues, ...]
    mask: Tensor
    summary: Tensor
    fixed: Fixed | None
    drops: tuple[Tensor | None, ...]

    def select(self, index: Tensor) -> Context:
        """The context of some clouds of the batch."""
        return _over_tensors(self, lambda tensor: tensor[index])

    def detach(self) -> Context:
        """The same context, cut from the autograd graph."""
        return _over_tensors(self, Tensor.detach)


class EquilibriumNetwork(nn.Module):
    """``F_theta``: equivariant to permutations of ``Z``, invariant to permutations of ``X``.

    Args:
        dim: ``d``, dimension of the input points.
        features: ``p``, dimension of the latent particles.
        bilinear: ``h``, features of the bilinear layer.
        head_size: Features of an attention head.
        cross_layers: Layers of the cross-encoder.
        pushforward: Without the interactions between particles of ``Z`` (no ``beta``, no
            self-encoder over ``Z``): then ``F`` acts on each particle by itself.
        dropout: Rate in the feed-forward layers of the encoders, one mask for all particles of a
            cloud, fixed during a solve.
        waves: Octaves of :func:`ddeq.nn.octaves` that the points of ``X`` bring to their features;
            none in the paper.
        radii: Radii of :func:`ddeq.nn.neighbourhoods` likewise; none in the paper.

    Attributes:
        share: Rank and number of processes that share a batch. Each draws the dropout of the whole
            batch and takes its part, so that they do together what one process does.
    """

    def __init__(
        self,
        dim: int,
        features: int = 128,
        bilinear: int = 16,
        head_size: int = 4,
        cross_layers: int = 3,
        pushforward: bool = False,
        dropout: float = 0.1,
        waves: int = 0,
        radii: Sequence[float] = (),
    ) -> None:
        super().__init__()
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        if waves < 0:
            raise ValueError(f"waves must not be negative, got {waves}")
        if not all(radius > 0 for radius in radii):
            raise ValueError(f"radii must be positive, got {list(radii)}")
        self.dropout = dropout
        self.share = (0, 1)
        self.features = features
        self.x_project, self.x_norm = MLP(dim, bilinear, bilinear), nn.LayerNorm(bilinear)
        self.waves, self.radii = waves, tuple(radii)
        seen = bilinear + 2 * waves * dim**2 + len(self.radii) * moments(dim)
        self.x_lift, self.x_lift_norm = MLP(seen, features, features), nn.LayerNorm(features)
        self.x_encoder = EncoderLayer(features, head_size)
        self.z_project, self.z_norm = MLP(features, bilinear, bilinear), nn.LayerNorm(bilinear)
        self.bilinear, self.bilinear_norm = (
            Bilinear(bilinear, interaction=not pushforward),
            nn.LayerNorm(bilinear),
        )
        self.z_lift, self.z_lift_norm = MLP(bilinear, features, features), nn.LayerNorm(features)
        self.z_encoder = None if pushforward else EncoderLayer(features, head_size)
        self.cross = nn.ModuleList(EncoderLayer(features, head_size) for _ in range(cross_layers))
        self.out, self.out_norm = MLP(features, 4 * features, features), nn.LayerNorm(features)

    def encode(self, x: PointClouds, fixed: PointClouds | None = None) -> Context:
        """Everything of ``F_theta(., X)`` that does not depend on the moving particles.

        Args:
            x: ``B`` clouds in ``R^d``.
            fixed: Latent particles that do not move, in ``R^p``. At their rows every layer of
                ``F`` returns its network input, so others see them as they are.
        """
        if x.dim != self.x_project.inner.in_features:
            raise ValueError(
                f"the network takes clouds of dimension {self.x_project.inner.in_features}, "
                f"got dimension {x.dim}"
            )
        mask = _key_mask(x)
        low = self.x_norm(self.x_project(x.points))  # (B, M, h)
        x_mean = torch.einsum("bm,bmh->bh", x.weights, low)
        high = self.x_lift_norm(self.x_lift(self._seen(low, x)))  # (B, M, p)
        source = self.x_encoder.attention.keys_values(high)
        drop = self._drop(high, self.x_encoder.mlp)
        high = self.x_encoder(high, source, mask, drop)
        cross = [cast(EncoderLayer, layer) for layer in self.cross]
        blocks = [block.mlp for block in (self.z_encoder, *cross) if block is not None]
        return Context(
            bilinear=self.bilinear.matrices(x_mean),
            sources=tuple(layer.attention.keys_values(high) for layer in cross),
            mask=mask,
            summary=torch.einsum("bm,bmp->bp", x.weights, high),
            fixed=None if fixed is None or self.z_encoder is None else self._fixed(fixed),
            drops=tuple(self._drop(high, mlp) for mlp in blocks),
        )

    def step(self, z: PointClouds, context: Context) -> PointClouds:
        """``F_theta(Z, X)`` at the moving particles, ``(B, N, p) -> (B, N, p)``."""
        low = self.z_norm(self.z_project(z.points))  # (B, N, h)
        mean = self._mean(low, z, context.fixed)
        low = self.bilinear_norm(low + Bilinear.with_matrices(low, mean, *context.bilinear))
        h = self.z_lift_norm(self.z_lift(low) + z.points)  # (B, N, p)
        drops = list(context.drops)
        if self.z_encoder is not None:
            source, mask = self.z_encoder.attention.keys_values(h), _key_mask(z)
            if context.fixed is not None:
                key, value = context.fixed.source
                source = torch.cat([source[0], key], 2), torch.cat([source[1], value], 2)
                mask = torch.cat([mask, context.fixed.mask], 3)
            h = self.z_encoder(h, source, mask, drops.pop(0))
        for layer, source, drop in zip(self.cross, context.sources, drops, strict=True):
            h = layer(h, source, context.mask, drop)
        return z.with_points(self.out_norm(h + self.out(h)))

    def bind(self, context: Context) -> EquilibriumMap:
        """``F_theta(., X)`` as a map for a solver."""
        if torch.is_inference_mode_enabled():  # whose tensors a flow cannot differentiate
            with torch.inference_mode(False):
                context = _over_tensors(context, torch.clone)
        return EquilibriumMap(self, context)

    def _seen(self, low: Tensor, x: PointClouds) -> Tensor:
        """Projected points and what the network is told beside them, ``(B, M, ...)``."""
        more = [octaves(x.points, self.waves)] if self.waves else []
        more += [neighbourhoods(x, self.radii)] if self.radii else []
        return torch.cat([low, *more], dim=-1)

    def _fixed(self, fixed: PointClouds) -> Fixed:
        assert self.z_encoder is not None
        low = self.z_norm(self.z_project(fixed.points))
        return Fixed(
            source=self.z_encoder.attention.keys_values(fixed.points),
            mask=_key_mask(fixed),
            total=(low * fixed.mask[..., None]).sum(1),
            count=fixed.lengths[:, None],
        )

    @staticmethod
    def _mean(low: Tensor, z: PointClouds, fixed: Fixed | None) -> Tensor:
        """Mean of projected features over moving and fixed particles, ``(B, h)``."""
        if fixed is None:
            return torch.einsum("bn,bnh->bh", z.weights, low)
        total = (low * z.mask[..., None]).sum(1) + fixed.total
        return total / (z.lengths[:, None] + fixed.count)

    def _drop(self, like: Tensor, mlp: MLP) -> Tensor | None:
        """Dropout scales of one feed-forward layer, ``(B, 1, hidden)``; None when idle."""
        if not self.training or self.dropout == 0.0:
            return None
        rank, replicas = self.share
        size = (len(like) * replicas, 1, mlp.inner.out_features)
        keep = torch.bernoulli(like.new_full(size, 1.0 - self.dropout))
        return keep[rank::replicas] / (1.0 - self.dropout)


class EquilibriumMap:
    """``z -> F_theta(z, X)`` for one encoded ``X``; can be narrowed to some clouds."""

    def __init__(self, network: EquilibriumNetwork, context: Context) -> None:
        self.network, self.context = network, context

    def __call__(self, z: PointClouds) -> PointClouds:
        return self.network.step(z, self.context)

    def select(self, index: Tensor) -> EquilibriumMap:
        """The map of some clouds of the batch."""
        return EquilibriumMap(self.network, self.context.select(index))

    def detach(self) -> EquilibriumMap:
        """The map with its context cut from the autograd graph."""
        return EquilibriumMap(self.network, self.context.detach())


def _key_mask(x: PointClouds) -> Tensor:
    """0 at points, ``-inf`` at padding, ``(B, 1, 1, N)``."""
    mask = torch.zeros_like(x.mask, dtype=x.points.dtype).masked_fill(~x.mask, -torch.inf)
    return mask[:, None, None, :]
