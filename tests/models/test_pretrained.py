"""Saving and loading: the same outputs to the bit, and one clear line when it cannot be done."""

import json
import re
import socket
from dataclasses import replace

import huggingface_hub
import pytest
import torch
import yaml
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
from maps import SMALL, SOLVERS
from safetensors.torch import load_file, save_file

from ddeq import Classifier, Completer, PhantomGradient, PointClouds, kernels
from ddeq.models.base import SOLVERS as KNOWN
from ddeq.models.base import from_json, to_json
from ddeq.models.pretrained import shipped
from ddeq.solvers import Picard, WassersteinFlow, Weiszfeld

KINDS = {"classifier": Classifier, "completer": Completer}
SHORT = Weiszfeld(max_steps=4, tol=0.1)


def model(kind, dim=2, **options):
    options = {**SMALL, "solver": SHORT, **options}
    if kind == "classifier":
        return Classifier(
            dim, num_classes=3, classes=["a", "b", "c"], particles=5, **options
        ).eval()
    return Completer(dim, ratio=0.4, **options).eval()


def clouds(dim=2, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    draw = [torch.randn(n, dim, generator=generator).to(dtype) for n in (9, 4)]
    return PointClouds.from_list(draw)


def output(made, x):
    result = made(x) if isinstance(made, Classifier) else made.complete(x).points
    return result.detach()


def reloaded(made, folder):
    made.save_pretrained(folder)
    return type(made).from_pretrained(folder)


both = pytest.mark.parametrize("kind", KINDS)


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
        {"solver": WassersteinFlow(step_size=0.5, max_steps=3, kernel=kernels.Gaussian(0.5))},
        {"solver": Picard(max_steps=3, kernel=kernels.Riesz(0.5))},
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
    exec(use.replace("FOLDER or user/repo", str(tmp_path)), scope)


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
    assert from_json(json.loads(text), KNOWN) == solver


# --- errors ----------------------------------------------------------------------------------


def assert_one_line(cls, name, *words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        cls.from_pretrained(name)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 1000
    for word in words:
        assert word in message


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
@pytest.mark.parametrize("name", ["no-such-model", "./nothing", "/nowhere/at/all", "a/b/c", "~/x"])
def test_an_unknown_name_or_a_missing_folder(kind, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert_one_line(KINDS[kind], name, name, kind)


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
        {"features": None},
        {"features": 16},
        {"features": 7},
        {"features": "many"},
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


# --- the hub, without a network --------------------------------------------------------------


def test_a_model_from_the_hub(tmp_path, monkeypatch):
    made = model("classifier")
    made.save_pretrained(tmp_path)
    asked = []

    def download(repo, name, **options):
        asked.append((repo, name))
        return str(tmp_path / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    copy = Classifier.from_pretrained("someone/digits")
    assert torch.equal(output(copy, clouds()), output(made, clouds()))
    assert set(asked) == {
        ("someone/digits", "model.safetensors"),
        ("someone/digits", "config.json"),
    }


@pytest.mark.parametrize(
    "error",
    [LocalEntryNotFoundError("no\nnetwork"), OSError("disk\nfull"), HFValidationError("bad\nname")],
    ids=lambda error: type(error).__name__,
)
def test_a_hub_that_cannot_be_reached(error, monkeypatch):
    def download(repo, name, **options):
        raise error

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert_one_line(Classifier, "someone/digits", "someone/digits")


@pytest.fixture
def no_network(monkeypatch):
    """Any attempt to look a name up or to connect fails, and is counted."""
    attempts = []

    def refuse(*args, **options):
        attempts.append(args)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return attempts


def test_the_hub_without_a_network_is_one_line_at_once(no_network, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert_one_line(Classifier, "someone/digits", "someone/digits", "cannot be reached")
    assert len(no_network) <= 2
    assert capsys.readouterr() == ("", "")


@both
def test_shipped_names_need_no_network(kind, no_network):
    KINDS[kind].from_pretrained("mnist-pc")
    assert no_network == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_comes_before_the_hub(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = model(kind)
    made.save_pretrained("someone/digits")
    assert torch.equal(
        output(type(made).from_pretrained("someone/digits"), clouds()), output(made, clouds())
    )


@both
def test_shipped_models_load_and_run(kind):
    for name in shipped(kind):
        made = KINDS[kind].from_pretrained(name)
        dim = made.network.x_project.inner.in_features
        assert output(made, clouds(dim)).isfinite().all()
