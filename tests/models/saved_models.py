"""Small models, saved and loaded again."""

import pytest
import torch
from maps import SMALL

from ddeq import Classifier, Completer, PointClouds
from ddeq.solvers import Weiszfeld

KINDS = {"classifier": Classifier, "completer": Completer}


SHORT = Weiszfeld(max_steps=4, tol=0.1)


def model(kind, dim=2, **options):
    options = {**SMALL, "solver": SHORT, **options}
    if kind == "classifier":
        return Classifier(
            dim, num_classes=3, classes=["a", "b", "c"], particles=5, **options
        ).eval()
    return Completer(dim, ratio=0.4, **options).eval()


def clouds(dim=2, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    draw = [torch.randn(n, dim, generator=generator).to(dtype) for n in (9, 4)]
    return PointClouds.from_list(draw)


def output(made, x):
    result = made(x) if isinstance(made, Classifier) else made.complete(x).points
    return result.detach()


both = pytest.mark.parametrize("kind", KINDS)


def assert_one_line(cls, name, *words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        cls.from_pretrained(name)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 1000
    for word in words:
        assert word in message
