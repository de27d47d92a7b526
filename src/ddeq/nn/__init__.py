"""The equilibrium network and its layers."""

from ddeq.nn.base import EquilibriumMap, MeasureNetwork
from ddeq.nn.bilinear import Bilinear
from ddeq.nn.config import Groups, Network, NetworkConfig, Planes
from ddeq.nn.coupling import Coupling
from ddeq.nn.edges import Edges
from ddeq.nn.features import fourier_features, local_moments, rim_features
from ddeq.nn.groups import GroupEncoder, farthest_points
from ddeq.nn.layers import MLP, Attention, EncoderLayer
from ddeq.nn.marks import Marks
from ddeq.nn.nearness import Nearness
from ddeq.nn.network import Context, EquilibriumNetwork
from ddeq.nn.planes import PlaneEncoder, plane_pictures
from ddeq.nn.proposals import ProposalMixture, Proposals
from ddeq.nn.share import BoundedShare, MissingShare

__all__ = [
    "MLP",
    "Attention",
    "Bilinear",
    "BoundedShare",
    "Context",
    "Coupling",
    "Edges",
    "EncoderLayer",
    "EquilibriumMap",
    "EquilibriumNetwork",
    "GroupEncoder",
    "Groups",
    "Marks",
    "MeasureNetwork",
    "MissingShare",
    "Nearness",
    "Network",
    "NetworkConfig",
    "PlaneEncoder",
    "Planes",
    "ProposalMixture",
    "Proposals",
    "farthest_points",
    "fourier_features",
    "local_moments",
    "plane_pictures",
    "rim_features",
]
