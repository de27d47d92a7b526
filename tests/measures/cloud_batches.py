"""Batches that the tests of clouds share."""

import torch

from ddeq import PointClouds


def batch(*sizes, dim=2):
    return PointClouds.from_list([torch.randn(size, dim) for size in sizes])
