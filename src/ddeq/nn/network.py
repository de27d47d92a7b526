"""The equilibrium network ``F_theta(Z, X)`` of Figure 2, in two parts.

``encode(x)`` computes everything that does not depend on ``Z``, once per solve;
``step(z, context)`` is ``F_theta(., X)``, the map whose fixed point is sought. The split is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.nn.base import MeasureNetwork, full_precision
from ddeq.nn.bilinear import Bilinear
from ddeq.nn.checks import whole
from ddeq.nn.config import Network
from ddeq.nn.edges import Edges
from ddeq.nn.features import fourier_features, local_moments, moment_count, rim_features
from ddeq.nn.groups import GroupEncoder, pool
from ddeq.nn.layers import MLP, EncoderLayer, KeysValues
from ddeq.nn.marks import Marks
from ddeq.nn.nearness import Nearness
from ddeq.nn.planes import PlaneEncoder
from ddeq.nn.proposals import ProposalMixture, Proposals, relative_to

__all__ = ["Context", "EquilibriumNetwork", "Fixed"]


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
        peak: Largest of their features, ``(B, p)``; with edges :meth:`ddeq.nn.Edges.summary` too.
        fixed: The fixed particles, if any.
        drops: Dropout scales of the feed-forward layers on the ``Z`` path, ``(B, 1, hidden)``,
            drawn once so that ``F`` stays one map during a solve.
        shift: What is added to the moving particles at every evaluation, ``(B, N or 1, p)``: a
            summary of ``X`` with groups or planes, their marks and proposals; None without any.
        proposals: Where points are missing, as the points of ``X`` say; None without proposals.
        anchors: What the places of the moving particles are relative to, ``(B, N, d)``; None
            without proposals, or before the particles are marked.
        edges: Logits of "points are missing beside me" of the points of ``X``, ``(B, M)``; None
            without edges.
    """

    bilinear: tuple[Tensor, Tensor | None]
    sources: tuple[KeysValues, ...]
    mask: Tensor
    summary: Tensor
    peak: Tensor
    fixed: Fixed | None
    drops: tuple[Tensor | None, ...]
    shift: Tensor | None
    proposals: ProposalMixture | None = None
    anchors: Tensor | None = None
    edges: Tensor | None = None


class EquilibriumNetwork(MeasureNetwork):
    """``F_theta``: equivariant to permutations of ``Z``, invariant to permutations of ``X``.

    Beside Figure 2, on which every fixed point depends:

    - the last MLP has a residual too: ``norm(h + MLP(h))``;
    - fixed particles enter the self-encoder over ``Z`` as they are, not as the layers before it
      would make them; they are nowhere else attended to, and count in the bilinear layer's mean.

    With marks ``F`` is equivariant in the pairs of particle and mark.

    Args:
        dim: ``d``, dimension of the input points.
        config: Everything else; the paper's network by default.
    """

    def __init__(self, dim: int, config: Network | None = None) -> None:
        config = Network() if config is None else config
        mark_size = max(config.marks, dim) if config.proposals else config.marks
        super().__init__(whole("dim", dim, 1, 64), config.features, mark_size)
        self.config = config
        p, h = config.features, config.bilinear

        def layers(count: int) -> list[EncoderLayer]:
            options = config.head_size, config.expansion, config.near
            return [EncoderLayer(p, *options) for _ in range(count)]

        self.x_project, self.x_norm = MLP(dim, h, h), nn.LayerNorm(h)
        width = _width(dim, config)
        groups, planes = config.groups, config.planes
        self.groups = None if groups is None else GroupEncoder(dim, width, groups)
        self.planes = None if planes is None else PlaneEncoder(dim, planes)
        for tokens in (groups, planes):
            width = width if tokens is None else tokens.widths[-1]
        self.x_lift, self.x_lift_norm = MLP(width, p, p), nn.LayerNorm(p)
        (self.x_encoder,) = layers(1)
        self.x_more = nn.ModuleList(layers(config.x_layers - 1))
        self.z_project, self.z_norm = MLP(p, h, h), nn.LayerNorm(h)
        self.bilinear = Bilinear(h, interaction=not config.pushforward)
        self.bilinear_norm = nn.LayerNorm(h)
        self.z_lift, self.z_lift_norm = MLP(h, p, p), nn.LayerNorm(p)
        self.z_encoder = None if config.pushforward else layers(1)[0]
        self.cross = nn.ModuleList(layers(config.cross_layers))
        self.out, self.out_norm = MLP(p, config.expansion * p, p), nn.LayerNorm(p)
        self.inject = nn.Linear(2 * p, p) if groups or planes else None
        self.marks = Marks(config.marks, p) if config.marks else None
        self.proposals = Proposals(p, dim, config.proposals) if config.proposals else None
        self.edges = Edges(p) if config.edges else None
        if config.proposals:  # holes are seen by what is near them
            for part in self.modules():
                if isinstance(part, Nearness):
                    part.spread()

    def encode(
        self,
        x: PointClouds,
        fixed: PointClouds | None = None,
        dense: PointClouds | None = None,
    ) -> Context:
        """Everything of ``F_theta(., X)`` that does not depend on the moving particles.

        Args:
            x: ``B`` clouds in ``R^d``.
            fixed: Latent particles that do not move, in ``R^p``.
            dense: Denser samples of the clouds: the local moments are theirs. ``x`` by default.
        """
        if x.dim != self.dim:
            raise ValueError(
                f"the network takes clouds of dimension {self.dim}, got dimension {x.dim}"
            )
        low = self.x_norm(self.x_project(x.points))  # (B, M, h)
        x_mean = torch.einsum("bm,bmh->bh", x.weights, low)
        seen, places = self._read(low, x, dense)
        mask = _key_mask(seen)
        high = self.x_lift_norm(self.x_lift(seen.points))  # (B, M, p)
        for layer in (self.x_encoder, *_encoders(self.x_more)):
            source = layer.attention.keys_values(high, places)
            high = layer(high, source, mask, self._drop(high, layer.mlp), places)
        peak, edges = high.masked_fill(~seen.mask[..., None], -torch.inf).amax(1), None
        if self.edges is not None:
            edges = self.edges(high)
            peak = torch.cat([peak, self.edges.summary(edges, x)], -1)
        cross = _encoders(self.cross)
        blocks = [block.mlp for block in (self.z_encoder, *cross) if block is not None]
        return Context(
            bilinear=self.bilinear.matrices(x_mean),
            sources=tuple(layer.attention.keys_values(high, places) for layer in cross),
            mask=mask,
            summary=torch.einsum("bm,bmp->bp", seen.weights, high),
            peak=peak,
            fixed=None if fixed is None or self.z_encoder is None else self._fixed(fixed),
            drops=tuple(self._drop(high, mlp) for mlp in blocks),
            shift=None if self.inject is None else self.inject(pool(high, seen.mask))[:, None],
            proposals=None if self.proposals is None else self.proposals(high, x),
            edges=edges,
        )

    def mark(self, context: Any, u: Tensor) -> Context:
        """The context of particles with marks ``u``, ``(B, N, >= mark_size)``.

        Its shift has ``MLP(u_i)``, and each particle the anchor that it draws by its mark; the
        same context for a network without marks.
        """
        if self.marks is None:
            return context
        shift, anchors = self.marks(u[..., : self.config.marks]), None
        if self.proposals is not None:
            anchors, more = self.proposals.anchors(context.proposals, u)
            shift = shift + more
        shift = shift if context.shift is None else context.shift + shift
        return replace(context, shift=shift, anchors=anchors)

    def step(self, z: PointClouds, context: Context) -> PointClouds:
        """``F_theta(Z, X)`` at the moving particles, ``(B, N, p) -> (B, N, p)``."""
        low = self.z_norm(self.z_project(z.points))  # (B, N, h)
        mean = self._mean(low, z, context.fixed)
        low = self.bilinear_norm(low + Bilinear.with_matrices(low, mean, *context.bilinear))
        h = self.z_lift(low) + z.points
        h = self.z_lift_norm(h if context.shift is None else h + context.shift)  # (B, N, p)
        places = z.points[..., : self.dim]
        drops = list(context.drops)
        if self.z_encoder is not None:
            source, mask = self.z_encoder.attention.keys_values(h, places), _key_mask(z)
            if context.fixed is not None:
                key, value = context.fixed.source
                source = torch.cat([source[0], key], 2), torch.cat([source[1], value], 2)
                mask = torch.cat([mask, context.fixed.mask], 3)
            h = self.z_encoder(h, source, mask, drops.pop(0), places)
        for layer, source, drop in zip(self.cross, context.sources, drops, strict=True):
            h = layer(h, source, context.mask, drop, places)
        h = self.out_norm(h + self.out(h))
        return z.with_points(h if context.anchors is None else relative_to(context.anchors, h))

    def _read(
        self, low: Tensor, x: PointClouds, dense: PointClouds | None
    ) -> tuple[PointClouds, Tensor | None]:
        """What the self-encoder of ``X`` starts from, ``(B, M, ...)``, and the places of that."""
        if self.planes is not None:
            return self.planes(x), None
        if self.groups is None:
            return x.with_points(self._seen(low, x, dense)), x.points
        sampled, order = self.groups.sample(x)
        low = low.gather(1, order[..., None].expand(-1, -1, low.shape[-1]))
        return self.groups(self._seen(low, sampled, dense), sampled), None

    def _seen(self, low: Tensor, x: PointClouds, dense: PointClouds | None) -> Tensor:
        """Projected points and what the network is told beside them, ``(B, M, ...)``."""
        config = self.config
        with full_precision(x.points):  # differences of second moments
            more = [fourier_features(x.points, config.fourier)] if config.fourier else []
            around = [local_moments(x, config.radii, dense)] if config.radii else []
            rims = [rim_features(part, self.dim) for part in around] if config.rims else []
        return torch.cat([low, *more, *around, *rims], dim=-1)

    def _fixed(self, fixed: PointClouds) -> Fixed:
        assert self.z_encoder is not None
        low = self.z_norm(self.z_project(fixed.points))
        places = fixed.points[..., : self.dim]
        return Fixed(
            source=self.z_encoder.attention.keys_values(fixed.points, places),
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
        rate = self.config.dropout
        if not self.training or rate == 0.0:
            return None
        rank, replicas = self.share
        size = (len(like) * replicas, 1, mlp.inner.out_features)
        keep = torch.bernoulli(like.new_full(size, 1.0 - rate))
        return keep[rank::replicas] / (1.0 - rate)


def _width(dim: int, config: Network) -> int:
    """Features that each point of ``X`` brings along."""
    around = moment_count(dim) + (dim + 2 if config.rims else 0)
    return config.bilinear + 2 * config.fourier * dim**2 + len(config.radii) * around


def _encoders(modules: Iterable[nn.Module]) -> list[EncoderLayer]:
    """The layers of a module list, by their type."""
    return [cast(EncoderLayer, module) for module in modules]


def _key_mask(x: PointClouds) -> Tensor:
    """0 at points, ``-inf`` at padding, ``(B, 1, 1, N)``."""
    mask = torch.zeros_like(x.mask, dtype=x.points.dtype).masked_fill(~x.mask, -torch.inf)
    return mask[:, None, None, :]
