"""Completion: free particles flow to where a partial cloud lacks points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ddeq.adjoints import Adjoint
from ddeq.data.upsample import upsample
from ddeq.data.view import FramedClouds
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import chosen_network, outside_inference_mode
from ddeq.models.filling import Filling, fill
from ddeq.models.free_particles import FreeParticles
from ddeq.models.inputs import CloudsLike, as_clouds, as_given
from ddeq.models.sampling import Sampling
from ddeq.nn import EquilibriumMap, Network, NetworkConfig
from ddeq.nn.base import full_precision
from ddeq.solvers import Solver
from ddeq.solvers.solution import Solution

__all__ = ["MOST_ADDED", "Completer"]

MOST_ADDED = 4_000_000
"""New points per cloud if no number is asked for: what memory is there for."""

_EDGE = 1e-3  # far more than padding changes


class Completer(FreeParticles):
    """Adds points to a partial cloud; every point of the input stays as it is.

    The input's points, lifted by an invertible coupling ``q``, are fixed particles; free particles
    start from a Gaussian with the input's mean and deviation and flow to the equilibrium of
    ``F_theta(., X)``; the first ``d`` coordinates of ``q^-1(Z*)`` are the new points.

    Args:
        dim: ``d``, dimension of the points.
        ratio: Free particles for each input point.
        estimate: Estimate that number from the cloud, around ``ratio``; see :meth:`shares`.
        empty: With ``estimate``: the model can find that nothing is missing, and then adds nothing;
            see :class:`ddeq.nn.MissingShare`.
        proportions: :meth:`complete` brings clouds to unit size by one scale for all coordinates;
            otherwise each coordinate gets unit variance.
        trust: The model says of each new point how far from the surface it expects it to be; see
            :meth:`expected_distances`.
        sampling: How new points are drawn from the model at use; all at once by default.
        network: Configuration of the network; the paper's by default.
        solver: Finds the equilibrium.
        adjoint: Forms the gradient.
        options: Fields of :class:`ddeq.nn.Network`, in place of ``network``.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> full = Completer(dim=2).complete(x, seed=0)
        >>> full.lengths.tolist()
        [89, 52]
        >>> bool((full.to_list()[0][:70] == x.to_list()[0]).all())
        True
    """

    kind: ClassVar[str] = "completer"

    def __init__(
        self,
        dim: int,
        *,
        ratio: float = 0.275,
        estimate: bool = False,
        empty: bool = False,
        proportions: bool = False,
        trust: bool = False,
        sampling: Sampling | None = None,
        network: NetworkConfig | None = None,
        solver: Solver | None = None,
        adjoint: Adjoint | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            dim,
            chosen_network(network, Network(), options),
            solver,
            adjoint,
            ratio=ratio,
            estimate=estimate,
            empty=empty,
            proportions=proportions,
            trust=trust,
            sampling=sampling,
        )
        self.eval()

    def forward(self, x: CloudsLike, seed: int = 0, counts: Tensor | None = None) -> PointClouds:
        """The new points of clouds that are in the network's frame already, ``(B, N, d)``.

        Args:
            x: Partial clouds in units in which the whole has about unit variance; see
                :func:`ddeq.models.as_clouds` for the forms they may have.
            seed: Of the free particles.
            counts: How many new points per cloud, ``(B,)``; :meth:`counts` by default.
        """
        return self.points(self.latent(x, seed, counts)[0])

    def counts(
        self, x: PointClouds, sizes: Tensor | None = None, f: EquilibriumMap | None = None
    ) -> Tensor:
        """How many points are missing, up to :data:`MOST_ADDED`, ``(B,)``.

        Padding changes the last bits of an estimate. Where these decide, at the edge of rounding,
        the cloud is encoded once more by itself, so that the number does not depend on the batch.

        Args:
            x: See :meth:`forward`.
            sizes: How many points each cloud has, ``(B,)``, if ``x`` is a subsample.
            f: What :meth:`encode` gives for ``x``, if it is at hand.
        """
        sizes = x.lengths if sizes is None else sizes
        shares = torch.full_like(sizes, self.ratio, dtype=torch.float64)
        least = 1
        if self.missing is not None:
            least = self.missing.least
            with torch.no_grad():
                f = self.encode(x) if f is None else f
                shares = self.shares(f).to(shares)
                for i in torch.nonzero(self._at_an_edge(f, x, shares * sizes))[:, 0].tolist():
                    shares[i] = self._share_alone(x.to_list()[i])
        return (shares * sizes).round().long().clamp(least, MOST_ADDED)

    def _at_an_edge(self, f: EquilibriumMap, x: PointClouds, wanted: Tensor) -> Tensor:
        """Clouds whose number the rounding of a batch could change, ``(B,)`` bool."""
        assert self.missing is not None
        close = ((wanted % 1.0) - 0.5).abs() <= _EDGE + 1e-5 * wanted
        close = close | self.missing.undecided(f.context.summary, f.context.peak, _EDGE)
        return close & bool(len(x) > 1 or not x.mask.all())

    def _share_alone(self, cloud: Tensor) -> Tensor:
        """The estimated share of one cloud ``(N, d)``, ``()``."""
        return self.shares(self.encode(PointClouds.from_tensor(cloud[None].to(self._like))))[0]

    def latent(
        self,
        x: CloudsLike,
        seed: int = 0,
        counts: Tensor | None = None,
        save_every: int | None = None,
        start: PointClouds | None = None,
        f: EquilibriumMap | None = None,
    ) -> tuple[PointClouds, Solution]:
        """The free particles at equilibrium, ``(B, N, p)``, and how it was found.

        Args:
            x: See :meth:`forward`.
            seed: See :meth:`forward`.
            counts: See :meth:`forward`.
            save_every: See :meth:`ddeq.solvers.Solver.solve`.
            start: Latent particles to start from, ``(B, N, p)``, such as another solution's
                ``value``; the Gaussian ones of the seed by default.
            f: What :meth:`encode` gives for ``x``, if it is at hand.
        """
        with outside_inference_mode():
            x = as_clouds(x)
            x = PointClouds(x.points.clone(), x.mask.clone())
            f = self.encode(x) if f is None else f
            if start is None:
                if counts is None:
                    counts = self.counts(x, f=f).clamp(max=self.sampling.solved)
                noise = self.noise(self._counts(x, counts), seed)
                f = f.mark(noise.points)
                start = self.start(x, noise, f)
            else:  # a row of marks for every row of the start, padding or not
                noise = self.noise(torch.full_like(x.lengths, start.points.shape[1]), seed)
                f = f.mark(noise.points)
            return self.equilibrium(f, start, save_every)

    @torch.no_grad()
    def complete(
        self,
        x: CloudsLike,
        seed: int = 0,
        counts: Tensor | None = None,
        normalize: bool = True,
    ) -> Any:
        """Completes clouds in any units: the input bit for bit, then the new points.

        Args:
            x: Partial clouds in any form of :func:`ddeq.models.as_clouds`. The result has the same
                form and precision: a list for a list, an array for an array ``(N, d)``, a pair
                ``(points, batch)`` for a ragged batch.
            seed: Of the free particles.
            counts: How many new points per cloud, ``(B,)``; :meth:`counts` by default.
            normalize: Show the network a subsample of each cloud at zero mean and unit variance,
                and bring its new points back; see :meth:`new_points`. Turn it off for clouds that
                are in the frame of their known whole.
        """
        given, x = x, as_clouds(x)
        if not normalize:
            return as_given(x.cat(self(x, seed, counts).to(x.points.dtype)), given)
        clouds = x.detach().to_list()
        new = self.new_points([_array(cloud) for cloud in clouds], seed, counts)
        full = [
            torch.cat([cloud, torch.from_numpy(points).to(cloud)])
            for cloud, points in zip(clouds, new, strict=True)
        ]
        return as_given(PointClouds.from_list(full), given)

    @torch.no_grad()
    def new_points(
        self, clouds: Sequence[np.ndarray], seed: int = 0, counts: Tensor | None = None
    ) -> list[np.ndarray]:
        """The new points of partial clouds in any units, each ``(M_i, d)``.

        Args:
            clouds: ``B`` floating arrays ``(N_i, d)``, each of its own size, units and precision.
            seed: Of the free particles.
            counts: How many new points per cloud, ``(B,)``; :meth:`counts` by default.
        """
        with full_precision(self._like):
            framed = FramedClouds.of(clouds, self._like, self.proportions)
        f = self.encode(framed.x)
        counts = self._counts(framed.x, counts, framed.sizes, f)
        found = framed.invert([part.points for part in self.fill(framed.x, counts, seed, f=f)])
        return [upsample(new, int(n), seed) for new, n in zip(found, counts, strict=True)]

    @torch.no_grad()
    def fill(
        self,
        x: PointClouds,
        counts: Tensor,
        seed: int = 0,
        watch: bool = False,
        f: EquilibriumMap | None = None,
    ) -> list[Filling]:
        """The new points of each cloud in the network's frame, as far as they are solved for.

        Args:
            x: See :meth:`forward`.
            counts: How many new points per cloud, ``(B,)``; of these at most ``sampling.solved``
                are solved for.
            seed: Of the free particles.
            watch: Whether to keep the iterates.
            f: What :meth:`encode` gives for ``x``, if it is at hand.
        """
        return fill(self, x, counts.clamp(max=self.sampling.solved), seed, watch, f)

    def _counts(
        self,
        x: PointClouds,
        counts: Tensor | None,
        sizes: Tensor | None = None,
        f: EquilibriumMap | None = None,
    ) -> Tensor:
        if counts is None:
            return self.counts(x, sizes, f)
        if counts.shape != (len(x),) or not bool((counts >= 0).all()):
            raise DdeqError(f"counts must be {len(x)} integers, none negative, one per cloud")
        return counts.to(x.lengths)


def _array(cloud: Tensor) -> np.ndarray:
    """A cloud as an array, ``(N, d)``; numpy has no bfloat16."""
    return (cloud.float() if cloud.dtype == torch.bfloat16 else cloud).cpu().numpy()
