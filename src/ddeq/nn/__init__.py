"""The equilibrium network and its layers."""

from ddeq.nn.bilinear import Bilinear
from ddeq.nn.coupling import Coupling
from ddeq.nn.layers import MLP, Attention, EncoderLayer
from ddeq.nn.network import Context, EquilibriumMap, EquilibriumNetwork
from ddeq.nn.surroundings import neighbourhoods, octaves

__all__ = [
    "MLP",
    "Attention",
    "Bilinear",
    "Context",
    "Coupling",
    "EncoderLayer",
    "EquilibriumMap",
    "EquilibriumNetwork",
    "neighbourhoods",
    "octaves",
]
