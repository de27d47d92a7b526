"""``ddeq reproduce``: experiments are found, run, kept and reported."""

import json
from pathlib import Path

import pytest

from ddeq.cli import main
from ddeq.cli.reproduce import PAPER, find
from ddeq.cli.reproduce_pages import table

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = '''
"""Doubles numbers."""

NAME = "table-4"
PAPER = "Table 4"


def run(data, budget):
    rows = [{"x": 1, "y": 2.0}, {"x": 2, "note": "last"}]
    return {"seed": 3, "settings": {"data": data}, "rows": rows, "shows": "It doubles."}


def expect(result):
    return {"one and one is two": result["rows"][0]["y"] == 2.0}


def plot(result):
    from matplotlib.figure import Figure

    return Figure()
'''


SETTINGS = {"frame": "own", "clouds": 3, "data": "toy/test"}


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "double.py").write_text(EXPERIMENT)
    (folder / "helper.py").write_text("raise RuntimeError('a helper is never run')\n")
    (tmp_path / "RESULTS.md").write_text("# Results\n\nBy hand.\n")
    return tmp_path


def reproduce(clone, *words):
    return main(["reproduce", *words, "--clone", str(clone)])


def test_a_result_is_written_by_the_program(clone, capsys):
    assert reproduce(clone, "list") == 0
    before = capsys.readouterr().out
    assert len(before.splitlines()) == len(PAPER)
    assert "not run" in next(line for line in before.splitlines() if line.startswith("table-4"))
    assert reproduce(clone, "all", "--data", "mini") == 0
    assert "It doubles." in capsys.readouterr().out
    stored = json.loads((clone / "results" / "mini" / "table-4.json").read_text())
    assert stored["seed"] == 3
    assert stored["settings"] == {"data": "mini"}
    assert stored["command"] == "ddeq reproduce table-4 --data mini"
    assert {"versions", "cpu_seconds", "budget", "rows"} <= set(stored)
    assert (clone / "results" / "mini" / "table-4.png").is_file()
    assert reproduce(clone, "list") == 0
    assert "done (mini)" in capsys.readouterr().out


def test_the_report_is_written_from_results_alone(clone):
    assert reproduce(clone, "table-4") == 0
    assert reproduce(clone, "report") == 0
    first = (clone / "RESULTS.md").read_text()
    assert "By hand." not in first
    assert "| x | y | note |" in first
    assert "It doubles." in first
    assert reproduce(clone, "report") == 0
    assert (clone / "RESULTS.md").read_text() == first


def evaluated(weights, frame, metrics, command):
    return {
        "command": command,
        "model": "classifier",
        "weights": weights,
        "parameters": 1234567,
        "data": "toy/test",
        "clouds": 2000,
        "frame": frame,
        "metrics": {name: {"value": v, "error": e} for name, (v, e) in metrics.items()},
    }


def test_the_report_has_what_eval_wrote(clone):
    folder = clone / "results" / "eval"
    folder.mkdir(parents=True)
    first = evaluated("a", "its own", {"accuracy": (0.98765, 0.00123)}, "ddeq eval toy")
    told = {"mmd2 whole": (0.00204, 0.00002), "W2 free": (0.355, 0.002)}
    (folder / "a.json").write_text(json.dumps(first))
    second = evaluated("b", "the frame of the whole", told, "ddeq eval b --ratio 0.275")
    (folder / "b.json").write_text(json.dumps(second))
    third = evaluated("b", "each cloud's own frame", told, "ddeq eval b --own-frame")
    (folder / "c.json").write_text(json.dumps(third))
    assert reproduce(clone, "report") == 0
    text = (clone / "RESULTS.md").read_text()
    assert "98.77 ± 0.12 %" in text
    assert "| 0.00204 ± 0.00002 | 0.355 ± 0.002 |" in text
    assert text.index("--ratio 0.275` |") < text.index("in the frame of what is visible")
    assert text.index("in the frame of what is visible") < text.index("--own-frame` |")


def test_the_report_fills_the_tables_of_the_readme(clone):
    (clone / "README.md").write_text("A\n<!-- begin: scans -->\nold\n<!-- end: scans -->\nB\n")
    results = clone / "results"
    results.mkdir()
    metrics = {
        "OT new": {"value": 0.2634, "error": 0.009},
        "better": {"value": 0.95, "error": 0.02},
    }
    metrics["unchanged"] = {"value": 0.888, "error": 0.02}
    for cut in ("balls", "view", "whole"):
        names = ("scans", "mirror", "retrieval", "copy")
        found = {cut: {name: {"metrics": metrics, "settings": SETTINGS} for name in names}}
        (results / f"completion-scans-{cut}.json").write_text(json.dumps(found))
    assert reproduce(clone, "report") == 0
    text = (clone / "README.md").read_text()
    assert "old" not in text
    assert "**0.263 ± 0.009** | **95 ± 2 %**" in text
    assert "nothing in 89 % of the cases" in text
    assert text.startswith("A\n")
    assert text.endswith("B\n")


def test_each_experiment_has_a_page_with_table_and_plot(clone):
    (clone / "docs").mkdir()
    assert reproduce(clone, "table-4") == 0
    assert reproduce(clone, "report") == 0
    assert "(paper/table-4.md)" in (clone / "docs" / "paper.md").read_text()
    page = (clone / "docs" / "paper" / "table-4.md").read_text()
    assert "](../images/results/table-4.png)" in page
    assert "| x | y | note |" in page
    assert (clone / "docs" / "images" / "results" / "table-4.png").is_file()


def test_what_grows_is_written_as_it_grows(clone, monkeypatch):
    file = clone / "experiments" / "double.py"
    text = file.read_text().replace('    return {"seed"', '    yield {"seed"', 1)
    file.write_text(
        text.replace('"It doubles."}\n', '"It doubles."}\n    raise KeyboardInterrupt\n', 1)
    )
    assert reproduce(clone, "table-4") == 130
    assert (clone / "results" / "table-4.json").is_file()
    assert (clone / "results" / "table-4.png").is_file()


def test_what_is_not_as_expected_is_said(clone, capsys):
    file = clone / "experiments" / "double.py"
    file.write_text(file.read_text().replace("== 2.0", "== 3.0"))
    assert reproduce(clone, "table-4") == 1
    assert capsys.readouterr().err == "not as expected: table-4: one and one is two\n"
    assert (clone / "results" / "table-4.json").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "unknown 'nothing'"),
        (["table-1"], "no experiment for Table 1"),
        (["list", "--budget", "0"], "budget"),
    ],
)
def test_bad_usage_is_one_line(clone, capsys, words, message):
    assert reproduce(clone, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_clone_is_needed(tmp_path, capsys):
    assert reproduce(tmp_path, "list") == 2
    assert "clone" in capsys.readouterr().err


def test_tables():
    rows = [{"a": 1.23456789, "b": None}, {"a": "x", "c": 2}]
    assert table(rows).splitlines()[0].split() == ["a", "b", "c"]
    assert "1.235" in table(rows)
    assert table(rows, markdown=True).splitlines()[1] == "| --- | --- | --- |"
    assert table([{"Z*": "a|b"}], markdown=True).splitlines()[::2] == [r"| Z\* |", r"| a\|b |"]


def test_every_experiment_of_the_clone_says_what_it_is():
    found = find(ROOT / "experiments")
    known = {"table-2", "table-4", "table-5", "particles", "rotation-flows", "fixed-points"}
    assert known <= set(found)
    for name, experiment in found.items():
        assert experiment.about
        assert name in PAPER or experiment.paper == "not in the paper"


def test_a_real_one_runs_small(tmp_path):
    module = find(ROOT / "experiments")["rotation-flows"].load()
    result = module.run("mini", 10.0)
    assert all(row["asymmetry"] < 0.1 for row in result["rows"])
    assert json.dumps(result)
    assert module.plot(result).axes
