"""Groups of neighbours, marks and the azimuth: what must not change the answer does not."""

import math

import pytest
import torch

from ddeq import Classifier, PointClouds
from ddeq.nn import Groups, Network, farthest_points
from ddeq.nn.groups import neighbours
from ddeq.nn.pose import quarter_turns, square_up, turn
from ddeq.solvers import Picard

NETWORK = Network(
    features=32,
    bilinear=8,
    head_size=8,
    cross_layers=1,
    fourier=2,
    groups=Groups(points=(32, 16, 8), widths=(16, 24, 32), size=6),
    marks=2,
    expansion=2,
)


def _model(**options):
    torch.manual_seed(0)
    model = Classifier(
        3, 5, network=NETWORK, mean=True, proportions=True, solver=Picard(4), **options
    )
    torch.nn.init.normal_(model.network.marks.mlp.outer.weight, std=0.3)
    return model


def _clouds():
    draw = torch.Generator().manual_seed(1)
    return [torch.randn(n, 3, generator=draw) for n in (50, 32, 20, 7, 2, 1)]


def test_farthest_points_of_a_line():
    x = PointClouds.from_list([torch.tensor([[0.0], [1.0], [2.0], [10.0]]), torch.ones(1, 1)])
    order = farthest_points(x, 4)
    assert order[0].tolist() == [3, 0, 2, 1]
    assert order[1, 0] == 0


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_farthest_points_of_a_lattice_are_those_of_the_cloud_in_a_batch(dim):
    """Many points are equally far: ties must fall alike."""
    draw = torch.Generator().manual_seed(dim)
    x = torch.randint(0, 5, (150, dim), generator=draw).unique(dim=0) / 7
    alone = farthest_points(PointClouds.from_list([x]), len(x))
    beside = farthest_points(PointClouds.from_list([x, torch.randn(200, dim)]), len(x))
    assert torch.equal(alone[0], beside[0])
    assert sorted(alone[0].tolist()) == list(range(len(x)))


def test_neighbours_never_are_padding():
    x = PointClouds.from_list([torch.randn(9, 3), torch.randn(4, 3)])
    groups = neighbours(x, 6, 5)
    rows = groups.rows.view(2, 6, 5)
    assert groups.mask.sum(1).tolist() == [6, 4]
    assert (rows[1][groups.near[1]] < 9 + 4).all()
    assert groups.near[1, :4].sum() == 16
    assert (groups.offsets[groups.near][:, -1] == 0).sum() == 10  # each anchor is its own


@torch.no_grad()
def test_a_cloud_is_read_alike_alone_in_a_batch_and_in_any_order():
    model, clouds = _model(), _clouds()
    whole = model(PointClouds.from_list(clouds))
    alone = torch.cat([model(PointClouds.from_list([cloud])) for cloud in clouds])
    mixed = [cloud[torch.randperm(len(cloud))] for cloud in clouds]
    assert torch.allclose(whole, alone, atol=1e-5)
    assert torch.allclose(whole, model(PointClouds.from_list(mixed)), atol=1e-5)


@torch.no_grad()
def test_a_lattice_is_read_alike_in_any_order_and_batch():
    """Of equally far points the same are taken, though rounding depends on order and padding."""
    model, draw = _model(), torch.Generator().manual_seed(2)
    for _ in range(5):
        x = torch.randint(0, 6, (60, 3), generator=draw).unique(dim=0).float()
        whole = model(PointClouds.from_list([x, torch.randn(90, 3)]))[:1]
        for cloud in (x, x[torch.randperm(len(x), generator=draw)]):
            alone = model(PointClouds.from_list([cloud]))
            torch.testing.assert_close(alone, whole, atol=1e-5, rtol=1e-4)


def test_gradients_of_small_clouds_are_finite():
    model = _model().train()
    model(PointClouds.from_list(_clouds())).logsumexp(1).sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name


@torch.no_grad()
def test_marks_keep_particles_apart_at_the_fixed_point():
    x = PointClouds.from_list(_clouds())
    model = _model()
    assert model.latent(x)[0].std().norm(dim=1).min() > 1e-2


def test_save_and_load(tmp_path):
    model = _model(azimuth=True, poses=4)
    model.save_pretrained(tmp_path)
    again = Classifier.from_pretrained(tmp_path)
    x = PointClouds.from_list(_clouds())
    with torch.no_grad():
        assert torch.equal(model(x), again(x))


def test_default_configuration_has_nothing_that_the_paper_has_not():
    config = Classifier(2, 3).config()
    more = ("fourier", "radii", "groups", "marks", "near")
    assert not any(config["network"][name] for name in more)
    assert config["network"]["x_layers"] == 1
    assert config["network"]["expansion"] == 4
    assert (config["azimuth"], config["poses"], config["mean"]) == (False, 1, False)


@pytest.mark.parametrize("degrees", [0, 10, 40, 75, 200])
def test_square_up_undoes_a_turn_up_to_quarters(degrees):
    box = torch.rand(400, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1
    x = PointClouds.from_list([box * torch.tensor([2.0, 1.0, 0.5])])
    stood = square_up(turn(x, torch.tensor([math.radians(degrees)])))
    extent = stood.points[0].abs().amax(0)[:2].sort().values
    assert torch.allclose(extent, torch.tensor([1.0, 2.0]), atol=0.08)
    if degrees in (0, 10, 40):  # the nearest quarter is the way it stood
        assert (stood.points - square_up(x).points).abs().max() < 0.05


def test_poses_average_the_probabilities():
    model, x = _model(poses=2), PointClouds.from_list(_clouds())
    one = _model()
    with torch.no_grad():
        views = torch.stack([one(view).softmax(-1) for view in quarter_turns(x, 2)])
        assert torch.allclose(model(x).softmax(-1), views.mean(0), atol=1e-5)


@pytest.mark.parametrize("options", [{"azimuth": True}, {"poses": 2}, {"poses": 3}])
def test_poses_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="poses"):
        Classifier(2, 3, **options)
