"""What completers are made of: free particles beside the fixed ones of a partial cloud."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ddeq.adjoints import Adjoint
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import EquilibriumModel, gaussian_particles
from ddeq.models.inputs import CloudsLike, as_clouds
from ddeq.models.sampling import Sampling, some_points
from ddeq.nn import (
    MLP,
    BoundedShare,
    Coupling,
    EquilibriumMap,
    MissingShare,
    NetworkConfig,
)
from ddeq.nn.base import full_precision
from ddeq.nn.checks import flag, number
from ddeq.registry import from_json, to_json
from ddeq.solvers import Solver

__all__ = ["FreeParticles"]


class FreeParticles(EquilibriumModel):
    """``F_theta(., X)`` over free particles, those of ``X`` fixed; see :class:`ddeq.Completer`.

    Args:
        dim: See :class:`ddeq.Completer`.
        network: See :class:`ddeq.Completer`.
        solver: See :class:`ddeq.Completer`.
        adjoint: See :class:`ddeq.Completer`.
        ratio: See :class:`ddeq.Completer`.
        estimate: See :class:`ddeq.Completer`.
        empty: See :class:`ddeq.Completer`.
        proportions: See :class:`ddeq.Completer`.
        trust: See :class:`ddeq.Completer`.
        sampling: See :class:`ddeq.Completer`.
    """

    def __init__(
        self,
        dim: int,
        network: NetworkConfig,
        solver: Solver | None,
        adjoint: Adjoint | None,
        *,
        ratio: float,
        estimate: bool,
        empty: bool,
        proportions: bool,
        trust: bool,
        sampling: Sampling | None,
    ) -> None:
        super().__init__(dim, network, solver, adjoint)
        if not number("ratio", ratio, 0.0, 100.0) > 0:
            raise DdeqError(f"ratio must be positive, got {ratio}")
        if flag("empty", empty) and not flag("estimate", estimate):
            raise DdeqError("empty needs estimate: a fixed ratio is never zero")
        self.ratio = ratio
        self.proportions = flag("proportions", proportions)
        self.sampling = Sampling() if sampling is None else sampling
        features = self.network.features
        self.coupling = Coupling(features)
        self.missing: BoundedShare | MissingShare | None = None
        if estimate and empty:
            edges = getattr(self.network, "edges", None)
            self.missing = MissingShare(features, ratio, 0 if edges is None else edges.numbers)
        elif estimate:
            self.missing = BoundedShare(features, ratio)
        self.trust = MLP(features, features // 2, 1) if flag("trust", trust) else None

    def encode(self, x: CloudsLike, dense: PointClouds | None = None) -> EquilibriumMap:
        """``F_theta(., X)`` with the points of ``X`` as fixed particles.

        Args:
            x: See :meth:`forward`.
            dense: Denser samples of the clouds, for a network that looks at more points than it
                encodes; see :meth:`ddeq.nn.EquilibriumNetwork.encode`. By default ``x``, of which
                ``sampling.reads`` points are encoded.
        """
        x = as_clouds(x).to(self._like.dtype)
        if dense is None and self.sampling.reads:
            x, dense = self.read(x), x
        more = {} if dense is None else {"dense": dense.to(self._like.dtype)}
        return self.network.bind(self.network.encode(x, x.map(self.coupling.lift), **more))

    def shares(self, f: EquilibriumMap) -> Tensor:
        """How many points are missing for each point there is, ``(B,)``.

        ``ratio``, or with ``estimate`` a value from ``ratio / e`` to ``e ratio`` that is read off
        the encoded cloud: in the frame of the whole the mean and the variance of what is left tell
        how much was taken away, and elsewhere its shape does. With ``empty`` it can be 0.

        Args:
            f: From :meth:`encode`.
        """
        context = f.context
        if self.missing is None:
            return context.summary.new_full((len(context.summary),), self.ratio)
        return self.missing.share(context.summary, context.peak, self.sampling.sure)

    def read(self, x: PointClouds) -> PointClouds:
        """The points of clouds that are encoded: all, or ``sampling.reads`` of them."""
        return some_points(x, self.sampling.reads) if self.sampling.reads else x

    def noise(self, counts: Tensor, seed: int) -> PointClouds:
        """What tells free particles apart, standard normal, ``(B, max(counts, 1), >= d)``.

        The first ``d`` numbers of a row say where a particle starts; the first ``mark_size`` are
        its mark.
        """
        return gaussian_particles(counts, max(self.dim, self.network.mark_size), seed, self._like)

    def start(
        self, x: PointClouds, noise: PointClouds, f: EquilibriumMap | None = None
    ) -> PointClouds:
        """Lifted particles, ``(B, N, p)``.

        Those of :meth:`noise` with the mean and deviation of ``x``, or the anchors that marked
        particles have in ``f``, if its network has proposals.
        """
        anchors = None if f is None else getattr(f.context, "anchors", None)
        drawn = noise.points[..., : self.dim]
        with full_precision(drawn):
            if anchors is None:
                x = x.to(drawn.dtype)
                anchors = x.mean()[:, None] + drawn * x.std()[:, None]
            return noise.with_points(anchors).map(self.coupling.lift)

    def expected_distances(self, z: PointClouds) -> Tensor:
        """How far from the surface the model expects new points, in its frame, ``(B, N)``.

        Args:
            z: Latent particles at equilibrium.

        Raises:
            DdeqError: for a model that was made without ``trust``.
        """
        return self.log_distances(z).exp()

    def log_distances(self, z: PointClouds) -> Tensor:
        """Logarithms of :meth:`expected_distances`, which training compares, ``(B, N)``."""
        if self.trust is None:
            raise DdeqError("this model has no trust head: it does not say how sure it is")
        return self.trust(z.points)[..., 0]

    @property
    def _like(self) -> Tensor:
        """A tensor on the device and in the precision of the parameters."""
        return self.coupling.psi.inner.weight

    def points(self, z: PointClouds) -> PointClouds:
        """The points of latent particles: the first ``d`` coordinates of ``q^-1(z)``.

        These lie in the half that ``q`` leaves alone, so ``q^-1`` need not be computed for them.
        """
        return z.with_points(z.points[..., : self.dim])

    def config(self) -> dict[str, Any]:
        return {
            **super().config(),
            "ratio": self.ratio,
            "estimate": self.missing is not None,
            "empty": isinstance(self.missing, MissingShare),
            "proportions": self.proportions,
            "trust": self.trust is not None,
            "sampling": to_json(self.sampling),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> EquilibriumModel:
        sampling = config.get("sampling")
        parsed = None if sampling is None else from_json(sampling, Sampling)
        return super().from_config({**config, "sampling": parsed})
