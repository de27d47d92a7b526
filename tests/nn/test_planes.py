"""Pictures of a cloud on its planes: known answers, and what must not change the answer."""

import math

import pytest
import torch

from ddeq import Classifier, PointClouds
from ddeq.errors import DdeqError
from ddeq.nn import Groups, Network, Planes, plane_pictures
from ddeq.nn.planes import plane_count
from ddeq.nn.pose import turn
from ddeq.solvers import Picard

PLANES = Planes(size=16, widths=(8, 16))
NETWORK = Network(
    features=32, bilinear=8, head_size=8, cross_layers=1, planes=PLANES, marks=2, expansion=2
)


def _model(dim: int, **options) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(
        dim, 5, network=NETWORK, mean=True, proportions=True, solver=Picard(4), **options
    )
    torch.nn.init.normal_(model.network.marks.mlp.outer.weight, std=0.3)
    return model


def _clouds(dim: int) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return [torch.randn(n, dim, generator=draw) for n in (50, 32, 7, 2, 1)]


def test_a_point_in_the_middle_of_a_cell_is_in_that_cell_alone():
    x = PointClouds.from_list([torch.tensor([[-0.75, 0.25]])])
    density = plane_pictures(x, 4, 1.0)[0, 0, 0].expm1() / 4
    expected = torch.zeros(4, 4)
    expected[2, 0] = 1.0  # the row is the second coordinate
    torch.testing.assert_close(density, expected, atol=2e-3, rtol=0)


@pytest.mark.parametrize("dim", [2, 3, 4])
def test_pictures_hold_the_whole_mass(dim):
    x = PointClouds.from_list([5 * torch.randn(40, dim), torch.randn(3, dim)])
    pictures = plane_pictures(x, 8, 2.0)
    assert pictures.shape == (2, dim * (dim - 1) // 2, 1 + 2 * (dim - 2), 8, 8)
    mass = (pictures[:, :, 0].expm1() / 8).sum((2, 3))
    torch.testing.assert_close(mass, torch.ones_like(mass), atol=1e-5, rtol=0)


def test_front_and_back_are_the_outermost_points():
    column = torch.tensor([[0.0, 0.0, -0.6], [0.0, 0.0, 0.2], [0.0, 0.0, 0.8]])
    front, back = plane_pictures(PointClouds.from_list([column]), 4, 1.0)[0, 0, 1:].amax((1, 2))
    assert front.item() == pytest.approx(0.9)
    assert back.item() == pytest.approx(0.8)


def test_upright_planes_of_more_turns():
    x = PointClouds.from_list([torch.randn(40, 3), torch.randn(9, 3)])
    pictures = plane_pictures(x, 16, 2.0, turns=3)
    assert pictures.shape == (2, plane_count(3, 3), 3, 16, 16)
    turned = turn(x, torch.full((2,), math.pi / 6))
    torch.testing.assert_close(pictures[:, 3:5], plane_pictures(turned, 16, 2.0)[:, 1:])


def test_blocks_and_turns_of_an_encoder():
    planes = Planes(size=16, widths=(8, 16), blocks=(1, 3), turns=2)
    network = Network(features=16, head_size=8, planes=planes).build(3)
    assert len(network.planes.blocks) == 4
    context = network.encode(PointClouds.from_list([torch.randn(20, 3)]))
    assert context.mask.shape[-1] == 5 * 8 * 8  # tokens


def test_a_point_outside_stands_at_the_edge():
    far, edge = torch.tensor([[100.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    of = [plane_pictures(PointClouds.from_list([p]), 4, 1.0) for p in (far, edge)]
    torch.testing.assert_close(*of)


@pytest.mark.parametrize("dim", [2, 3])
def test_batch_padding_and_order_change_nothing(dim):
    model, clouds = _model(dim, azimuth=dim == 3), _clouds(dim)
    together = model(PointClouds.from_list(clouds))
    alone = torch.cat([model(PointClouds.from_list([c])) for c in clouds])
    mixed = model(PointClouds.from_list([c[torch.randperm(len(c))] for c in clouds]))
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(together, mixed, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dim", [2, 3])
def test_every_gradient_is_finite_and_there(dim):
    model = _model(dim).train()
    model(PointClouds.from_list(_clouds(dim))).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert any(p.grad.abs().sum() > 0 for p in model.network.planes.parameters())


def test_gradients_reach_the_points():
    points = torch.randn(20, 2, requires_grad=True)
    plane_pictures(PointClouds.from_list([points]), 8, 2.0).square().sum().backward()
    assert points.grad is not None
    assert (points.grad.abs().sum(1) > 0).sum() > 15


def test_saved_and_loaded(tmp_path):
    model, x = _model(3), PointClouds.from_list(_clouds(3))
    model.save_pretrained(tmp_path)
    assert torch.equal(Classifier.from_pretrained(tmp_path)(x), model(x))


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Planes(size=12, widths=(4, 8, 8, 8)), "cannot be halved"),
        (lambda: Planes(widths=()), "widths"),
        (lambda: Planes(reach=0.0), "reach"),
        (lambda: Planes(blocks=(1, 2)), "4 levels"),
        (lambda: Planes(turns=0), "turns"),
        (lambda: Network(planes=Planes(turns=2)).build(2), "3 dimensions"),
        (lambda: Network(planes=3), "must be Planes"),
        (lambda: Network(planes=PLANES, groups=Groups()), "exclude each other"),
        (lambda: Network(planes=PLANES, near=True), "exclude each other"),
        (lambda: Network(planes=PLANES, fourier=3), "exclude"),
        (lambda: Network(planes=PLANES).build(1), "2 dimensions"),
    ],
)
def test_what_cannot_be_is_refused(build, says):
    with pytest.raises(DdeqError, match=says):
        build()
