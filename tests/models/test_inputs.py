"""The forms in which a model takes clouds, and gives them back."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ddeq import Classifier, Completer, PointClouds
from ddeq.models import as_clouds
from ddeq.models.regressor import Regressor
from ddeq.nn import Network
from ddeq.solvers import Picard

NETWORK = Network(features=8, bilinear=4, cross_layers=1)
CLOUDS = [torch.randn(n, 2, generator=torch.Generator().manual_seed(n)) for n in (9, 4, 6)]
POINTS, BATCH = torch.cat(CLOUDS), torch.tensor([0] * 9 + [1] * 4 + [2] * 6)
MIXED = torch.randperm(19, generator=torch.Generator().manual_seed(0))
EXPECTED = PointClouds.from_list(CLOUDS)

FORMS = {
    "clouds": EXPECTED,
    "list": CLOUDS,
    "tuple": tuple(CLOUDS),
    "arrays": [cloud.numpy() for cloud in CLOUDS],
    "pair": (POINTS, BATCH),
    "array pair": (POINTS.numpy(), BATCH.numpy()),
    "short indices": (POINTS, BATCH.to(torch.int32)),
    "torch_geometric": SimpleNamespace(pos=POINTS, batch=BATCH, x=None, num_graphs=3),
}
MODELS = {
    "classifier": lambda: Classifier(2, 3, network=NETWORK, solver=Picard(2)),
    "regressor": lambda: Regressor(2, network=NETWORK, solver=Picard(2)),
    "completer": lambda: Completer(2, network=NETWORK, solver=Picard(2)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_batch(form):
    found = as_clouds(FORMS[form])
    assert torch.equal(found.points, EXPECTED.points)
    assert torch.equal(found.mask, EXPECTED.mask)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", MODELS)
def test_models_take_every_form(kind, form):
    model = MODELS[kind]()
    with torch.no_grad():
        expected, found = model(EXPECTED), model(FORMS[form])
        latent = model.latent(FORMS[form])[0].points
        assert torch.equal(latent, model.latent(EXPECTED)[0].points)
    if kind == "completer":
        expected, found = expected.points, found.points
    assert torch.equal(found, expected)


def test_points_of_a_ragged_batch_need_not_be_sorted():
    found = as_clouds((POINTS[MIXED], BATCH[MIXED]))
    for cloud, expected, number in zip(found, CLOUDS, range(3), strict=True):
        order = MIXED[BATCH[MIXED] == number] - [0, 9, 13][number]
        assert torch.equal(cloud, expected[order])


def test_one_cloud_and_clouds_of_one_size():
    assert torch.equal(as_clouds(CLOUDS[0]).points[0], CLOUDS[0])
    assert torch.equal(as_clouds(CLOUDS[0].numpy()).points[0], CLOUDS[0])
    assert torch.equal(as_clouds(SimpleNamespace(pos=CLOUDS[0], batch=None)).points[0], CLOUDS[0])
    same = torch.randn(3, 5, 2)
    assert torch.equal(as_clouds(same).points, same)
    assert as_clouds(same.numpy()).mask.all()


def test_gradients_reach_the_points_of_a_ragged_batch():
    points = POINTS.clone().requires_grad_()
    MODELS["classifier"]()((points, BATCH)).sum().backward()
    assert points.grad.abs().sum(1).min() > 0


@pytest.mark.parametrize("normalize", [True, False])
def test_a_completed_cloud_has_the_form_of_the_input(normalize):
    model = MODELS["completer"]()
    expected = model.complete(EXPECTED, normalize=normalize)
    full = {
        form: model.complete(x, normalize=normalize) for form, x in FORMS.items() if form != "tuple"
    }
    assert torch.equal(full["clouds"].points, expected.points)
    for given, cloud in zip(full["list"], expected, strict=True):
        assert torch.equal(given, cloud)
    for given, cloud in zip(full["arrays"], expected, strict=True):
        assert isinstance(given, np.ndarray)
        assert np.array_equal(given, cloud.numpy())
    for form in ("pair", "torch_geometric"):
        points, batch = full[form]
        assert torch.equal(points, torch.cat(expected.to_list()))
        assert batch.tolist() == [b for b, n in enumerate(expected.lengths) for _ in range(n)]
    assert isinstance(full["array pair"][0], np.ndarray)
    one = model.complete(CLOUDS[0], normalize=normalize)
    assert torch.equal(one[:9], CLOUDS[0])


@pytest.mark.parametrize("kind", MODELS)
def test_points_and_their_clouds_apart_are_one_line(kind):
    with pytest.raises(ValueError, match="one pair"):
        MODELS[kind]()(POINTS, BATCH)


@pytest.mark.parametrize(
    "bad",
    [
        3,
        "cloud",
        None,
        {"pos": POINTS},
        [],
        [POINTS, BATCH],
        (POINTS, BATCH[:-1]),
        (POINTS, BATCH.float()),
        (POINTS, BATCH - 1),
        (POINTS, BATCH * 2),
        (POINTS, BATCH * 10**9),
        (POINTS[:0], BATCH[:0]),
        (torch.full_like(POINTS, torch.nan), BATCH),
        torch.zeros(3),
        torch.zeros(1, 2, 3, 4),
    ],
    ids=lambda bad: str(bad)[:20],
)
def test_anything_else_is_one_line(bad):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        as_clouds(bad)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200
