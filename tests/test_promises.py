"""The page of promises: every test that it names exists, every count is that of the attack."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: Path(part).stem)
def test_a_named_test_exists(file, name):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def cases(stem, name="CASES"):
    """How many cases an attack tries, short and long."""
    text = (ROOT / "tests" / "attacks" / f"test_attack_{stem}.py").read_text(encoding="utf-8")
    found = re.search(rf"^{name} = (\{{.*?\}})", text, re.MULTILINE)
    counts = ast.literal_eval(found[1])
    return counts["short"], counts["long"]


def written(test):
    """The last column of the row that names a test first."""
    (row,) = (row for row in PAGE.splitlines() if re.search(rf"\| `tests/\S+::{test}`", row))
    return row.rstrip(" |").rpartition("| ")[2]


def shown(values):
    return ", ".join(f"{value:,}" for value in values)


def test_counts_are_those_of_the_attacks():
    clouds = cases("clouds")
    assert written("test_batches_of_generated_clouds") == shown(8 * (n // 20 + 1) for n in clouds)
    assert written("test_units_of_generated_clouds") == shown(2 * (n // 10 + 1) for n in clouds)
    assert written("test_damaged_files") == shown(cases("files"))
    assert written("test_damaged_weight_folders") == shown(cases("weights"))
    assert written("test_damaged_recipe_files") == shown(2 * n for n in cases("recipes"))
    assert written("test_damaged_requests") == shown(n + n // 3 for n in cases("requests"))
    kills = shown(cases("kills", "KILLS"))
    assert written("test_a_killed_training_resumes_exactly") == f"{kills} kills"
    assert PAGE.count(f"| {shown(clouds)} |") == 3
