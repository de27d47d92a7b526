"""What the small experiments must show, and that the pages hold what is in ``results``."""

import json
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from ddeq.cli.reproduce import find, titles
from ddeq.cli.reproduce_pages import block, page
from ddeq.nn import Network
from ddeq.solvers import Picard

ROOT = Path(__file__).resolve().parents[1]
FOUND = find(ROOT / "experiments")
KEPT = [path for path in sorted((ROOT / "results").rglob("*.json")) if path.stem in FOUND]
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


def module(name: str) -> ModuleType:
    return FOUND[name].load()


def scalars(value: object) -> list[float]:
    """Numbers with a name of their own, as they are and in percent; those in lists do not count."""
    if isinstance(value, dict):
        return [number for inner in value.values() for number in scalars(inner)]
    return [float(value), 100 * value] if isinstance(value, float) else []


def test_the_generated_pages_are_up_to_date() -> None:
    about, results = titles(FOUND), (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert block(about, ROOT) in results, "run ddeq reproduce report"
    paper = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert page(about, ROOT) == paper, "run ddeq reproduce report"


def test_every_figure_of_the_readme_is_among_the_results() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    known = [float(n) for n in NUMBER.findall((ROOT / "RESULTS.md").read_text(encoding="utf-8"))]
    for path in (ROOT / "results").rglob("*.json"):
        known += scalars(json.loads(path.read_text(encoding="utf-8")))
    figures = [number for line in table for number in NUMBER.findall(line)]
    assert figures
    for figure in figures:
        digits = len(figure.split(".")[1])
        assert any(round(value, digits) == float(figure) for value in known), figure


def test_a_short_training_learns_and_probing_costs_nothing() -> None:
    short = module("deq")
    learn, recipe_of = short.learn, short.paper_recipe
    recipe = recipe_of("paper-mnist-completion", Picard(3, 0.0))
    assert recipe.network != Network()
    clouds = short.thinned(short.digits("mini", "train").subset(np.arange(40)), 24)
    found = learn(recipe, clouds, clouds.subset(np.arange(6)), steps=12, probes=3)
    assert [point[0] for point in found.curve] == [0, 4, 8, 12]
    assert found.curve[-1][2] < found.curve[0][2]
    assert found.metrics["mmd2"].value == found.curve[-1][2]
    again = learn(recipe, clouds, clouds.subset(np.arange(6)), steps=12, probes=1)
    assert again.curve[-1][2] == found.curve[-1][2], "probing changes the training"


def test_a_collapse_is_flagged() -> None:
    assert module("deq").is_collapsed(0.01, 5.0) == "yes"
    assert module("deq").is_collapsed(4.0, 5.0) == "no"


def test_an_average_starts_where_the_values_do() -> None:
    smooth = module("theory").smooth
    assert smooth([3.0, 3.0, 3.0]).tolist() == pytest.approx([3.0, 3.0, 3.0])
    assert smooth([0.0, 1.0])[1] > 0.5


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_results_are_kept_whole_and_are_as_expected(path: Path) -> None:
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["command"].startswith(f"ddeq reproduce {path.stem}")
    assert {"settings", "seed", "versions", "cpu_seconds", "rows", "shows"} <= set(result)
    expected = module(path.stem).expect(result)
    assert expected
    assert [what for what, holds in expected.items() if not holds] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FOUND))
def test_an_experiment_runs_on_the_embedded_data(name: str) -> None:
    torch.manual_seed(0)
    result = module(name).run("mini", 20.0)
    assert json.dumps(result)
    assert all(module(name).expect(result).values())
    if hasattr(module(name), "plot"):
        assert module(name).plot(result).axes
