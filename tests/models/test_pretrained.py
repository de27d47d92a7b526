"""Saving and loading: the same outputs to the bit, and one clear line when it cannot be done."""

import json
import re
from dataclasses import replace

import pytest
import torch
import yaml
from maps import SOLVERS
from safetensors.torch import load_file, save_file
from saved_models import KINDS, assert_one_line, both, clouds, model, output

from ddeq import Classifier, Completer, PhantomGradient, kernels
from ddeq.measures.divergences import MMD
from ddeq.registry import from_json, to_json
from ddeq.solvers import Picard, Solver, WassersteinFlow


def reloaded(made, folder):
    made.save_pretrained(folder)
    return type(made).from_pretrained(folder)


@both
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pushforward": True, "cross_layers": 2},
        {"dropout": 0.3, "head_size": 2, "bilinear": 3, "features": 12},
        {"dim": 3},
        {"solver": WassersteinFlow(step_size=0.5, momentum=0.3, max_steps=3)},
    ],
)
def test_round_trip(kind, options, tmp_path):
    made = model(kind, **options)
    copy = reloaded(made, tmp_path / "some" / "folder")
    assert not copy.training
    assert copy.solver == made.solver
    assert copy.config() == made.config()
    assert set(copy.state_dict()) == set(made.state_dict())
    x = clouds(options.get("dim", 2))
    assert torch.equal(output(copy, x), output(made, x))


@both
@pytest.mark.parametrize(
    "options",
    [
        {
            "solver": WassersteinFlow(
                step_size=0.5, max_steps=3, divergence=MMD(kernels.Gaussian(0.5))
            )
        },
        {"solver": Picard(max_steps=3, divergence=MMD(kernels.Riesz(0.5)))},
        {"adjoint": PhantomGradient(steps=3, damping=0.5)},
    ],
    ids=["gaussian", "riesz", "phantom-3"],
)
def test_round_trip_keeps_the_kernel_and_the_adjoint(kind, options, tmp_path):
    """Both change the result. What cannot be saved must be refused, not dropped."""
    made = model(kind, **options)
    try:
        copy = reloaded(made, tmp_path)
    except ValueError:
        return
    assert torch.equal(output(copy, clouds()), output(made, clouds()))


@both
def test_round_trip_in_double_precision(kind, tmp_path):
    made = model(kind).double()
    copy = reloaded(made, tmp_path)
    x = clouds(dtype=torch.float64)
    assert torch.equal(output(copy, x), output(made, x))


def test_names_of_classes_are_kept(tmp_path):
    assert reloaded(model("classifier"), tmp_path).classes == ["a", "b", "c"]
    assert reloaded(model("completer"), tmp_path).ratio == 0.4


@both
def test_the_folder_holds_safetensors_and_json_and_no_pickle(kind, tmp_path):
    made = model(kind)
    made.save_pretrained(tmp_path, card="# A model")
    assert {p.name for p in tmp_path.iterdir()} == {"model.safetensors", "config.json", "README.md"}
    assert json.loads((tmp_path / "config.json").read_text())["kind"] == kind
    weights = load_file(tmp_path / "model.safetensors")
    assert all(torch.equal(weights[name], value) for name, value in made.state_dict().items())


@both
def test_a_card_is_written(kind, tmp_path):
    made = model(kind)
    made.save_pretrained(tmp_path, facts={"data": "digits | letters", "metric": "99 %\nof all"})
    card = (tmp_path / "README.md").read_text()
    front = yaml.safe_load(card.split("---")[1])
    assert front["library_name"] == "ddeq"
    assert "point-cloud" in front["tags"]
    assert "| data | digits \\| letters |" in card
    assert "| metric | 99 % of all |" in card
    size = sum(value.numel() for value in made.parameters())
    assert f"{size:,} parameters" in card
    config = json.loads(re.search(r"```json\n(.*?)```", card, re.DOTALL).group(1))
    assert config == made.config()
    use = re.search(r"```python\n(.*?)```", card, re.DOTALL).group(1)
    scope = {"clouds": clouds().to_list(), "cloud": clouds().to_list()[0]}
    exec(use.replace("FOLDER or hf:user/repo", str(tmp_path)), scope)


def test_a_card_that_is_there_stays(tmp_path):
    made = model("completer")
    made.save_pretrained(tmp_path, card="# Mine\n")
    made.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "# Mine\n"
    made.save_pretrained(tmp_path, facts={"data": "other"})
    assert "| data | other |" in (tmp_path / "README.md").read_text()


@both
def test_a_second_save_replaces_the_first(kind, tmp_path):
    model(kind).save_pretrained(tmp_path)
    torch.manual_seed(1)
    other = model(kind)
    assert torch.equal(output(reloaded(other, tmp_path), clouds()), output(other, clouds()))


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_as_json(name):
    solver = replace(SOLVERS[name], max_steps=7, tol=0.01)
    text = json.dumps(to_json(solver))
    assert from_json(json.loads(text), Solver) == solver


def edited(folder, **changes):
    """Changes entries of a saved configuration; None removes one."""
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    config = {key: value for key, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))


def test_the_wrong_kind(tmp_path):
    model("classifier").save_pretrained(tmp_path)
    assert_one_line(Completer, tmp_path, "classifier", "not a completer")


@both
@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_missing_file(kind, name, tmp_path):
    model(kind).save_pretrained(tmp_path)
    (tmp_path / name).unlink()
    assert_one_line(KINDS[kind], tmp_path, str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\xff" * 64, None])
def test_corrupt_weights(content, tmp_path):
    model("classifier").save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100] if content is None else content)
    assert_one_line(Classifier, tmp_path, str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "\xff\xfe"])
def test_corrupt_configuration(text, tmp_path):
    model("classifier").save_pretrained(tmp_path)
    (tmp_path / "config.json").write_bytes(text.encode("latin-1"))
    assert_one_line(Classifier, tmp_path, str(tmp_path))


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": None},
        {"kind": "painter"},
        {"solver": None},
        {"solver": {"name": "Newton"}},
        {"solver": {"name": "Solver"}},
        {"solver": {"name": "Picard", "speed": 3}},
        {"solver": {"name": "Picard", "damping": 7.0}},
        {"solver": "Picard"},
        {"unknown": 1},
        {"network": None},
        {"network": {"name": "Net"}},
        {"network": {"name": "Network", "speed": 3}},
        {"network": {"name": "Network", "features": 16}},
        {"network": {"name": "Network", "features": 7}},
        {"network": {"name": "Network", "features": "many"}},
        {"features": 8},
        {"num_classes": 4},
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit(changes, tmp_path):
    model("classifier").save_pretrained(tmp_path)
    edited(tmp_path, **changes)
    assert_one_line(Classifier, tmp_path)


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
def test_weights_that_do_not_fit(change, tmp_path):
    model("classifier").save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    if change == "missing":
        del weights["head.bias"]
    elif change == "extra":
        weights["more"] = torch.zeros(1)
    else:
        weights["head.bias"] = torch.zeros(7)
    save_file(weights, tmp_path / "model.safetensors")
    assert_one_line(Classifier, tmp_path, "does not fit")
