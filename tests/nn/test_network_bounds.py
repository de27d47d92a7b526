"""What the configuration of a network accepts, to the edge; formulas of its small parts."""

import math

import pytest
import torch

from ddeq import PointClouds
from ddeq.errors import DdeqError
from ddeq.nn import Groups, Network
from ddeq.nn.features import _gaussians
from ddeq.nn.groups import _lexicographic, _mean
from ddeq.nn.pose import square_up, turn
from ddeq.nn.proposals import relative_to
from ddeq.nn.share import MissingShare

WHOLE = [
    ("features", 1, 4096, {"head_size": 1}),
    ("bilinear", 1, 256, {}),
    ("head_size", 1, 64, {"features": 64}),
    ("cross_layers", 0, 64, {}),
    ("fourier", 0, 32, {}),
    ("x_layers", 1, 64, {}),
    ("marks", 0, 256, {}),
    ("expansion", 1, 64, {}),
    ("proposals", 0, 64, {"marks": 1}),
]


@pytest.mark.parametrize(("field", "least", "most", "others"), WHOLE)
def test_whole_numbers_to_the_edge(field, least, most, others):
    for value in (least, most):
        assert getattr(Network(**{**others, field: value}), field) == value
    for value in (least - 1, most + 1, float(most), True):
        with pytest.raises(DdeqError, match=field):
            Network(**{**others, field: value})


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("dropout", (0.0, 0.99), (-0.01, 1.0, math.nan)),
        ("radii", ((), (0.1,) * 16), ((0.0,), (-1.0,), (1e6,), (0.1,) * 17, "0.1", 3)),
    ],
)
def test_numbers_to_the_edge(field, good, bad):
    for value in good:
        assert getattr(Network(**{field: value}), field) == value
    for value in bad:
        with pytest.raises(DdeqError, match=field):
            Network(**{field: value})


def test_the_size_of_a_group_to_the_edge():
    assert [Groups(size=value).size for value in (1, 1024)] == [1, 1024]
    for value in (0, 1025):
        with pytest.raises(DdeqError, match="size"):
            Groups(size=value)


def test_gaussians_by_squaring_are_those_by_the_exponential():
    squares = torch.linspace(0.0, 2.0, 9, dtype=torch.float64)
    for r, values in _gaussians(squares, (0.25, 0.5, 1.0, 0.75)).items():
        assert torch.allclose(values, torch.exp(-squares / (2 * r * r)), rtol=1e-12)


def test_rows_in_the_order_of_their_coordinates_with_padding_last():
    first = torch.tensor([[1.0, 0.0], [-1.0, 2.0], [1.0, -3.0], [-1.0, -2.0]])
    x = PointClouds.from_list([first, torch.tensor([[2.0, 1.0], [2.0, 0.0]])])
    assert _lexicographic(x)[0].tolist() == [3, 1, 2, 0]
    assert _lexicographic(x)[1, :2].tolist() == [1, 0]


def test_a_share_that_is_not_sure_is_taken_in_part():
    part = MissingShare(3, ratio=0.5)
    mean, peak = torch.randn(2, 40, 3)
    logit, log_share = part(mean, peak)
    expected = (logit / 0.2).clamp(0.0, 1.0) * log_share.exp()
    assert torch.allclose(part.share(mean, peak, sure=0.2), expected)
    assert torch.allclose(part.share(mean, peak), (logit > 0) * log_share.exp())
    assert (logit.abs() < 0.2).any(), "some must lie in between"
    assert (logit > 0).any()


def test_places_are_added_to_their_anchors():
    anchors, h = torch.randn(2, 3, 2), torch.randn(2, 3, 5)
    moved = relative_to(anchors, h)
    assert torch.equal(moved[..., 2:], h[..., 2:])
    ratio = (moved[..., :2] - anchors) / h[..., :2]
    assert torch.allclose(ratio, ratio.flatten()[0].expand_as(ratio), rtol=1e-4)
    assert ratio.flatten()[0] > 0


@pytest.mark.parametrize("angle", [0.0, 0.1, 0.33, 0.7])
def test_a_box_is_squared_up_to_a_fraction_of_a_degree(angle):
    corners = torch.cartesian_prod(torch.tensor([-2.0, 2.0]), torch.tensor([-1.0, 1.0]))
    box = torch.cat([corners, torch.zeros(4, 1)], 1)
    x = square_up(turn(PointClouds.from_list([box]), torch.tensor([angle])))
    low, high = x.points.amin(1), x.points.amax(1)
    assert (high - low)[0, :2].prod().item() == pytest.approx(8.0, rel=4e-3)


def test_means_leave_padding_out():
    x = PointClouds.from_list([torch.randn(5, 2), torch.randn(3, 2)])
    assert torch.allclose(_mean(x.points, x.mask)[:, 0], x.mean(), atol=1e-6)
