"""Classification: the class of a cloud is read off its equilibrium."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ddeq.adjoints import Adjoint
from ddeq.errors import DdeqError
from ddeq.measures.clouds import PointClouds
from ddeq.models.base import ParticleModel, chosen_network
from ddeq.models.inputs import CloudsLike, as_clouds
from ddeq.nn import Network, NetworkConfig
from ddeq.nn.checks import flag, number, whole
from ddeq.nn.pose import quarter_turns, square_up
from ddeq.solvers import Solver

__all__ = ["UP", "Classifier"]

UP = ("z", "y", "auto")
"""Which axis of a 3-D cloud points up: ``auto`` tries both, see :meth:`Classifier.uprightness`."""


class Classifier(ParticleModel):
    """``logits = Linear(pool(Z*))``, ``Z*`` the equilibrium of ``particles`` latent particles.

    Args:
        dim: ``d``, dimension of the points.
        num_classes: ``C``.
        particles: ``N``, latent particles.
        proportions: Bring clouds to unit variance by one scale for all coordinates, which keeps
            their proportions; otherwise coordinate by coordinate, as in the paper.
        azimuth: 3-D clouds may stand in any azimuth: they are turned about z to their tightest
            footprint, see :func:`ddeq.nn.pose.square_up`.
        poses: 1, 2 or 4: the mean of the probabilities is taken over so many poses of a 3-D cloud,
            evenly over a whole turn about z.
        mean: The head reads the mean of the particles beside their maximum.
        temperature: Logits are divided by it where probabilities are asked for, see
            :func:`ddeq.inference.recognise`; it is fitted on held-out clouds.
        unfamiliar: Clouds of a higher energy, see :meth:`energy`, are unlike the training data;
            None if that is not known.
        up: One of :data:`UP`: how a user's 3-D clouds stand if nothing is said.
        upright: Has weights that tell upright clouds from lying ones, see :meth:`uprightness`; they
            are fitted when the network is trained.
        classes: Names of the classes, for people.
        network: Configuration of the network; the paper's with one cross layer by default (its
            ModelNet40 classifier has three).
        solver: Finds the equilibrium.
        adjoint: Forms the gradient.
        options: Fields of :class:`ddeq.nn.Network`, in place of ``network``.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> Classifier(dim=2, num_classes=10)(x).shape
        torch.Size([2, 10])
    """

    kind: ClassVar[str] = "classifier"

    def __init__(
        self,
        dim: int,
        num_classes: int,
        *,
        particles: int = 10,
        proportions: bool = False,
        azimuth: bool = False,
        poses: int = 1,
        mean: bool = False,
        temperature: float = 1.0,
        unfamiliar: float | None = None,
        up: str = "z",
        upright: bool = False,
        classes: list[str] | None = None,
        network: NetworkConfig | None = None,
        solver: Solver | None = None,
        adjoint: Adjoint | None = None,
        **options: Any,
    ) -> None:
        config = chosen_network(network, Network(cross_layers=1), options)
        super().__init__(dim, particles, config, solver, adjoint)
        whole("num_classes", num_classes, 1, 100_000)
        if classes is not None and len(classes) != num_classes:
            raise DdeqError(f"{len(classes)} names for {num_classes} classes")
        _check_poses(dim, azimuth, poses, up)
        if not number("temperature", temperature, 0.0, 1e6) > 0:
            raise DdeqError(f"temperature must be positive, got {temperature!r}")
        self.temperature, self.up = temperature, up
        self.unfamiliar = unfamiliar
        self.proportions = flag("proportions", proportions)
        self.azimuth, self.poses = flag("azimuth", azimuth), poses
        self.mean = flag("mean", mean)
        self.classes = classes or [str(label) for label in range(num_classes)]
        self.head = nn.Linear((2 if mean else 1) * self.network.features, num_classes)
        self.upright = (
            nn.Linear(self.network.features, 1, bias=False) if flag("upright", upright) else None
        )
        self.eval()

    def forward(self, x: CloudsLike, seed: int = 0) -> Tensor:
        """Logits, ``(B, C)``.

        Args:
            x: Clouds in any units, which are normalised first, and in any form of
                :func:`ddeq.models.as_clouds`.
            seed: Of the particles.
        """
        views = self.views(x, seed)
        return views[0] if self.poses == 1 else views.log_softmax(-1).logsumexp(0)

    def views(self, x: CloudsLike, seed: int = 0) -> Tensor:
        """Logits of each pose, ``(poses, B, C)``; see :meth:`forward`."""
        x = as_clouds(x)
        turned = quarter_turns(x, self.poses) if self.poses > 1 else [x]
        return torch.stack([self.logits(self.latent(view, seed)[0]) for view in turned])

    def energy(self, views: Tensor) -> Tensor:
        """``-log sum_c exp(l_c)`` of the mean logits of all poses: high for an unfamiliar cloud.

        Args:
            views: From :meth:`views`, ``(poses, B, C)``.

        Returns:
            ``(B,)``.
        """
        return -views.mean(0).logsumexp(-1)

    def uprightness(self, x: CloudsLike, seed: int = 0) -> Tensor:
        """How much clouds look as if they stood upright, ``(B,)``.

        ``w . c``, with the largest features ``c`` of the encoded points, where the model has such
        weights; otherwise minus the energy.
        """
        if self.upright is None:
            return -self.energy(self.views(x, seed))
        return self.upright(self.encode(x).context.peak)[:, 0]

    def frame(self, x: PointClouds) -> PointClouds:
        """Clouds in any units as the network takes them."""
        given = x.points.dtype
        if self.proportions and x.points.device.type != "mps":
            x = x.to(torch.float64)  # rounded back, the order of points leaves no trace in them
        x = x.normalize(self.proportions)[0].to(given)
        return square_up(x) if self.azimuth else x

    def logits(self, z: PointClouds) -> Tensor:
        """``Linear(max(Z))``, or of maximum and mean, ``(B, N, p) -> (B, C)``."""
        most = z.points.masked_fill(~z.mask[..., None], -torch.inf).amax(1)
        if not self.mean:
            return self.head(most)
        return self.head(torch.cat([most, torch.einsum("bn,bnp->bp", z.weights, z.points)], -1))

    def config(self) -> dict[str, Any]:
        return {
            **super().config(),
            "num_classes": self.head.out_features,
            "proportions": self.proportions,
            "azimuth": self.azimuth,
            "poses": self.poses,
            "mean": self.mean,
            "temperature": self.temperature,
            "unfamiliar": self.unfamiliar,
            "up": self.up,
            "upright": self.upright is not None,
            "classes": self.classes,
        }


def _check_poses(dim: int, azimuth: bool, poses: int, up: str) -> None:
    """Refuses poses that clouds of this dimension do not have."""
    if poses not in (1, 2, 4):
        raise DdeqError(f"poses must be 1, 2 or 4, got {poses!r}")
    if (azimuth or poses > 1) and dim != 3:
        raise DdeqError(f"azimuth and poses need points in 3 dimensions, got {dim}")
    if up not in UP or (up != "z" and dim != 3):
        raise DdeqError(f"up must be one of {', '.join(UP)}, z but in 3 dimensions: {up!r}")
