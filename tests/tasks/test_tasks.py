"""Tasks by name, a task of one's own, and regression, which no line outside its file knows of."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq.data import CloudDataset, collate, load
from ddeq.errors import DdeqError
from ddeq.evaluation import evaluate
from ddeq.models import Classifier
from ddeq.models.regressor import Regressor
from ddeq.tasks import Classification, Regression, Task
from ddeq.training import PRESETS, train
from ddeq.training.data import CloudData

TINY = {"batch_size": 8, "warmup": 2, "train_steps": (2, 3), "epochs": 1}
FEW = {"limit_train_batches": 3, "limit_val_batches": 1}


def numbered(split: str, count: int = 200) -> CloudDataset:
    """Embedded digits, each with how much wider than high it is, in percent."""
    digits = load("mnist-mini", split).subset(np.arange(count))
    sizes = [np.ptp(cloud, axis=0) for cloud in digits.clouds]
    targets = [100.0 * width / height for width, height in sizes]
    return CloudDataset.from_list(digits.clouds, targets, (), "widths")


def test_an_unknown_task_is_an_error() -> None:
    with pytest.raises(DdeqError, match="unknown task 'completoin': one of classification, comp"):
        replace(PRESETS["mini-completion"], task="completoin")


def test_targets_are_kept_as_they_are() -> None:
    data = numbered("train", 5)
    labels = [label for _, label in data]
    assert labels == data.labels.tolist()
    assert any(label != int(label) for label in labels)
    assert collate(list(data))[1].dtype == torch.float32
    assert collate(list(load("mnist-mini", "test").subset([0])))[1].dtype == torch.int64


@pytest.mark.parametrize(("label", "classes"), [(0.5, ("a",)), (float("nan"), ()), (1, ("a",))])
def test_targets_that_are_none_are_refused(label: float, classes: tuple[str, ...]) -> None:
    with pytest.raises(DdeqError, match="tiny: "):
        CloudDataset.from_list([np.eye(2)], [label], classes, "tiny")


def test_regression_learns_a_number(tmp_path: Path) -> None:
    recipe = replace(
        PRESETS["mini-classification"],
        task="regression",
        data="widths",
        epochs=6,
        batch_size=10,
        warmup=10,
        average=0.0,
        train_steps=(2, 4),
    )
    batches = CloudData(recipe, whole=numbered("train"))
    model = train(recipe, tmp_path, data=batches, verbose=False)
    assert isinstance(model, Regressor)
    test = numbered("test")
    report = evaluate(model, test)
    assert report.metrics["squared error"].value < 0.5 * test.labels.var()
    assert report.confusion is None
    loaded = Regressor.from_pretrained(tmp_path / "model")
    x = collate([test.in_proportion()[i] for i in range(3)])[0]
    assert torch.equal(loaded(x), model(x))


def test_regression_needs_numbers() -> None:
    recipe = replace(PRESETS["mini-classification"], task="regression")
    with pytest.raises(DdeqError, match="regression needs a number per cloud"):
        CloudData(recipe)


def test_a_task_of_ones_own_is_trained_by_name(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Parity(Classification):
        """Whether a digit is odd."""

        name = "parity"

        def prepare(self, data: CloudDataset) -> CloudDataset:
            labels = data.labels % 2
            return super().prepare(replace(data, labels=labels, classes=("even", "odd")))

    recipe = replace(PRESETS["mini-classification"], task="parity", **TINY)
    model = train(recipe, tmp_path, verbose=False, trainer_options=FEW)
    assert isinstance(model, Classifier)
    assert model.classes == ["even", "odd"]


def test_evaluation_refuses_what_does_not_fit() -> None:
    model = Classifier(3, 10)
    with pytest.raises(DdeqError, match="it is for 3-D clouds"):
        evaluate(model, load("mnist-mini", "test"))
    with pytest.raises(DdeqError, match="classification has no option 'own_frame'"):
        evaluate(Classifier(2, 10), load("mnist-mini", "test"), own_frame=True)


def test_regression_is_a_task() -> None:
    assert Task.of("regression") is Regression
