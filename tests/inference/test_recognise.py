"""Calibrated probabilities, clouds unlike the training data, and which axis points up."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq import Classifier
from ddeq.cli import main
from ddeq.errors import DdeqError
from ddeq.inference import probabilities, recognise
from ddeq.inference.calibration import auroc, calibration_error, fit_temperature, fit_upright
from ddeq.nn.pose import from_y_up


def solid(seed: int = 0, count: int = 50) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 3)) * (3.0, 1.0, 0.4)


def small(**options: object) -> Classifier:
    torch.manual_seed(0)
    return Classifier(3, 4, features=16, bilinear=8, classes=list("abcd"), **options)


def test_the_temperature_of_sharpened_logits_is_found() -> None:
    rng = torch.manual_seed(0)
    logits = 2.0 * torch.randn(20_000, 5, generator=rng)
    labels = torch.multinomial(logits.softmax(1), 1, generator=rng)[:, 0]
    assert fit_temperature(3.0 * logits, labels) == pytest.approx(3.0, rel=0.05)
    assert calibration_error(logits.softmax(1), labels) < 0.02
    assert calibration_error((3.0 * logits).softmax(1), labels) > 0.05


@pytest.mark.parametrize("bins", [1, 15])
def test_the_error_of_certain_and_wrong_answers_is_one(bins: int) -> None:
    wrong = torch.tensor([[1.0, 0.0]]).expand(3, 2)
    assert calibration_error(wrong, torch.ones(3, dtype=torch.long), bins) == 1.0


def test_auroc_of_apart_and_of_equal_scores() -> None:
    low, high = torch.arange(5.0), torch.arange(5.0) + 10
    assert auroc(low, high) == 1.0
    assert auroc(high, low) == 0.0
    assert auroc(low, low) == 0.5


def test_a_temperature_keeps_the_order_and_evens_the_probabilities() -> None:
    clouds = [solid(seed) for seed in range(3)]
    sharp, even = probabilities(clouds, small()), probabilities(clouds, small(temperature=4.0))
    assert torch.equal(sharp.argsort(1), even.argsort(1))
    assert (even.amax(1) < sharp.amax(1)).all()
    torch.testing.assert_close(even.sum(1), torch.ones(3))


def test_a_cloud_that_is_y_up_is_turned() -> None:
    cloud, model = solid(), small()
    lying = np.stack([cloud[:, 0], cloud[:, 2], -cloud[:, 1]], 1)
    torch.testing.assert_close(
        probabilities([lying], model, up="y"), probabilities([cloud], model), atol=1e-5, rtol=0
    )
    x = ddeq.PointClouds.from_list([torch.as_tensor(lying)])
    np.testing.assert_array_equal(from_y_up(x).points[0].numpy(), cloud)


@pytest.mark.parametrize("poses", [1, 4])
def test_auto_takes_the_more_familiar_axis_per_cloud(poses: int) -> None:
    clouds, model = [solid(seed) for seed in range(6)], small(poses=poses)
    z, y, auto = (recognise(clouds, model, up=up) for up in ("z", "y", "auto"))
    torch.testing.assert_close(auto.energy, torch.minimum(z.energy, y.energy))
    assert torch.equal(auto.y_up, y.energy < z.energy)
    best = torch.where(auto.y_up[:, None], y.probabilities, z.probabilities)
    torch.testing.assert_close(auto.probabilities, best)
    alone = recognise(clouds[:1], model, up="auto")
    torch.testing.assert_close(alone.probabilities, auto.probabilities[:1], atol=1e-5, rtol=1e-4)


def test_what_cannot_be_is_one_line() -> None:
    for options in ({"temperature": 0.0}, {"up": "x"}, {"temperature": True}):
        with pytest.raises(DdeqError):
            small(**options)
    with pytest.raises(DdeqError, match="3 dimensions"):
        Classifier(2, 3, up="auto")
    with pytest.raises(DdeqError, match="up must be"):
        recognise([solid()], small(), up="w")


def test_the_command_says_what_is_unlike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savetxt(tmp_path / "solid.xyz", solid())
    argv = ["classify", str(tmp_path / "solid.xyz"), "--weights"]
    for unfamiliar, unlike in ((-1e6, True), (1e6, False), (None, None)):
        model = small(unfamiliar=unfamiliar, temperature=2.0, up="auto")
        folder = tmp_path / f"model-{unfamiliar}"
        model.save_pretrained(folder)
        assert Classifier.from_pretrained(folder).config() == model.config()
        assert main([*argv, str(folder)]) == 0
        assert ("unlike the training data" in capsys.readouterr().out) == bool(unlike)
        assert main([*argv, str(folder), "--json"]) == 0
        (result,) = json.loads(capsys.readouterr().out)
        assert result["unlike_training_data"] is unlike
        found = ddeq.classify(solid(), folder)
        assert (found.unlike, found.up) == (unlike, result["up"])
        assert main([*argv, str(folder), "--json", "--up", "y"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["up"] == "y"


def test_weights_that_tell_what_is_upright_are_asked() -> None:
    clouds, model = [solid(seed) for seed in range(6)], small(upright=True)
    x = ddeq.PointClouds.from_list([torch.as_tensor(cloud) for cloud in clouds])
    taken = recognise(clouds, model, up="auto").y_up
    assert torch.equal(taken, model.uprightness(from_y_up(x)) > model.uprightness(x))
    assert model.upright is not None
    with torch.no_grad():
        model.upright.weight.neg_()
    assert torch.equal(recognise(clouds, model, up="auto").y_up, ~taken)


def test_what_is_upright_is_learned_from_pairs() -> None:
    right = torch.randn(200, 5, generator=torch.manual_seed(0))
    fallen = torch.stack([right - torch.eye(5)[0], right - torch.eye(5)[1]])
    weights = fit_upright(right, fallen)
    assert (weights[:2] > 10 * weights[2:].abs().max()).all()
    assert (right @ weights > fallen @ weights).all()
