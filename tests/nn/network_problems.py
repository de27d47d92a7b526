"""Inputs and particles that the tests of networks share."""

import torch

from ddeq import PointClouds


def problem(clouds, seed):
    """Inputs, free and fixed particles for a network with 8 features."""
    torch.manual_seed(seed)
    x = PointClouds.from_list(clouds)
    z, fixed = (
        PointClouds.from_list(
            [torch.randn(1 + (len(c) * k + b) % 5, 8).double() for b, c in enumerate(clouds)]
        )
        for k in (1, 3)
    )
    return x, z, fixed
