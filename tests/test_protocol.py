"""The protocol: what is shown, what is measured, known answers, the command."""

import json

import numpy as np
import pytest

from ddeq.cli import main
from ddeq.data import CloudDataset, load
from ddeq.data.cuts import CUTS
from ddeq.errors import DdeqError
from ddeq.models import Completer
from ddeq.models.baselines import PCN, copy_visible, moment_gaussian
from ddeq.models.baselines.completers import (
    GuessCompleter,
    ModelCompleter,
    PCNCompleter,
    guess_completers,
    mean_share,
)
from ddeq.protocol import METRICS, evaluate, measure, problems, table


@pytest.fixture(scope="module")
def digits() -> CloudDataset:
    return load("mnist-mini", "test").subset(range(12))


@pytest.fixture(scope="module")
def scans() -> CloudDataset:
    data = load("scans", "test").subset(range(4))
    return CloudDataset.from_list([c[:200] for c in data.clouds], [0] * 4, ("object",), "few")


def nothing(partials):
    return [partial[:0] for partial in partials]


class Oracle:
    """Knows the removed points of every problem, as a completer would have to give them."""

    def __init__(self, tasks):
        self.answers = {t.shown.tobytes(): (t.removed - t.centre) / t.scale for t in tasks}

    def __call__(self, partials):
        return [self.answers[partial.tobytes()] for partial in partials]


@pytest.mark.parametrize("cut", ["balls", "brush", "half", "view", "random"])
def test_the_removed_points_are_a_perfect_answer(scans, cut):
    result = evaluate(Oracle(problems(scans, cut, 3)), scans, cut, 3)
    for name in ("OT new", "W2 new", "MMD2 new", "MMD2 whole", "Chamfer", "distance"):
        assert result.metrics[name].value == pytest.approx(0, abs=1e-6)
    for name in ("F-score", "near", "better"):
        assert result.metrics[name].value == 1
    assert result.metrics["unchanged"].value == 0


def test_nothing_is_shown_of_the_whole(digits, scans):
    for data in (digits, scans):
        for task in problems(data, "balls", 1):
            assert np.abs(task.shown.mean(0)).max() < 1e-5
            assert task.shown.var(0).mean() == pytest.approx(1, abs=1e-5)
            assert task.whole.var(0).mean() == pytest.approx(1, abs=1e-5)
            assert np.allclose(task.back(task.shown), task.kept, atol=1e-5)


def test_scale_and_place_and_heading_of_the_source_change_nothing(scans):
    moved = CloudDataset.from_list([1000 * c + 5 for c in scans.clouds], [0] * 4, ("o",), "moved")
    for a, b in zip(problems(scans, "half", 0), problems(moved, "half", 0), strict=True):
        assert np.allclose(a.shown, b.shown, atol=1e-3)
    headings = [problems(scans, "whole", seed)[0].shown for seed in (0, 1)]
    assert not np.allclose(*headings, atol=0.1)
    assert np.allclose(*(np.sort(h[:, 2]) for h in headings), atol=1e-5)


def test_the_same_seed_gives_every_completer_the_same_clouds(digits):
    seen = []

    def watch(partials):
        seen.append(np.concatenate(partials))
        return nothing(partials)

    for seed in (0, 0, 1):
        evaluate(watch, digits, "brush", seed)
    assert (seen[0] == seen[1]).all()
    assert seen[0].shape != seen[2].shape or (seen[0] != seen[2]).any()


def test_the_told_frame_is_the_papers(digits):
    for i, task in enumerate(problems(digits, "balls", 0, told=True)):
        assert np.allclose(task.whole.var(0), 1, atol=1e-4)
        assert np.allclose(task.shown, task.kept, atol=1e-6)
        gap = np.abs(task.whole[:, None] - digits[i][0].numpy()[None]).sum(2).min(1)
        assert gap.max() < 1e-5


def test_doing_nothing(digits):
    result = evaluate(nothing, digits, "balls")
    assert result.metrics["better"].value == 0
    assert result.metrics["unchanged"].value == 1
    assert np.isnan(result.metrics["OT new"].value)
    assert 0.5 < result.metrics["F-score"].value < 1


def test_whole_clouds_count_what_is_added(digits):
    result = evaluate(GuessCompleter(copy_visible, 0.5), digits, "whole")
    assert result.metrics["added"].value == pytest.approx(0.5, abs=0.01)
    assert result.metrics["better"].value == 0
    assert np.isnan(result.metrics["W2 new"].value)


def test_known_distances():
    whole = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    data = CloudDataset.from_list([whole], [0], ("square",), "square")
    task = problems(data, "half", 0)[0]
    assert len(task.removed) in (1, 2)
    values = measure(task, task.removed + np.array([0.3, 0.4]))
    assert values["OT new"] == pytest.approx(0.5)
    assert values["W2 new"] == pytest.approx(0.5)
    assert values["distance"] == pytest.approx(0.5)
    assert values["near"] == 1  # the sides of the square are 2 long, near is 4


def test_the_surface_lies_between_the_points_of_a_cloud():
    rng = np.random.default_rng(0)
    flat = np.column_stack([rng.uniform(-1, 1, (600, 2)), np.zeros(600)])
    data = CloudDataset.from_list([flat], [0], ("square",), "square")
    task = problems(data, "half", 0, unit="radius")[0]
    inside = np.array([[0.6, 0.3, 0.1]]) * np.ones((300, 1))
    corners = task.whole[rng.integers(len(task.whole), size=(300, 3))]
    second = (inside[..., None] * corners).sum(1)  # the square is convex
    on, above = (measure(task, second + np.array([0, 0, h])) for h in (0.0, 0.2))
    assert on["surface"] == pytest.approx(0, abs=1e-9)
    assert on["distance"] > 0.02
    assert above["surface"] == pytest.approx(0.2, abs=1e-3)
    beside = measure(task, task.whole[:1] + np.array([[5.0, 0, 0]]))
    assert beside["surface"] == pytest.approx(beside["distance"], rel=0.1)


def test_units(scans):
    figures = [
        evaluate(GuessCompleter(copy_visible), scans, unit=u) for u in ("radius", "deviation")
    ]
    small, large = (f.metrics["OT new"].value for f in figures)
    assert 1.2 < large / small < 4
    assert figures[0].metrics["F-score"] == figures[1].metrics["F-score"]


def test_the_moment_gaussian_needs_the_told_frame(digits):
    guess = GuessCompleter(moment_gaussian)
    told = evaluate(guess, digits, told=True, counts=True).metrics["OT new"].value
    own = evaluate(guess, digits, counts=True).metrics["OT new"].value
    assert told < 0.7 * own


def test_a_cloud_does_not_depend_on_its_batch(digits):
    completer = ModelCompleter(Completer.from_pretrained("mnist-pc"))
    for method in (completer, GuessCompleter(copy_visible), PCNCompleter(PCN(2, coarse=20))):
        alone, together = (evaluate(method, digits, batch_size=b) for b in (1, 64))
        for name in METRICS:
            assert np.allclose(alone.values[name], together.values[name], atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("told", [False, True])
def test_every_completer_stands_in_one_table(digits, told):
    train = load("mnist-mini", "train").subset(range(50))
    methods = guess_completers(train, "balls", told=told)
    assert ("moment Gaussian" in methods) == told
    results = {n: evaluate(m, digits, told=told, counts=told) for n, m in methods.items()}
    text = table(results)
    assert all(name in text for name in methods)
    assert all(len(line) == len(text.splitlines()[0]) for line in text.splitlines())
    stored = json.loads(json.dumps(results["copy"].to_json()))
    assert stored["settings"]["cut"] == "balls"
    assert set(stored["metrics"]) == set(METRICS)
    assert {"ddeq", "torch", "numpy", "python"} <= set(stored["versions"])


def test_the_share_that_is_missing(digits):
    data = load("mnist-mini", "train")
    assert 0.2 < mean_share(data, "balls") < 0.4
    assert mean_share(data, "whole") == 0


def test_bad_completers_and_settings_are_refused(digits):
    with pytest.raises(DdeqError, match="unknown cut"):
        evaluate(nothing, digits, "slice")
    with pytest.raises(DdeqError, match="unit"):
        evaluate(nothing, digits, unit="inch")
    with pytest.raises(DdeqError, match="0 clouds"):
        evaluate(lambda partials: [], digits)
    with pytest.raises(DdeqError, match=r"\(1, 3\)"):
        evaluate(lambda partials: [np.zeros((1, 3))] * len(partials), digits)
    with pytest.raises(DdeqError, match="finite"):
        evaluate(lambda partials: [np.full((1, 2), np.nan)] * len(partials), digits)


def test_the_command_prints_and_writes_the_table(tmp_path, capsys):
    file = tmp_path / "figures.json"
    command = ["eval", "mini-completion", "--protocol", "--limit", "6", "--cut"]
    assert main([*command, "balls", "-o", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "retrieval" in printed
    assert "OT new" in printed
    stored = json.loads(file.read_text())
    assert set(stored["balls"]) >= {"mnist-pc", "copy", "mirror"}
    assert main([*command, "view"]) == 2
    assert "3-D" in capsys.readouterr().err
    assert main(["eval", "mini-classification", "--protocol", "--limit", "6"]) == 2


def test_every_cut_is_offered_by_the_command():
    assert set(CUTS) == {"balls", "brush", "half", "view", "random", "whole"}
