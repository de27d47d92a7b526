"""Generated clouds, one point or many, flat, doubled, far away, in any unit and precision."""

import numpy as np
import pytest
import torch
from maps import SMALL

import ddeq
from ddeq.inference import classifier_for, completer_for
from ddeq.solvers import Weiszfeld

CASES = {"short": 30, "long": 1000}
UNITS = (1e-12, 1e-3, 1.0, 250.0, 1e9, 1e30)


def generated(rng: np.random.Generator, dim: int) -> np.ndarray:
    """A cloud that a person or a program could have."""
    count = int(rng.choice([1, 2, 3, 17, 120, 700]))
    cloud = rng.normal(size=(count, dim)) * 10.0 ** rng.uniform(-2, 2, dim)
    kind = rng.integers(8)
    if kind == 0:
        cloud = cloud[rng.integers(0, max(count // 4, 1), count)]  # doubled
    elif kind == 1:
        cloud[:, rng.integers(dim)] = rng.normal()  # flat
    elif kind == 2:
        cloud = np.outer(cloud[:, 0], rng.normal(size=dim))  # on a line
    elif kind == 3:
        cloud += 1e4 * rng.normal(size=dim)  # far from the origin
    elif kind == 4:
        cloud = np.round(cloud)  # on a grid
    elif kind == 5:
        cloud[rng.integers(count)] *= 1e3  # an outlier
    elif kind == 6:
        cloud[:] = cloud[0]  # one place
    return cloud


def models(effort: str, dim: int) -> tuple[ddeq.Completer, ddeq.Classifier]:
    """Small random ones, or those that are shipped."""
    if effort == "long":
        return completer_for(dim), classifier_for(dim)
    small = {"solver": Weiszfeld(3), **SMALL}
    return ddeq.Completer(dim, estimate=True, **small), ddeq.Classifier(dim, 3, **small)


def check(cloud: np.ndarray, completer: ddeq.Completer, classifier: ddeq.Classifier) -> None:
    """What holds for every cloud, in 2-D and 3-D."""
    before = cloud.tobytes()
    full = completer.complete(cloud, seed=3)
    assert cloud.tobytes() == before
    assert full[: len(cloud)].tobytes() == before
    assert full.dtype == cloud.dtype
    new = full[len(cloud) :]
    assert np.isfinite(new).all()
    flat = np.ptp(cloud, axis=0) == 0
    assert (new[:, flat] == cloud[0, flat]).all()
    assert completer.complete(cloud, seed=3).tobytes() == full.tobytes()
    with torch.no_grad():
        assert classifier([cloud]).isfinite().all()


@pytest.mark.parametrize("dim", [2, 3])
def test_generated_clouds(effort, dim, tally):
    completer, classifier = models(effort, dim)
    rng = np.random.default_rng(dim)
    for _ in range(CASES[effort] // 2):
        cloud = generated(rng, dim) * rng.choice(UNITS)
        check(cloud.astype(rng.choice([np.float32, np.float64])), completer, classifier)
        tally["kept bit for bit, finite, flat where flat, the same again"] += 1


@pytest.mark.parametrize("dim", [2, 3])
def test_batches_of_generated_clouds(effort, dim, tally):
    """Logits to 1e-5, new points to 2e-4 of the extent of their cloud."""
    completer, classifier = models(effort, dim)
    rng = np.random.default_rng(10 + dim)
    for _ in range(CASES[effort] // 20 + 1):
        batch = [generated(rng, dim) for _ in range(4)]
        views = [ddeq.data.view.NetworkView(cloud).for_network().points[0] for cloud in batch]
        with torch.no_grad():
            together, full = classifier(views), completer.complete(batch, seed=1)
            for i, cloud in enumerate(batch):
                gap = (classifier([views[i]])[0] - together[i]).abs().max()
                assert gap < 1e-5 * max(1.0, float(together[i].abs().max()))
                alone = completer.complete(cloud, seed=1)
                assert alone.shape == full[i].shape  # as many points, exactly
                extent = max(np.ptp(alone, axis=0).max(), 1e-30)
                assert np.abs(alone - full[i]).max() < 2e-4 * extent
                tally["the same alone and in a batch"] += 1


@pytest.mark.parametrize("dim", [2, 3])
def test_units_of_generated_clouds(effort, dim, tally):
    """Powers of two change no bit of the frame, and so none of the result."""
    completer, _ = models(effort, dim)
    rng = np.random.default_rng(20 + dim)
    for _ in range(CASES[effort] // 10 + 1):
        cloud, unit = generated(rng, dim), 2.0 ** int(rng.integers(-40, 40))
        expected = completer.complete(cloud) * unit
        assert completer.complete(cloud * unit).tobytes() == expected.tobytes()
        tally["the same in another unit"] += 1
