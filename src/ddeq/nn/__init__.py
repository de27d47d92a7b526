"""The equilibrium network and its layers."""

from ddeq.nn.bilinear import Bilinear
from ddeq.nn.coupling import Coupling
from ddeq.nn.features import neighbourhoods, octaves
from ddeq.nn.layers import MLP, Attention, EncoderLayer
from ddeq.nn.network import Context, EquilibriumMap, EquilibriumNetwork

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
