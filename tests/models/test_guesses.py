"""Completers without a network: cases with known answers."""

import numpy as np
import pytest
import torch

from ddeq.models.baselines import (
    Retrieval,
    copy_visible,
    gaussian_guess,
    mirror_visible,
    moment_gaussian,
    nothing,
)

GUESSES = {
    "nothing": nothing,
    "gaussian": gaussian_guess,
    "moments": moment_gaussian,
    "copy": copy_visible,
    "mirror": mirror_visible,
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def nearest(new: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    return torch.cdist(new, truth, compute_mode="donot_use_mm_for_euclid_dist").amin(1)


@pytest.mark.parametrize("name", GUESSES)
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 90])
def test_counts_and_seeds(name, dim, count):
    cloud = torch.randn(40, dim, generator=torch.Generator().manual_seed(0))
    new = GUESSES[name](cloud, count, rng())
    assert new.shape == (0 if name == "nothing" else count, dim)
    assert new.dtype == cloud.dtype
    assert torch.isfinite(new).all()
    assert torch.equal(new, GUESSES[name](cloud, count, rng()))


@pytest.mark.parametrize("name", ["gaussian", "moments", "mirror"])
def test_a_cloud_without_points_is_refused(name):
    with pytest.raises(ValueError, match="a point"):
        GUESSES[name](torch.zeros(0, 2), 3, rng())


@pytest.mark.parametrize("name", GUESSES)
def test_one_place_stays_finite(name):
    assert torch.isfinite(GUESSES[name](torch.ones(5, 3), 4, rng())).all()


def test_gaussian_has_the_moments_of_the_visible_points():
    cloud = torch.randn(500, 2, dtype=torch.float64) * torch.tensor([1.0, 3.0]) + 5
    new = gaussian_guess(cloud, 100_000, rng())
    assert torch.allclose(new.mean(0), cloud.mean(0), atol=0.05)
    assert torch.allclose(new.std(0), cloud.std(0, unbiased=False), atol=0.05)


def test_the_frame_of_the_whole_gives_the_moments_of_the_removed_points_away():
    whole = torch.randn(400, 3, dtype=torch.float64)
    whole = (whole - whole.mean(0)) / whole.std(0, unbiased=False)
    order = whole[:, 0].argsort()
    kept, removed = whole[order[:300]], whole[order[300:]]
    new = torch.cat([moment_gaussian(kept, 100, rng(seed)) for seed in range(500)])
    assert torch.allclose(new.mean(0), removed.mean(0), atol=0.02)
    assert torch.allclose(new.std(0), removed.std(0, unbiased=False), atol=0.02)


def test_copies_are_visible_points_each_once_before_any_twice():
    cloud = torch.randn(10, 2)
    new = copy_visible(cloud, 23, rng())
    times = (new[:, None] == cloud).all(2).sum(0)
    assert times.min() == 2
    assert times.max() == 3


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.234])
@pytest.mark.parametrize("dim", [2, 3])
def test_a_symmetric_cloud_is_completed_by_its_mirror_image(angle, dim):
    half = rng(3).normal(size=(150, dim)) * np.array([1.5, 1.0, 0.6][:dim])
    half[:, 0] = np.abs(half[:, 0])
    whole = np.concatenate([half, half * np.array([-1, 1, 1][:dim])])
    turn = np.eye(dim)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    hole = np.linalg.norm(whole - whole[0], axis=1) < 0.7
    kept, removed = (torch.from_numpy(part @ turn.T + 4) for part in (whole[~hole], whole[hole]))
    new = mirror_visible(kept, len(removed), rng())
    assert nearest(removed, new).median() < 0.06
    assert nearest(removed, kept).median() > 0.25


@pytest.mark.parametrize("dim", [2, 3])
def test_retrieval_finds_the_very_cloud_in_another_frame(dim):
    clouds = [torch.from_numpy(rng(i).uniform(-1, 1, (200, dim)) ** 3) for i in range(30)]
    whole = clouds[17]
    hole = (whole - whole[0]).norm(dim=1) < 0.5
    kept, removed = whole[~hole] * 0.02 + 3, whole[hole] * 0.02 + 3
    if dim == 3:  # a quarter turn about the last axis
        kept, removed = (torch.stack([-p[:, 1], p[:, 0], p[:, 2]], 1) for p in (kept, removed))
    new = Retrieval(clouds)(kept, len(removed), rng())
    assert nearest(removed, new).mean() < 0.1 * 0.02
    assert nearest(removed, kept).mean() > 0.1 * 0.02


def test_retrieval_in_the_told_frame_does_not_move_a_cloud():
    near, far = torch.rand(100, 2) * 0.2 + 0.9, torch.rand(100, 2) * 0.2 - 0.9
    found = Retrieval([near, far], told=True)(near[:50], 50, rng())
    assert nearest(found, near).max() < 1e-6
    with pytest.raises(ValueError, match="at least one"):
        Retrieval([])
    with pytest.raises(ValueError, match="dimensions"):
        Retrieval([torch.rand(5, 4)])
