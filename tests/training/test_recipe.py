"""Recipes: values out of range are refused, YAML and the command line reach every field."""

from dataclasses import replace
from pathlib import Path

import pytest

from ddeq.adjoints import PhantomGradient
from ddeq.cli import main
from ddeq.cli.train import parse_recipe
from ddeq.errors import DdeqError
from ddeq.nn import Network, Planes
from ddeq.solvers import Chain, Picard, Weiszfeld
from ddeq.tasks import Classification, Completion
from ddeq.training import PRESETS, Recipe
from ddeq.training.fields import from_plain, put, to_plain, to_yaml

OTHER = {
    "task.proportions": False,
    "data": "shapes",
    "schedule": "paper",
    "optimizer": "adamw",
    "augment": False,
    "train_steps": [3, 9],
    "average": 0.5,
    "validation": 0.25,
    "network.features": 64,
    "network.head_size": 8,
    "network.dropout": 0.25,
    "network.radii": [0.25, 0.5],
    "network.groups": {"name": "Groups", "size": 8},
    "task.smoothing": 0.25,
    "adjoint.damping": 0.25,
}


def paths(plain: dict, above: str = "") -> list[str]:
    """The dotted names of all fields but those of a solver, which is taken apart elsewhere."""
    found = []
    for name, value in plain.items():
        if name != "name":
            found += [above + name] if not isinstance(value, dict) else []
            found += paths(value, f"{above}{name}.") if isinstance(value, dict) else []
    return found


def yaml_text(value: object) -> str:
    import yaml

    return yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()


START = {
    "solver": Picard(12),
    "network.planes": None,
    "network.marks": 2,
    "network.radii": (0.5,),
}
FIELDS = paths(to_plain(PRESETS["mini-classification"].changed(START)))
FIELDS.remove("network.planes")  # which exclude radii


@pytest.mark.parametrize("name", [name for name in FIELDS if not name.startswith("solver.div")])
@pytest.mark.parametrize("dashes", [False, True])
def test_every_field_is_an_option(name: str, dashes: bool) -> None:
    recipe = PRESETS["mini-classification"].changed(START)
    plain = to_plain(recipe)
    default: object = plain
    for part in name.split("."):
        default = default[part]  # type: ignore[index]
    changed = default + 1 if type(default) is int else 0.5 if default != 0.5 else 0.25
    value = OTHER.get(name, not default if isinstance(default, bool) else changed)
    put(plain, name.split("."), value)
    expected = from_plain(plain)
    assert expected != recipe
    word = name.replace("_", "-") if dashes else name
    for options in ([f"--{word}", yaml_text(value)], [f"--{word}={yaml_text(value)}"]):
        start = ["--solver", "Picard", "--solver.max_steps", "12", "--solver.tol", "1e-4"]
        start += ["--network.planes", "null", "--network.marks", "2", "--network.radii", "[0.5]"]
        assert parse_recipe("mini-classification", [*start, *options]) == expected


def test_a_recipe_names_objects() -> None:
    recipe = Recipe(
        task=Completion(noise=0.0),
        data="mnist-mini",
        solver=Chain(Weiszfeld(4), Picard(26)),
        adjoint=PhantomGradient(2),
        network=Network(fourier=5),
    )
    assert from_plain(to_plain(recipe)) == recipe
    assert recipe.training_solver(7) == Weiszfeld(7)
    assert recipe.training_solver(7, settling=True) == Chain(Weiszfeld(1), Picard(26), max_steps=7)
    assert Recipe("classification", "mnist-mini").task == Classification()


def test_options_of_pictures() -> None:
    recipe = parse_recipe("mini-classification", ["--network.planes.size", "64"])
    assert isinstance(recipe.network, Network)
    assert recipe.network.planes == Planes(size=64, widths=(16, 32, 64, 128))


def test_options_of_parts() -> None:
    options = ["--solver.max_steps", "12", "--network.fourier", "5", "--adjoint.steps", "2"]
    recipe = parse_recipe("mini-completion", ["--solver", "picard", *options])
    assert recipe.solver == Picard(12, 1e-3)
    assert recipe.network == Network(head_size=32, cross_layers=2, dropout=0.0, fourier=5)
    assert recipe.adjoint == PhantomGradient(2)
    chain = parse_recipe("mini-completion", ["--solver.parts.0.max_steps", "2"]).solver
    assert isinstance(chain, Chain)
    assert [part.max_steps for part in chain.parts] == [2, 26]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task", "completoin"),
        ("epochs", -3),
        ("epochs", 1.5),
        ("epochs", True),
        ("batch_size", 0),
        ("optimizer", "lion"),
        ("schedule", "linear"),
        ("average", 2),
        ("clip", 0),
        ("clip", "wide"),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("validation", 1.0),
        ("train_steps", [9, 3]),
        ("train_steps", [1, 2, 3]),
        ("seed", -1),
        ("task.smoothing", 2),
        ("task.particles", 0),
        ("network.bilinear", 0),
        ("network.head_size", 0),
        ("network.cross_layers", -1),
        ("network.dropout", 1.0),
        ("solver.max_steps", 0),
        ("solver", "Newton"),
        ("solver.foo", 3),
        ("solver.parts.7", 3),
        ("adjoint.steps", 0),
        ("bilinear", 8),
    ],
)
def test_values_out_of_range_are_one_line(
    name: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    last = [part for part in name.split(".") if not part.isdigit()][-1]
    with pytest.raises(DdeqError, match=last):
        PRESETS["mini-classification"].changed({name: value})
    assert main(["train", "mini-classification", f"--{name}", yaml_text(value), "--print"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert last in error


@pytest.mark.parametrize(
    "fields", [{"epochs": -3}, {"batch_size": 0}, {"optimizer": "sgd"}, {"solver": "Picard"}]
)
def test_a_recipe_is_checked_when_it_is_made(fields: dict) -> None:
    (name,) = fields
    with pytest.raises(DdeqError, match=name):
        Recipe("classification", "mnist-mini", **fields)


GOOD = to_yaml(replace(PRESETS["mini-classification"], solver=Chain(Weiszfeld(4), Picard(26))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "- a\n- b",
        "just words",
        "{",
        "a: b: c",
        "\x00",
        "!!python/object/apply:os.system [ls]",
        GOOD + "colour: red\n",
        GOOD.replace("data: mnist-mini", ""),
        GOOD.replace("epochs: 6", "epochs: many"),
        GOOD.replace("epochs: 6", "epochs: [6]"),
        GOOD.replace("epochs: 6", "epochs: null"),
        GOOD.replace("data: mnist-mini", "data: [mnist-mini]"),
        GOOD.replace("name: Chain", "name: Newton"),
        GOOD.replace("name: Chain", "name: 3"),
        GOOD.replace("name: Chain", "name: Network"),
        GOOD.replace("augment: true", "augment: 2"),
        GOOD.replace("train_steps: [2, 4]", "train_steps: 4"),
        "task: " + "[" * 5000,
        "task: " + "{a: " * 500 + "1" + "}" * 500,
        "a: &a [x, x]\nb: &b [*a, *a]\ntask: [*b, *b]",
        "? [a, b]\n: c",
        "1: 2",
    ],
)
def test_malformed_files_are_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "name: Chain" in GOOD
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    assert main(["train", str(path), "--print"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert len(error) < 1000


def test_files_that_are_no_text_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(bytes(range(256)))
    assert main(["train", str(path), "--print"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
