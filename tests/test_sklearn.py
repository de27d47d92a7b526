"""The estimators: labels of any type, clouds of any size, one model for one seed."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import ddeq
from ddeq.sklearn_base import Parameters, check_clouds
from ddeq.training import PRESETS

QUICK = {"epochs": 2, "batch_size": 8}


def blobs(count: int = 16, dim: int = 2) -> tuple[list[np.ndarray], list[str]]:
    """Discs and lines of different sizes, far from the origin."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(20 + i, dim)) for i in range(count)]
    for cloud in clouds[::2]:
        cloud[:, 1:] = cloud[:, :1]
    return [3.0 * cloud + 1e6 for cloud in clouds], ["line", "disc"] * (count // 2)


@pytest.fixture(scope="module")
def classifier() -> ddeq.PointCloudClassifier:
    return ddeq.PointCloudClassifier(epochs=12, batch_size=8, max_points=20).fit(*blobs())


@pytest.fixture(scope="module")
def completer() -> ddeq.PointCloudCompleter:
    return ddeq.PointCloudCompleter(**QUICK).fit(blobs(8)[0])


def test_a_classifier_learns(classifier) -> None:
    x, y = blobs()
    assert classifier.classes_.tolist() == ["disc", "line"]
    assert classifier.score(x, y) >= 0.9
    probability = classifier.predict_proba(x)
    assert probability.shape == (16, 2)
    np.testing.assert_allclose(probability.sum(1), 1, atol=1e-6)
    guesses = classifier.classes_[probability.argmax(1)]
    assert (classifier.predict(x) == guesses).all()
    alone = classifier.predict_proba(x[3:4])
    np.testing.assert_allclose(alone[0], probability[3], atol=1e-4)


def test_a_trained_classifier_is_saved_and_read(classifier, tmp_path) -> None:
    classifier.model_.save_pretrained(tmp_path)
    loaded = ddeq.Classifier.from_pretrained(tmp_path)
    assert loaded.classes == ["disc", "line"]


@pytest.mark.parametrize("labels", [[3, 7], [True, False], ["a", "bc"]], ids=str)
def test_labels_of_any_type_come_back(labels) -> None:
    x = np.random.default_rng(0).normal(size=(4, 9, 3)).astype(np.float32)
    y = np.array(labels * 2)
    model = ddeq.PointCloudClassifier(epochs=1, batch_size=4, random_state=None).fit(x, y)
    guesses = model.predict(torch.from_numpy(x))
    assert guesses.dtype == y.dtype
    assert set(guesses.tolist()) <= set(labels)


def test_completion_keeps_the_input_to_the_bit(completer) -> None:
    x = blobs(4)[0]
    x[1] = x[1].astype(np.float32)
    for part, full in zip(x, completer.predict(x), strict=True):
        assert full.dtype == part.dtype
        assert 0.1 * len(part) <= len(full) - len(part) <= 0.75 * len(part)
        assert full[: len(part)].tobytes() == part.tobytes()
        assert np.abs(full - 1e6).max() < 100


def test_many_points_are_completed_at_their_own_density(completer) -> None:
    many = np.random.default_rng(0).normal(size=(20_000, 2))
    (full,) = completer.predict([many])
    assert full[:20_000].tobytes() == many.tobytes()
    assert 1024 < len(full) - 20_000 <= 0.75 * 20_000
    assert np.abs(full).max() < 100


def test_estimators_train_by_our_recipes(classifier, completer) -> None:
    recipes = PRESETS["mini-classification"], PRESETS["mini-completion"]
    for model, recipe in zip((classifier.model_, completer.model_), recipes, strict=True):
        assert model.network.config.fourier == recipe.network.fourier
        assert model.solver == recipe.solver


def test_completion_is_scored(completer) -> None:
    whole = blobs(4)[0]
    nothing_missing = completer.score(whole, whole)
    assert completer.score([cloud[:5] for cloud in whole], whole) < nothing_missing <= 0
    assert completer.score(whole) == completer.score(whole) < 0


def test_the_same_seed_gives_the_same_model_and_leaves_the_caller_alone() -> None:
    x, y = blobs(4)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    models = [ddeq.PointCloudClassifier(epochs=1, random_state=s).fit(x, y) for s in (3, 3, 4)]
    assert torch.equal(torch.get_rng_state(), before)
    first, same, other = (model.predict_proba(x) for model in models)
    assert (first == same).all()
    assert (first != other).any()


@pytest.mark.parametrize("name", ["PointCloudClassifier", "PointCloudCompleter"])
def test_scikit_learn_knows_them(name: str) -> None:
    base = pytest.importorskip("sklearn.base")
    made = getattr(ddeq, name)(epochs=3, random_state=5)
    copy = base.clone(made)
    assert copy.get_params() == made.get_params()
    assert copy.set_params(epochs=9).epochs == 9
    assert base.is_classifier(made) == (name == "PointCloudClassifier")


def test_cross_validation() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    model = ddeq.PointCloudClassifier(epochs=1, batch_size=4)
    scores = selection.cross_val_score(model, *blobs(4), cv=2, error_score="raise")
    assert scores.shape == (2,)


def test_parameters_without_scikit_learn() -> None:
    class Estimator(Parameters):
        def __init__(self, size: int = 3) -> None:
            self.size = size

    assert Estimator(4).get_params() == {"size": 4}
    assert Estimator().set_params(size=7).size == 7
    with pytest.raises(ValueError, match="colour"):
        Estimator().set_params(colour=1)


@pytest.mark.parametrize(
    ("clouds", "words"),
    [
        ([], "no clouds"),
        (np.zeros((5, 2)), "in a list"),
        ([np.zeros((0, 2))], "cloud 0"),
        ([np.zeros((3, 2)), np.zeros((3, 3))], "cloud 1 is 3-D"),
        ([np.full((3, 2), np.nan)], "NaN"),
        ([np.array([["a", "b"]])], "expected numbers"),
    ],
)
def test_bad_clouds_are_named(clouds, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_clouds(clouds)


def test_bad_use_is_one_line(classifier) -> None:
    x, y = blobs(4)
    with pytest.raises(ValueError, match="call fit first"):
        ddeq.PointCloudClassifier().predict(x)
    with pytest.raises(ValueError, match="4 clouds but 3 labels"):
        ddeq.PointCloudClassifier().fit(x, y[:3])
    with pytest.raises(ValueError, match="two classes"):
        ddeq.PointCloudClassifier().fit(x, ["a"] * 4)
    with pytest.raises(ValueError, match="it was trained on 2-D"):
        classifier.predict(blobs(4, dim=3)[0])
    with pytest.raises(ValueError, match="2-D or 3-D"):
        ddeq.PointCloudCompleter().fit(np.zeros((2, 5, 4)))
    with pytest.raises(ValueError, match="two points"):
        ddeq.PointCloudCompleter().fit(np.zeros((2, 1, 2)))


def test_it_works_where_scikit_learn_is_missing() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None\n"
        "import ddeq; e = ddeq.PointCloudClassifier(epochs=4)\n"
        "assert e.get_params()['epochs'] == 4 and e.set_params(epochs=5).epochs == 5"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
