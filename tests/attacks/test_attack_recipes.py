"""Recipes damaged at random: a recipe that can be saved, or one line."""

import numpy as np
import pytest
import yaml
from mutations import REFUSED, VALUES, attempt, damaged_bytes, damaged_value

from ddeq.errors import DdeqError
from ddeq.training import PRESETS
from ddeq.training.fields import from_plain, read_yaml, to_plain, to_yaml

CASES = {"short": 150, "long": 5000}


def outcome(work) -> str:
    recipe, _ = attempt(work, DdeqError)
    if recipe is None:
        return REFUSED
    assert from_plain(to_plain(recipe)) == recipe
    return "taken"


@pytest.mark.parametrize("how", ["bytes", "values"])
def test_damaged_recipe_files(effort, how, tmp_path, tally):
    rng, path = np.random.default_rng(3), tmp_path / "recipe.yaml"
    recipes = list(PRESETS.values())
    for case in range(CASES[effort]):
        whole = recipes[case % len(recipes)]
        if how == "bytes":
            path.write_bytes(damaged_bytes(to_yaml(whole).encode(), rng))
        else:
            path.write_text(yaml.safe_dump(damaged_value(to_plain(whole), rng)))
        tally[outcome(lambda: from_plain(read_yaml(path)))] += 1


def test_every_field_against_every_wrong_value(tally):
    whole = PRESETS["mini-completion"]
    plain = to_plain(whole)
    nested = [f"{name}.{key}" for name in plain if isinstance(plain[name], dict)
              for key in plain[name]]  # fmt: skip
    for name in [*plain, *nested]:
        for value in VALUES:
            tally[outcome(lambda name=name, value=value: whole.changed({name: value}))] += 1
