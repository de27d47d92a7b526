"""What a network is made of: one frozen record, checked when it is made and saved as JSON."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddeq.errors import DdeqError
from ddeq.nn.checks import flag, number, whole, whole_numbers
from ddeq.registry import Registered

if TYPE_CHECKING:
    from ddeq.nn.base import MeasureNetwork

__all__ = ["Groups", "Network", "NetworkConfig", "Planes"]


@dataclass(frozen=True)
class NetworkConfig(Registered, ABC):
    """A network by its parameters. Subclass it, as a frozen dataclass, for one of your own.

    A model is made from such a record and saved with it; loading looks the class up by its name,
    so its module has to be imported first.
    """

    @abstractmethod
    def build(self, dim: int) -> MeasureNetwork:
        """The network with fresh weights, for clouds in ``R^dim``."""


@dataclass(frozen=True)
class Groups(Registered):
    """Levels of neighbourhood groups over ``X``; see :class:`ddeq.nn.GroupEncoder`.

    Attributes:
        points: Points of each level, not rising; the first is the most that are looked at.
        widths: Features of each level, the first those of the points themselves.
        size: Neighbours ``k`` of an anchor, the anchor among them.
    """

    points: tuple[int, ...] = (512, 256, 128, 64)
    widths: tuple[int, ...] = (32, 64, 96, 128)
    size: int = 16

    def __post_init__(self) -> None:
        points = whole_numbers("groups.points", self.points, 1, 1_000_000)
        widths = whole_numbers("groups.widths", self.widths, 1, 4096)
        whole("groups.size", self.size, 1, 1024)
        if len(points) != len(widths) or not 2 <= len(points) <= 16:
            raise DdeqError(
                f"groups need 2 to 16 levels, got {len(points)} points and {len(widths)} widths"
            )
        if list(points) != sorted(points, reverse=True):
            raise DdeqError(f"groups.points must not rise, got {list(points)}")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "widths", widths)


@dataclass(frozen=True)
class Planes(Registered):
    """Pictures of ``X`` on its coordinate planes; see :class:`ddeq.nn.PlaneEncoder`.

    Attributes:
        size: Cells of a picture along an axis.
        reach: Pictures show ``[-reach, reach]^2``, in deviations of the cloud.
        widths: Channels of each level; each has half as many cells along an axis as the last.
        stride: Of the first convolution.
        blocks: Residual blocks of each level; one of each if empty.
        turns: Turns of a 3-D cloud about z that give two upright planes each.
    """

    size: int = 32
    reach: float = 2.75
    widths: tuple[int, ...] = (16, 32, 64, 128)
    stride: int = 1
    blocks: tuple[int, ...] = ()
    turns: int = 1

    def __post_init__(self) -> None:
        whole("planes.size", self.size, 4, 1024)
        number("planes.reach", self.reach, 1e-3, 1e6)
        widths = whole_numbers("planes.widths", self.widths, 1, 4096)
        whole("planes.stride", self.stride, 1, 8)
        whole("planes.turns", self.turns, 1, 16)
        if not 1 <= len(widths) <= 10:
            raise DdeqError(f"planes.widths needs 1 to 10 levels, got {len(widths)}")
        if self.size % (self.stride << (len(widths) - 1)):
            raise DdeqError(
                f"pictures of {self.size} cells cannot be halved {len(widths) - 1} times "
                f"after a stride of {self.stride}"
            )
        blocks = whole_numbers("planes.blocks", self.blocks, 1, 64)
        if len(blocks) not in (0, len(widths)):
            raise DdeqError(f"planes.blocks needs {len(widths)} levels, got {len(blocks)}")
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "blocks", blocks)

    @property
    def side(self) -> int:
        """Cells of the last level along an axis."""
        return self.size // (self.stride << (len(self.widths) - 1))


@dataclass(frozen=True)
class Network(NetworkConfig):
    """The configuration of :class:`ddeq.nn.EquilibriumNetwork`; the paper's by default.

    The dimension of the points is not part of it: one record serves clouds of any dimension.

    Attributes:
        features: ``p``, dimension of the latent particles.
        bilinear: ``h``, features of the bilinear layer.
        head_size: Features of an attention head; it divides ``p``.
        cross_layers: Layers of the cross-encoder.
        pushforward: Without the interactions between particles of ``Z`` (no ``beta``, no
            self-encoder over ``Z``): then ``F`` acts on each particle by itself.
        dropout: Rate in the feed-forward layers of the encoders, one mask for all particles of a
            cloud, fixed during a solve.
        fourier: Frequencies of :func:`ddeq.nn.fourier_features` that each point of ``X`` brings
            along; none in the paper.
        radii: Radii of :func:`ddeq.nn.local_moments` likewise; none in the paper.
        x_layers: Layers of the self-encoder over ``X``; one in the paper.
        groups: Levels of groups that read ``X`` before its self-encoder. Then particles attend to
            the points of the last level and to one token per level, and are shifted by a summary
            of these. None, as in the paper: they attend to all points.
        planes: Pictures of ``X`` and the convolutions that read them, in place of groups. None, as
            in the paper: no pictures.
        marks: Numbers that the mark of a particle has; 0, as in the paper: no marks. See
            :class:`ddeq.nn.Marks`.
        near: Attention sees distances in space, the first ``d`` features of a particle being its
            place; see :class:`ddeq.nn.Nearness`. Not in the paper.
        expansion: Hidden features of the feed-forward layers over ``p``.
        rims: Each point of ``X`` also brings :func:`ddeq.nn.rim_features` of each radius along.
        proposals: Proposals per point of ``X`` of where points are missing; a particle belongs to
            one of them and its place is relative to it. 0, as in the paper: none. Needs ``marks``,
            which tell the particles of one proposal apart. See :class:`ddeq.nn.Proposals`.
        edges: Each point of ``X`` says whether points are missing beside it, for the estimate of
            how many are; see :class:`ddeq.nn.Edges`.

    Example:
        >>> Network(features=64, fourier=5).build(dim=2).features
        64
    """

    features: int = 128
    bilinear: int = 16
    head_size: int = 4
    cross_layers: int = 3
    pushforward: bool = False
    dropout: float = 0.1
    fourier: int = 0
    radii: tuple[float, ...] = ()
    x_layers: int = 1
    groups: Groups | None = None
    planes: Planes | None = None
    marks: int = 0
    near: bool = False
    expansion: int = 4
    rims: bool = False
    proposals: int = 0
    edges: bool = False

    def __post_init__(self) -> None:
        whole("features", self.features, 1, 4096)
        whole("bilinear", self.bilinear, 1, 256)
        whole("head_size", self.head_size, 1, self.features)
        whole("cross_layers", self.cross_layers, 0, 64)
        flag("pushforward", self.pushforward)
        number("dropout", self.dropout, 0.0, 1.0)
        whole("fourier", self.fourier, 0, 32)
        object.__setattr__(self, "radii", _radii(self.radii))
        whole("x_layers", self.x_layers, 1, 64)
        whole("marks", self.marks, 0, 256)
        flag("near", self.near)
        whole("expansion", self.expansion, 1, 64)
        flag("rims", self.rims)
        whole("proposals", self.proposals, 0, 64)
        flag("edges", self.edges)
        if self.features % self.head_size:
            raise DdeqError(f"head_size {self.head_size} does not divide {self.features} features")
        if self.groups is not None and not isinstance(self.groups, Groups):
            raise DdeqError(f"groups must be Groups or none, got {reprlib.repr(self.groups)}")
        if self.planes is not None and not isinstance(self.planes, Planes):
            raise DdeqError(f"planes must be Planes or none, got {reprlib.repr(self.planes)}")
        if self.planes is not None and (self.fourier or self.radii):
            raise DdeqError("planes exclude fourier and radii: pictures take the place of points")
        for tokens in ("groups", "planes"):
            for name in ("near", "proposals", "edges", *(["groups"] if tokens == "planes" else [])):
                if getattr(self, name) and getattr(self, tokens) is not None:
                    raise DdeqError(
                        f"{name} and {tokens} exclude each other: "
                        f"the tokens of {tokens} have no place"
                    )
        if self.rims and not self.radii:
            raise DdeqError("rims need radii: they are read off the local moments")
        if self.proposals and not self.marks:
            raise DdeqError("proposals need marks, which tell the particles of one apart")

    def build(self, dim: int) -> MeasureNetwork:
        from ddeq.nn.network import EquilibriumNetwork  # which takes this record

        return EquilibriumNetwork(dim, self)


def _radii(values: Any) -> tuple[float, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise DdeqError(f"radii must be a list of numbers, got {reprlib.repr(values)}")
    radii = tuple(number(f"radii[{i}]", value, 0.0, 1e6) for i, value in enumerate(values))
    if 0.0 in radii or len(radii) > 16:
        raise DdeqError(f"radii must be at most 16 positive numbers, got {reprlib.repr(radii)}")
    return radii
