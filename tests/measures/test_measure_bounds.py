"""What a divergence and a kernel accept, to the edge; ties and empty clouds."""

import pytest
import torch

from ddeq.measures import divergences, kernels
from ddeq.measures.divergences.sliced import _FairSort
from ddeq.measures.metrics import accuracy

EDGES = [
    (divergences.Sinkhorn, "blur", (0.01,), (0.0,)),
    (divergences.Sinkhorn, "scaling", (0.01, 0.99), (0.0, 1.0)),
    (divergences.Sinkhorn, "max_updates", (0,), (-1,)),
    (divergences.Sinkhorn, "tol", (0.0,), (-0.01,)),
    (divergences.DrMMD, "regularization", (0.01,), (0.0,)),
    (divergences.SlicedMMD, "projections", (1,), (0,)),
    (kernels.Riesz, "r", (0.01, 1.99), (0.0, 2.0)),
    (kernels.Gaussian, "bandwidth", (0.01,), (0.0,)),
    (kernels.Laplace, "bandwidth", (0.01,), (0.0,)),
    (kernels.InverseMultiquadric, "bandwidth", (0.01,), (0.0,)),
]


@pytest.mark.parametrize(("cls", "field", "good", "bad"), EDGES)
def test_values_to_the_edge(cls, field, good, bad):
    for value in good:
        assert getattr(cls(**{field: value}), field) == value
    for value in bad:
        with pytest.raises(ValueError, match=field):
            cls(**{field: value})


def test_equal_values_share_their_gradient():
    values = torch.tensor([[[0.0, 3.0, 0.0, 0.0]]], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, 2.0, 6.0, 10.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad((_FairSort.apply(values) * weights).sum(), values)
    assert gradient.flatten().tolist() == [3.0, 10.0, 3.0, 3.0]


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (0, 0)])
def test_distances_to_no_points(sizes):
    x, y = (torch.zeros(2, n, 2) for n in sizes)
    assert kernels.distances(x, y).shape == (2, *sizes)


def test_accuracy_by_hand():
    logits = torch.tensor([[0.1, 0.9, 0.0], [2.0, 1.0, -1.0]])
    assert accuracy(logits, torch.tensor([1, 2])).tolist() == [1.0, 0.0]
