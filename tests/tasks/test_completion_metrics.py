"""Metrics of completed clouds, some of which got no new point."""

import pytest
import torch

from ddeq import PointClouds
from ddeq.data.batching import PartialBatch
from ddeq.tasks.completion import completion_metrics


@pytest.mark.parametrize("lengths", [[3, 0], [0, 0], [2, 3]])
def test_clouds_without_new_points_have_metrics_of_the_whole_alone(lengths: list[int]) -> None:
    partial = PointClouds.from_list([torch.randn(20, 3), torch.randn(18, 3)])
    removed = PointClouds.from_list([torch.randn(5, 3), torch.randn(4, 3)])
    batch = PartialBatch(partial, removed, partial.cat(removed), torch.zeros(2))
    mask = torch.arange(3)[None] < torch.tensor(lengths)[:, None]
    found = completion_metrics(batch, PointClouds(torch.randn(2, 3, 3), mask))
    for name, values in found.items():
        count = sum(n > 0 for n in lengths) if name.endswith("free") else 2
        assert values.shape == (count,)
        assert values.isfinite().all()
