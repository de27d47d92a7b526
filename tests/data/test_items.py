"""Items of data sets: counted from the end too, each with random numbers of its own."""

import numpy as np
import pytest
import torch

from ddeq.data import AugmentedDataset, CloudDataset, PartialDataset, item_rng, jitter
from ddeq.errors import DdeqError


def whole(count: int = 5) -> CloudDataset:
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(30, 2)) for _ in range(count)]
    return CloudDataset.from_list(clouds, np.arange(count) % 2, ("a", "b"), "noise")


@pytest.mark.parametrize(
    "make", [lambda d: AugmentedDataset(d, [jitter]), lambda d: PartialDataset(d, 0.5)]
)
def test_items_are_the_same_counted_from_the_end(make) -> None:
    data = make(whole())
    for index in range(5):
        for ours, theirs in zip(data[index], data[index - 5], strict=True):
            assert torch.equal(torch.as_tensor(ours), torch.as_tensor(theirs))


def test_each_item_is_changed_by_its_own_numbers() -> None:
    seen = []

    def note(cloud: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
        seen.append(float(rng.random()))
        return cloud

    data = AugmentedDataset(whole(), [note], seed=3)
    for index in (0, 1, -1):
        data[index]
    data.set_epoch(2)
    data[0]
    places = ((0, 0), (1, 0), (4, 0), (0, 2))
    assert seen == [float(item_rng(3, i, epoch, stream=1).random()) for i, epoch in places]
    assert len(set(seen)) == 4


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, 1.5])
def test_a_part_is_neither_nothing_nor_all(fraction: float) -> None:
    with pytest.raises(DdeqError, match="strictly between 0 and 1"):
        whole().split(fraction)


@pytest.mark.parametrize(("fraction", "held_out"), [(0.01, 1), (0.4, 2), (0.99, 4)])
def test_each_part_has_a_cloud(fraction: float, held_out: int) -> None:
    train, validation = whole().split(fraction)
    assert (len(train), len(validation)) == (5 - held_out, held_out)
    starts = sorted([*train.starts.tolist(), *validation.starts.tolist()])
    assert starts == whole().starts.tolist()


def test_one_cloud_cannot_be_split() -> None:
    with pytest.raises(DdeqError, match="1 clouds cannot be split"):
        whole(1).split(0.5)
    assert [len(part) for part in whole(2).split(0.5)] == [1, 1]
