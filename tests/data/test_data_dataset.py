"""The data set type, length buckets and batches."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from ddeq.data import (
    AugmentedDataset,
    CloudDataset,
    LengthBuckets,
    PartialDataset,
    affine,
    collate,
    collate_partial,
    jitter,
    normalize_points,
)


def make(count: int = 30, dim: int = 2, seed: int = 0) -> CloudDataset:
    rng = np.random.default_rng(seed)
    clouds = [rng.normal(3, 2, (int(n), dim)) for n in rng.integers(10, 60, count)]
    return CloudDataset.from_list(clouds, np.arange(count) % 3, ("a", "b", "c"), "made")


def test_items_are_normalised_and_labelled():
    data = make()
    for i, (cloud, label) in enumerate(data):
        assert cloud.dtype == torch.float32
        assert cloud.shape == (data.lengths[i], 2)
        assert cloud.mean(0).abs().max() < 1e-6
        assert (cloud.std(0, unbiased=False) - 1).abs().max() < 1e-5
        assert label == i % 3
    with pytest.raises(IndexError):
        data[30]


def test_flat_coordinates_and_single_points_stay_finite():
    assert normalize_points(np.array([[7.0, 1.0]])).tolist() == [[0.0, 0.0]]
    line = normalize_points(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]], dtype=np.float32))
    assert np.abs(line[:, 0]).max() < 1e-6
    assert line[:, 1].std() == pytest.approx(1)
    far = normalize_points(np.array([[1e6], [1e6 + 1]]))
    assert far.ravel().tolist() == [-1.0, 1.0]


def test_items_in_proportion_have_one_scale():
    data = make().in_proportion()
    for part in (data, data.subset([3, 4]), data.split(0.2)[1], data.only(("b",))):
        cloud, raw = part[0][0].double().numpy(), part.raw(0)
        assert np.abs(cloud.mean(0)).max() < 1e-6
        assert np.square(cloud).mean() == pytest.approx(1)
        assert np.allclose(
            cloud * raw.std(0).astype(float) / cloud.std(0), raw - raw.mean(0), atol=1e-5
        )
        assert cloud.std(0)[0] / cloud.std(0)[1] == pytest.approx(raw.std(0)[0] / raw.std(0)[1])
    changed = AugmentedDataset(data, [jitter], seed=1)[4][0]
    assert float(changed.square().mean()) == pytest.approx(1)
    assert float((changed.std(0, unbiased=False) - 1).abs().max()) > 1e-3
    line = normalize_points(np.array([[0.1, 1.0], [0.1, 3.0]], dtype=np.float32), proportions=True)
    assert line.ravel().tolist() == pytest.approx([0, -(2**0.5), 0, 2**0.5], abs=1e-6)
    assert normalize_points(np.array([[7.0, 1.0]]), proportions=True).tolist() == [[0.0, 0.0]]


def test_subset_split_and_only_keep_labels_with_clouds():
    data = make()
    part = data.subset([5, 2, 9])
    assert part.labels.tolist() == [2, 2, 0]
    assert (part.raw(1) == data.raw(2)).all()
    train, val = data.split(0.2, seed=1)
    assert (len(train), len(val)) == (24, 6)
    sizes = np.concatenate([train.starts, val.starts])
    assert sorted(sizes) == sorted(data.starts)
    assert (data.split(0.2, seed=1)[1].starts == val.starts).all()
    assert (data.split(0.2, seed=2)[1].starts != val.starts).any()
    two = data.only(["c", "a"])
    assert two.classes == ("c", "a")
    assert len(two) == 20
    where = {int(start): i for i, start in enumerate(data.starts)}
    for start, label in zip(two.starts, two.labels, strict=True):
        assert data.classes[data.labels[where[int(start)]]] == two.classes[label]


def test_bad_sets_are_refused():
    with pytest.raises(ValueError, match="2 clouds but 1 labels"):
        CloudDataset.from_list([np.eye(2), np.eye(2)], [0], ("a",), "x")
    with pytest.raises(ValueError, match="labels must lie"):
        CloudDataset.from_list([np.eye(2)], [1], ("a",), "x")
    with pytest.raises(ValueError, match="fraction"):
        make().split(1.0)
    with pytest.raises(ValueError, match="no class"):
        make().only(["z"])


def test_an_empty_cloud_leaves_with_its_label():
    data = CloudDataset.from_list([np.eye(2), np.eye(2)[:0], np.eye(2)], [0, 1, 2], "abc", "x")
    assert data.labels.tolist() == [0, 2]


def test_the_set_can_be_sent_to_a_worker():
    data = make()
    copy = pickle.loads(pickle.dumps(data))
    assert (copy[3][0] == data[3][0]).all()


@settings(deadline=None)
@given(
    lengths=st.lists(st.integers(1, 400), max_size=200),
    batch_size=st.integers(1, 40),
    window=st.integers(1, 5),
    shuffle=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_buckets_cover_each_index_once(lengths, batch_size, window, shuffle, epoch):
    sampler = LengthBuckets(lengths, batch_size, shuffle=shuffle, window=window)
    sampler.set_epoch(epoch)
    batches = list(sampler)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert len(batches) == len(sampler)
    assert sum(len(batch) != batch_size for batch in batches) <= 1
    assert batches == list(sampler)


def test_buckets_drop_last_shares_and_epochs():
    lengths = np.random.default_rng(0).integers(30, 350, 1000)
    sampler = LengthBuckets(lengths, 64, drop_last=True)
    first = list(sampler)
    assert len(first) == len(sampler) == 15
    assert all(len(batch) == 64 for batch in first)
    sampler.set_epoch(1)
    assert list(sampler) != first
    shares = [LengthBuckets(lengths, 66, rank=r, replicas=3) for r in range(3)]
    assert {len(list(share)) for share in shares} == {len(shares[0])} == {16}
    assert {i for share in shares for batch in share for i in batch} == set(range(1000))


def test_shares_make_up_the_batches_of_one_process():
    lengths = np.random.default_rng(0).integers(30, 350, 50)
    whole = list(LengthBuckets(lengths, 8, 3))
    shares = zip(*(LengthBuckets(lengths, 8, 3, rank=r, replicas=4) for r in range(4)), strict=True)
    for batch, parts in zip(whole, shares, strict=True):
        assert len({len(part) for part in parts}) == 1
        dealt = [i for row in zip(*parts, strict=True) for i in row]
        assert dealt[: len(batch)] == batch


def test_buckets_save_padding():
    lengths = np.random.default_rng(0).integers(30, 350, 6400)

    def padded(batches):
        return sum(lengths[batch].max() * len(batch) for batch in batches) / lengths.sum()

    plain = np.random.default_rng(1).permutation(6400).reshape(-1, 64)
    assert padded(plain) > 1.7
    assert padded(LengthBuckets(lengths, 64)) < 1.05


def test_bad_buckets_are_refused():
    with pytest.raises(ValueError, match="batch_size"):
        LengthBuckets([1], 0)
    with pytest.raises(ValueError, match="rank"):
        LengthBuckets([1], 1, rank=2, replicas=2)
    with pytest.raises(ValueError, match="divided among 2"):
        LengthBuckets([1], 3, replicas=2)


def test_collate_through_a_loader():
    data = make()
    loader = DataLoader(data, batch_sampler=LengthBuckets(data.lengths, 8), collate_fn=collate)
    seen = 0
    for clouds, labels in loader:
        assert len(clouds) == len(labels)
        assert labels.dtype == torch.int64
        seen += int(clouds.lengths.sum())
    assert seen == data.lengths.sum()


def test_partial_items_depend_on_seed_and_epoch_alone():
    data = PartialDataset(make(), 0.6, noise=0.2, seed=4)
    item = data[7]
    again = PartialDataset(make(), 0.6, noise=0.2, seed=4)[7]
    assert all(torch.equal(a, b) for a, b in zip(item[:3], again[:3], strict=True))
    assert len(item.partial) + len(item.removed) == len(item.target)
    assert not torch.equal(PartialDataset(make(), 0.6, seed=5)[7].removed, item.removed)
    data.set_epoch(1)
    assert not torch.equal(data[7].removed, item.removed)
    batch = collate_partial([data[i] for i in range(5)]).to("cpu")
    assert (batch.partial.lengths + batch.removed.lengths == batch.target.lengths).all()
    assert batch.labels.tolist() == [0, 1, 2, 0, 1]


def test_augmented_items_are_normalised_and_reproducible():
    data = AugmentedDataset(make(), [affine, jitter], seed=1)
    cloud, label = data[4]
    assert label == 1
    assert cloud.mean(0).abs().max() < 1e-5
    assert (cloud.std(0, unbiased=False) - 1).abs().max() < 1e-4
    assert torch.equal(cloud, AugmentedDataset(make(), [affine, jitter], seed=1)[4][0])
    tasks = PartialDataset(data, 0.6)
    before = tasks[4].target
    tasks.set_epoch(2)
    assert not torch.equal(tasks[4].target, before)
