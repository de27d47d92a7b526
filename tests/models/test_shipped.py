"""The weights in the package: they load without a network and do what their cards say."""

import json
import os

import numpy as np
import pytest
import torch

from ddeq import Classifier, Completer, mmd2, protocol
from ddeq.cli import main
from ddeq.data import collate, collate_partial, load
from ddeq.evaluation import partial_tasks
from ddeq.models.baselines.completers import ModelCompleter
from ddeq.models.pretrained import SHIPPED, shipped


def some(count: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(load("mnist-mini", "test")))[:count]


@pytest.mark.parametrize("kind", ["classifier", "completer"])
def test_every_model_has_a_card_and_no_pickle(kind: str) -> None:
    assert "mnist-pc" in shipped(kind)
    for name in shipped(kind):
        files = {path.name for path in (SHIPPED / f"{kind}-{name}").iterdir()}
        assert files == {"README.md", "config.json", "model.safetensors"}
        card = (SHIPPED / f"{kind}-{name}" / "README.md").read_text()
        assert card.startswith("---\nlibrary_name: ddeq\n"), f"{name}: no front matter"


def test_the_classifier_knows_unseen_digits() -> None:
    data = load("mnist-mini", "test").subset(some(200))
    x, labels = collate([data[i] for i in range(len(data))])
    with torch.no_grad():
        guesses = Classifier.from_pretrained("mnist-pc")(x).argmax(1)
    assert (guesses == labels).float().mean() >= 0.95


def test_the_completer_brings_partial_digits_nearer_to_whole_ones() -> None:
    tasks = partial_tasks(load("mnist-mini", "test").subset(some(32)))
    batch = collate_partial([tasks[i] for i in range(len(tasks))])
    model = Completer.from_pretrained("mnist-pc")
    before = mmd2(batch.partial, batch.target).mean()
    for normalize, gain in ((False, 0.5), (True, 0.8)):
        full = model.complete(batch.partial, normalize=normalize)
        assert mmd2(full, batch.target).mean() < gain * before


def test_scanned_objects_get_their_holes_filled_and_whole_ones_nothing() -> None:
    data = load("scans", "validation").subset(np.arange(0, 80, 8))
    ours = ModelCompleter(Completer.from_pretrained("scans"))
    found = protocol.evaluate(ours, data, "balls", unit="radius").metrics
    assert found["OT new"].value < 0.36
    assert found["distance"].value < 0.06
    assert found["better"].value >= 0.8
    whole = protocol.evaluate(ours, data, "whole")
    assert whole.metrics["added"].value < 0.05
    assert np.median(whole.values["added"]) == 0.0


REACHED = {
    "mnist-classification": {"accuracy": (0.992, 1.0)},
    "modelnet40-classification": {"accuracy": (0.88, 1.0)},
    "mnist-completion": {
        "mmd2 whole": (0.0, 0.0030),
        "W2 free": (0.0, 0.41),
        "W2 whole": (0.0, 0.15),
    },
    "modelnet8-completion": {"OT whole": (0.0, 0.07), "OT free": (0.0, 0.5)},
}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", REACHED)
def test_the_whole_test_set(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "DDEQ_DATA" not in os.environ:
        pytest.skip("DDEQ_DATA is not set")
    assert main(["eval", recipe, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    means = {name: found[name]["value"] for name in REACHED[recipe]}
    bounds = REACHED[recipe]
    assert all(bounds[name][0] <= value <= bounds[name][1] for name, value in means.items()), means


def test_tour(tmp_path, capsys) -> None:
    assert main(["tour", "-o", str(tmp_path / "tour.png")]) == 0
    said = capsys.readouterr().out
    assert "6 right" in said
    assert "completed a scanned object" in said
    assert (tmp_path / "tour.png").stat().st_size > 20_000
