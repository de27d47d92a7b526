"""Small models and clouds that the tests share."""

import pytest
import torch
from maps import SMALL, relative_gap

from ddeq import Classifier, Completer, PointClouds
from ddeq.solvers import Weiszfeld

SHORT = Weiszfeld(max_steps=6, tol=0.1)


both_models = pytest.mark.parametrize("kind", ["classifier", "completer"])


def model(kind, dim=2, dtype=torch.float32, seed=0, **options):
    """A small model in evaluation mode."""
    torch.manual_seed(seed)
    options = {**SMALL, "cross_layers": 1, "solver": SHORT, **options}
    if kind == "classifier":
        made = Classifier(dim, num_classes=3, particles=4, **options)
    else:
        made = Completer(dim, ratio=0.4, **options)
    return made.to(dtype).eval()


def clouds(*sizes, dim=2, dtype=torch.float32):
    return PointClouds.from_list([torch.randn(n, dim, dtype=dtype) for n in sizes])


def assert_same(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert relative_gap(a, b) < tolerance
