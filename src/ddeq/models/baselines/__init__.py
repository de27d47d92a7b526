"""What a user would pick instead, networks and none: what our models are measured against."""

from ddeq.models.baselines.deepsets import DeepSets
from ddeq.models.baselines.dgcnn import DGCNN
from ddeq.models.baselines.guesses import (
    copy_visible,
    gaussian_guess,
    mirror_visible,
    moment_gaussian,
    nothing,
)
from ddeq.models.baselines.pcn import PCN
from ddeq.models.baselines.point_transformer import PointTransformer
from ddeq.models.baselines.pointnet import PointNet
from ddeq.models.baselines.retrieval import Retrieval
from ddeq.models.baselines.set_transformer import SetTransformer

__all__ = [
    "DGCNN",
    "PCN",
    "DeepSets",
    "PointNet",
    "PointTransformer",
    "Retrieval",
    "SetTransformer",
    "copy_visible",
    "gaussian_guess",
    "mirror_visible",
    "moment_gaussian",
    "nothing",
]
