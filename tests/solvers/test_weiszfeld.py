"""Weiszfeld steps: descent without a step size, from distances that are exact."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ddeq import PointClouds, mmd2
from ddeq.measures.divergences import MMD
from ddeq.measures.kernels import Gaussian, distances, pair_distances
from ddeq.solvers import Chain, Picard, Weiszfeld
from ddeq.solvers.weiszfeld import weiszfeld_step


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 9),
    m=st.integers(1, 9),
    dim=st.sampled_from([1, 2, 16]),
)
def test_the_distance_to_a_fixed_target_never_grows(seed: int, n: int, m: int, dim: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    z, y = (
        PointClouds.from_list(
            [torch.randn(k, dim, generator=generator, dtype=torch.float64) for k in (size, 3)]
        )
        for size in (n, m)
    )
    before, points = weiszfeld_step(z, y)
    torch.testing.assert_close(before, mmd2(z, y), atol=1e-6, rtol=1e-6)
    after = mmd2(z.with_points(points), y)
    assert (after <= before + 1e-9).all()


def test_one_particle_is_picard() -> None:
    z = PointClouds.from_list([torch.tensor([[3.0, -1.0]])])
    f = lambda z: z.map(lambda p: 0.3 * p + 1.0)  # noqa: E731
    ours, theirs = (solver(max_steps=9, tol=0).solve(f, z).value for solver in (Weiszfeld, Picard))
    torch.testing.assert_close(ours.points, theirs.points)


def test_a_chain_ends_with_plain_applications() -> None:
    start = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    target = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
    z = PointClouds.from_list([start])
    f = lambda z: z.map(lambda p: 0.5 * p + target)  # noqa: E731
    path = Chain(Weiszfeld(3), Picard(3, tol=0)).solve(f, z, save_every=1).trajectory
    plain = Weiszfeld(max_steps=4, tol=0).solve(f, z, save_every=1).trajectory
    torch.testing.assert_close(path[3].points, plain[3].points)
    torch.testing.assert_close(path[4].points, f(path[3]).points)
    torch.testing.assert_close(path[5].points, f(path[4]).points)


def test_particles_separate_to_match_a_spread_target() -> None:
    target = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    z = PointClouds.from_list([torch.randn(3, 2, generator=torch.Generator().manual_seed(0)) * 0.1])
    solution = Weiszfeld(max_steps=300, tol=1e-6).solve(lambda z: z.with_points(target[None]), z)
    assert solution.converged.all()
    found = solution.value.points[0]
    assert distances(found, target).amin(0).max() < 1e-2


def test_pair_distances_are_exact_away_from_the_origin() -> None:
    x = torch.randn(2, 5, 8) + 1000.0
    y = x.flip(1) + 1e-2
    for fast, exact in zip(
        pair_distances(x, y),
        (distances(x, x), distances(x, y), distances(y, y)),
        strict=True,
    ):
        torch.testing.assert_close(fast, exact, atol=1e-5, rtol=1e-5)
    assert (pair_distances(x, y)[0].diagonal(dim1=1, dim2=2) == 0).all()


def test_other_kernels_are_refused() -> None:
    with pytest.raises(ValueError, match="Riesz"):
        Weiszfeld(divergence=MMD(Gaussian()))
