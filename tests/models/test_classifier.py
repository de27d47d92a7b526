"""Classifier: logits; sizes and options of both models."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import SMALL, relative_gap
from small_models import both_models, clouds, model
from strategies import seeds

from ddeq import Classifier, Completer, PointClouds


def test_logits_are_a_linear_function_of_the_largest_features():
    made, x = model("classifier"), clouds(9, 4)
    z, _ = made.latent(x)
    pooled = torch.stack([cloud.max(0).values for cloud in z])
    expected = pooled @ made.head.weight.T + made.head.bias
    assert torch.allclose(made(x), expected, atol=1e-6)
    negative = clouds(3, 1, dim=8).map(lambda p: -p.abs() - 1.0)  # padding must not win
    pooled = torch.stack([cloud.max(0).values for cloud in negative])
    assert torch.allclose(made.logits(negative), pooled @ made.head.weight.T + made.head.bias)


@given(seed=seeds, scale=st.sampled_from([1e-3, 50.0]))
def test_classification_does_not_depend_on_units(seed, scale):
    torch.manual_seed(seed)
    made = model("classifier", dtype=torch.float64)
    x = clouds(8, 5, dtype=torch.float64)
    shift = torch.randn(2, dtype=torch.float64)
    assert relative_gap(made(x.map(lambda p: scale * p + shift)), made(x)) < 1e-7


@given(seed=seeds, stretch=st.sampled_from([0.25, 3.0]))
def test_proportions_are_seen_only_by_those_who_keep_them(seed, stretch):
    torch.manual_seed(seed)
    x = clouds(8, 5, dtype=torch.float64)
    wide = x.map(lambda p: p * torch.tensor([stretch, 1.0], dtype=p.dtype))
    blind = model("classifier", dtype=torch.float64)
    assert relative_gap(blind(wide), blind(x)) < 1e-7
    seeing = model("classifier", dtype=torch.float64, proportions=True)
    assert relative_gap(seeing(wide), seeing(x)) > 1e-5
    assert relative_gap(seeing(x.map(lambda p: 40 * p - 7)), seeing(x)) < 1e-7


def count(module):
    return sum(p.numel() for p in module.parameters())


def test_sizes_and_defaults_of_the_paper():
    digits, shapes = Classifier(2, num_classes=10), Classifier(3, num_classes=40, cross_layers=3)
    assert digits.particles == 10
    assert count(digits.network) == 775_616
    assert count(digits.head) == 1_290
    assert count(shapes) == pytest.approx(1.17e6, rel=0.02)
    completer = Completer(2)
    assert completer.ratio == 0.275
    assert count(completer.coupling) == 8_320
    assert count(completer) == pytest.approx(1.17e6 + 8.3e3, rel=0.02)
    assert digits(clouds(70, 41)).shape == (2, 10)


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        (Classifier, {"num_classes": 3, "classes": ["a"]}, ValueError),
        (Classifier, {"num_classes": 3, "particles": 0}, ValueError),
        (Classifier, {"num_classes": 3, "dropout": 1.0}, ValueError),
        (Classifier, {"num_classes": 3, "particle": 3}, TypeError),
        (Completer, {"ratio": 0.0}, ValueError),
        (Completer, {"ratio": math.nan}, ValueError),
        (Completer, {"ratios": 0.5}, TypeError),
    ],
)
def test_bad_options_are_refused(kind, options, error):
    with pytest.raises(error):
        kind(dim=2, **{**SMALL, **options})


@both_models
def test_clouds_of_another_dimension_are_refused_in_one_line(kind):
    made = model(kind)
    with pytest.raises(ValueError, match="dimension") as error:
        made(clouds(5, dim=3))
    assert "\n" not in str(error.value)


def test_double_clouds_can_be_given_to_a_single_precision_model():
    """numpy makes float64 by default, and so do most files."""
    cloud = np.random.default_rng(0).standard_normal((9, 2))
    x = PointClouds.from_list([cloud])
    assert model("classifier")(x).isfinite().all()
    full = model("completer").complete(x).to_list()[0]
    assert np.array_equal(full[:9].numpy(), cloud)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_cloud_as_an_array(dtype):
    made = model("completer")
    cloud = (np.random.default_rng(0).normal(size=(20, 2)) * 10 + 1e4).astype(dtype)
    full = made.complete(cloud)
    assert isinstance(full, np.ndarray)
    assert full.dtype == dtype
    assert full.shape == (28, 2)
    assert full[:20].tobytes() == cloud.tobytes()
    assert np.array_equal(made.complete(torch.from_numpy(cloud)).numpy(), full)
