"""Batches that are distributed among several processes.

Process ``r`` of ``R`` has the clouds ``r, r + R, r + 2R, ...`` of every batch; see
:class:`ddeq.data.LengthBuckets`. Whatever is drawn at random for a batch is drawn by each process
for the whole batch, and it takes its part of that too: so all together do what one would.
"""

from __future__ import annotations

import os

import torch.distributed as dist

from ddeq.measures.clouds import PointClouds

__all__ = ["gather_clouds", "rank"]


def gather_clouds(clouds: PointClouds) -> PointClouds:
    """The clouds of all processes in the order of the whole batch, on each of them.

    Args:
        clouds: The part of this process, with as many clouds as the others have.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return clouds
    parts: list[list] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(parts, clouds.to("cpu").to_list())
    return PointClouds.from_list([cloud for row in zip(*parts, strict=True) for cloud in row])


def rank() -> int:
    """Which of the processes among which the batches are distributed this is."""
    for name in ("RANK", "SLURM_PROCID"):
        if name in os.environ:
            return int(os.environ[name])
    return max(int(os.environ.get(name, 0)) for name in ("LOCAL_RANK", "NODE_RANK"))
