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


def test_the_report_replaces_only_its_own_part(clone):
    assert reproduce(clone, "table-4") == 0
    assert reproduce(clone, "report") == 0
    first = (clone / "RESULTS.md").read_text()
    assert first.startswith("# Results\n\nBy hand.\n")
    assert "| x | y | note |" in first
    assert "It doubles." in first
    (clone / "RESULTS.md").write_text(first + "\nBelow.\n")
    assert reproduce(clone, "report") == 0
    second = (clone / "RESULTS.md").read_text()
    assert second.count("It doubles.") == 1
    assert second.endswith("Below.\n")


def test_the_page_has_table_and_plot(clone):
    (clone / "docs").mkdir()
    assert reproduce(clone, "table-4") == 0
    assert reproduce(clone, "report") == 0
    page = (clone / "docs" / "paper.md").read_text()
    assert "{ #table-4 }" in page
    assert "](images/results/table-4.png)" in page
    assert "| x | y | note |" in page
    assert (clone / "docs" / "images" / "results" / "table-4.png").is_file()


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
