"""MNIST-pc from idx and CSV files, and the embedded digits."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from ddeq.data.sets.mini import load_mini, make_mini
from ddeq.data.sets.mnist import images_to_clouds, load_mnist, read_csv, read_idx

DATA = os.environ.get("DDEQ_DATA")
PREFIX = {"train": "train", "test": "t10k"}


def digits(count: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    images = rng.integers(1, 256, (count, 28, 28)) * (rng.random((count, 28, 28)) < 0.2)
    return images.astype(np.uint8), (np.arange(count) % 10).astype(np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


def write_idx(root: Path, images: np.ndarray, labels: np.ndarray, split: str, packed: bool) -> None:
    root.mkdir(exist_ok=True, parents=True)
    arrays = {"images-idx3": images, "labels-idx1": labels}
    for what, array in arrays.items():
        data = idx_bytes(array)
        name = f"{PREFIX[split]}-{what}-ubyte" + (".gz" if packed else "")
        (root / name).write_bytes(gzip.compress(data) if packed else data)


def write_csv(path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    width = max(int((image > 0).sum()) for image in images)
    lines = ["label," + ",".join(f"x{i},y{i},v{i}" for i in range(width))]
    for image, label in zip(images, labels, strict=True):
        row, column = np.nonzero(image)
        points = [(c, 27 - r, image[r, c]) for r, c in zip(row, column, strict=True)]
        points += [(-1, -1, -1)] * (width - len(points))
        lines.append(",".join([str(label), *(str(v) for point in points for v in point)]))
    path.write_text("\n".join(lines) + "\n")


def rebuilt(cloud: np.ndarray) -> np.ndarray:
    image = np.zeros((28, 28), dtype=bool)
    column, row = cloud.astype(int).T
    image[27 - row, column] = True
    return image


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("folder", ["mnist", "."])
def test_idx_round_trip(tmp_path, split, packed, folder):
    images, labels = digits()
    write_idx(tmp_path / folder, images, labels, split, packed)
    data = load_mnist(tmp_path, split)
    assert len(data) == len(images)
    assert data.labels.tolist() == labels.tolist()
    for image, cloud in zip(images, data.clouds, strict=True):
        assert (rebuilt(cloud) == (image > 0)).all()
        assert len(cloud) == (image > 0).sum()


def test_csv_round_trip_agrees_with_idx(tmp_path):
    images, labels = digits()
    write_csv(tmp_path / "train.csv", images, labels)
    write_idx(tmp_path / "other", images, labels, "train", True)
    table, idx = load_mnist(tmp_path, "train"), load_mnist(tmp_path / "other", "train")
    assert table.labels.tolist() == idx.labels.tolist()
    assert (table.points == idx.points).all()
    assert (table.lengths == idx.lengths).all()


def test_a_point_is_column_and_upward_row():
    image = np.zeros((1, 28, 28), dtype=np.uint8)
    image[0, 2, 5] = 9
    points, lengths = images_to_clouds(image)
    assert points.tolist() == [[5, 25]]
    assert lengths.tolist() == [1]


@pytest.mark.parametrize("source", ["idx", "csv"])
def test_an_empty_image_leaves_with_its_label(tmp_path, source):
    images, labels = digits(12)
    images[4] = 0
    if source == "idx":
        write_idx(tmp_path, images, labels, "train", True)
    else:
        write_csv(tmp_path / "train.csv", images, labels)
    data = load_mnist(tmp_path, "train")
    kept = [i for i in range(12) if i != 4]
    assert data.labels.tolist() == labels[kept].tolist()
    for i, cloud in zip(kept, data.clouds, strict=True):
        assert (rebuilt(cloud) == (images[i] > 0)).all()


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("what", ["images-idx3", "labels-idx1"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_idx_file_is_named(tmp_path, packed, what, share):
    write_idx(tmp_path, *digits(), "train", packed)
    path = tmp_path / (f"train-{what}-ubyte" + (".gz" if packed else ""))
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=path.name) as caught:
        load_mnist(tmp_path, "train")
    assert "\n" not in str(caught.value)


def test_damaged_files_are_named(tmp_path):
    images, labels = digits()
    path = tmp_path / "train-images-idx3-ubyte.gz"
    write_idx(tmp_path, images, labels, "train", True)
    good = path.read_bytes()
    path.write_bytes(good[:200] + bytes(50) + good[250:])
    with pytest.raises(ValueError, match=path.name):
        read_idx(path)
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match="not an idx file"):
        read_idx(path)
    write_idx(tmp_path, images, labels[:-1], "train", True)
    with pytest.raises(ValueError, match="train-labels"):
        load_mnist(tmp_path, "train")
    write_idx(tmp_path, images, labels + 3, "train", True)
    with pytest.raises(ValueError, match="train-labels"):
        load_mnist(tmp_path, "train")


@pytest.mark.parametrize("cut", [0, 3, 200, -9, -40])
def test_a_truncated_csv_is_named(tmp_path, cut):
    path = tmp_path / "train.csv"
    write_csv(path, *digits())
    path.write_text(path.read_text()[:cut])
    with pytest.raises(ValueError, match=r"train\.csv") as caught:
        read_csv(path)
    assert "\n" not in str(caught.value)


def test_missing_files_say_what_to_put_where(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"put t10k-images-idx3-ubyte\.gz"):
        load_mnist(tmp_path, "test")
    with pytest.raises(ValueError, match="split"):
        load_mnist(tmp_path, "validation")


@pytest.mark.parametrize(("split", "each"), [("train", 600), ("test", 100)])
def test_the_embedded_digits_are_balanced(split, each):
    data = load_mini(split)
    assert np.bincount(data.labels).tolist() == [each] * 10
    assert data.lengths.min() >= 20
    assert data.lengths.max() <= 351
    assert len(set(data.labels[:30].tolist())) == 10
    cloud, _ = data[0]
    assert cloud.mean(0).abs().max() < 1e-6
    assert (cloud.std(0, unbiased=False) - 1).abs().max() < 1e-5


def test_the_embedded_splits_share_no_digit():
    train = {cloud.tobytes() for cloud in load_mini("train").clouds}
    assert not any(cloud.tobytes() in train for cloud in load_mini("test").clouds)


def test_make_mini_writes_what_load_mini_reads(tmp_path):
    for split, count in (("train", 6200), ("test", 1100)):
        write_idx(tmp_path, *digits(count), split, False)
    make_mini(tmp_path, tmp_path / "mini.npz")
    with np.load(tmp_path / "mini.npz") as file:
        assert file["train_images"].shape == (6000, 98)
        assert np.bincount(file["test_labels"]).tolist() == [100] * 10


@pytest.mark.skipif(not DATA, reason="DDEQ_DATA is not set")
def test_the_full_set():
    train, test = load_mnist(DATA, "train"), load_mnist(DATA, "test")
    assert (len(train), len(test)) == (60000, 10000)
    assert train.lengths.max() == 351
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]
