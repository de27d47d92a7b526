"""What the small experiments must show, and that the pages hold what is in ``results``."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from ddeq.cli.reproduce import find, titles
from ddeq.cli.reproduce_pages import DATA, overview, page, result_path, results_text
from ddeq.cli.results_page import readme
from ddeq.solvers import Picard

ROOT = Path(__file__).resolve().parents[1]
FOUND = find(ROOT / "experiments")
KEPT = [path for path in sorted((ROOT / "results").rglob("*.json")) if path.stem in FOUND]
SHOWN = {
    name: paths[0]
    for name in titles(FOUND)
    if (
        paths := [
            path for data in DATA if (path := result_path(ROOT / "results", name, data)).is_file()
        ]
    )
}
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


def module(name: str) -> ModuleType:
    return FOUND[name].load()


def run(name: str, budget: float = 20.0) -> dict[str, Any]:
    """The small run of an experiment, the last of what it gives in parts."""
    result = module(name).run("mini", budget)
    return list(result)[-1] if isinstance(result, Iterator) else result


def scalars(value: object) -> list[float]:
    """All numbers of a result, those in its texts too, as they are and in percent."""
    if isinstance(value, dict):
        return [number for inner in value.values() for number in scalars(inner)]
    if isinstance(value, list):
        return [number for inner in value for number in scalars(inner)]
    if isinstance(value, str):
        return [float(number) for number in NUMBER.findall(value)]
    return [float(value), 100 * value] if isinstance(value, float) else []


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def figures(text: str) -> list[str]:
    """Decimal figures of prose and tables; commands in backquotes have options, not figures."""
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)|arXiv [\d.]+", "", text)
    return NUMBER.findall(prose)


def test_the_generated_pages_are_up_to_date() -> None:
    about = titles(FOUND)
    assert text_of(ROOT / "RESULTS.md") == results_text(about, ROOT), "run ddeq reproduce report"
    docs = ROOT / "docs"
    assert text_of(docs / "paper.md") == overview(about, ROOT), "run ddeq reproduce report"
    for name, path in SHOWN.items():
        assert text_of(docs / "paper" / f"{name}.md") == page(name, about[name], path), name
    for name, lines in readme(ROOT / "results").items():
        assert f"<!-- begin: {name} -->\n\n{lines}\n" in text_of(ROOT / "README.md"), name


@pytest.mark.parametrize("name", ["README.md", "RESULTS.md"])
def test_every_figure_is_among_the_results(name: str) -> None:
    text = text_of(ROOT / name)
    if name == "README.md":
        text = text.partition("## What it reaches")[2].partition("\n## ")[0]
    files = [json.loads(text_of(path)) for path in (ROOT / "results").rglob("*.json")]
    known = np.array([number for file in files for number in scalars(file)])
    values = np.sort(known[np.isfinite(known)])
    wanted = figures(text)
    assert wanted
    for figure in wanted:
        half = 0.5001 * 10.0 ** -len(figure.partition(".")[2])
        at = np.searchsorted(values, float(figure) - half)
        assert at < len(values), figure
        assert values[at] <= float(figure) + half, figure


def test_the_results_of_the_shipped_models_are_there() -> None:
    assert set(readme(ROOT / "results")) == {"scans", "classes"}


def test_a_training_goes_by_steps_and_is_kept(tmp_path: Path) -> None:
    module("deq")
    import equal_time
    import recipes as shared
    from common import digits, some

    recipe = shared.from_paper("paper-mnist-completion", Picard(3, 0.0), "mini")
    clouds = shared.thinned(some(digits("mini", "train"), 260, 0), 24)
    budget = equal_time.Budget(0, 12, 16, 3)
    found = equal_time.learn(recipe, clouds, budget, tmp_path)
    assert [point[0] for point in found.curve] == [4, 8, 12]
    again = equal_time.learn(recipe, clouds, budget, tmp_path)
    assert again.curve == found.curve
    assert len(list(tmp_path.iterdir())) == 1


def test_a_training_goes_by_cpu_time(tmp_path: Path) -> None:
    module("deq")
    import equal_time
    import recipes as shared
    from common import digits, some

    recipe = shared.from_paper("paper-mnist-completion", Picard(2, 0.0), "mini")
    clouds = shared.thinned(some(digits("mini", "train"), 200, 0), 16)
    found = equal_time.learn(recipe, clouds, equal_time.Budget(1.0, 0, 16, 2), tmp_path)
    assert len(found.curve) == 2
    assert 1.0 <= found.curve[-1][1] < 3.0


def test_a_row_is_made_once(tmp_path: Path) -> None:
    module("deq")
    import equal_time

    made: list[int] = []
    for _ in range(2):
        value = equal_time.remembered(tmp_path / "a" / "b.json", lambda: made.append(1) or 7)
        assert value == 7
    assert made == [1]


def test_corruption_errors_are_those_of_dgcnn() -> None:
    errors, kinds = module("corruptions")._errors, module("corruptions").CORRUPTIONS
    reference = {"clean": [0.9], **{kind: [0.8, 0.4] for kind in kinds}}
    assert errors(reference, reference)["mCE"] == pytest.approx(1.0)
    half = errors({"clean": [0.9], **{kind: [0.8] for kind in kinds}}, reference)
    assert half["mCE"] == pytest.approx(0.5)  # (1 - 0.8) / (1 - 0.6)
    assert half["RmCE"] == pytest.approx(1 / 3)  # (0.9 - 0.8) / (0.9 - 0.6)


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
    result = run(name)
    assert json.dumps(result)
    assert all(module(name).expect(result).values())
    if hasattr(module(name), "plot"):
        assert module(name).plot(result).axes
