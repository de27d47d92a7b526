"""The benchmark's reference gives the library's answers: only its cost differs."""

import pytest
import torch

from ddeq import PointClouds
from ddeq.bench.reference import load_reference
from ddeq.nn import Network
from ddeq.solvers import WassersteinFlow

reference = load_reference()


@pytest.mark.parametrize("with_fixed", [False, True])
def test_reference_flow_is_the_librarys_flow(with_fixed: bool) -> None:
    torch.manual_seed(0)
    network = Network(features=16, bilinear=4, head_size=4, cross_layers=2).build(2).eval()
    x, z, fixed = (
        PointClouds.from_list([torch.randn(n, dim) for n in sizes])
        for sizes, dim in (((9, 4), 2), ((3, 5), 16), ((9, 4), 16))
    )
    fixed = fixed if with_fixed else None
    f = network.bind(network.encode(x, fixed)).detach()
    slow = reference.ReferenceMap(network, x, fixed)
    torch.testing.assert_close(slow(z).points, f(z).points, atol=1e-5, rtol=1e-5)
    ours = WassersteinFlow(max_steps=4, tol=0, step_size=0.5).solve(f, z, save_every=1)
    here = z
    for k in range(3):
        here, residual = reference.ReferenceFlow(0.5).step(slow, here)
        torch.testing.assert_close(here.points, ours.trajectory[k + 1].points, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(residual, ours.residuals[k + 1], atol=1e-4, rtol=1e-4)
