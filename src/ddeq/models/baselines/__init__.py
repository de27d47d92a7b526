"""What a user would pick instead: PointNet for classification, PCN for completion."""

from ddeq.models.baselines.pcn import PCN
from ddeq.models.baselines.pointnet import PointNet

__all__ = ["PCN", "PointNet"]
