"""Weights from the hub, only when asked for, and shipped ones without a network."""

import socket
import time

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
from saved_models import KINDS, assert_one_line, both, clouds, model, output

from ddeq import Classifier
from ddeq.models import hub
from ddeq.models.pretrained import shipped


@both
@pytest.mark.parametrize(
    "name", ["no-such-model", "./nothing", "/nowhere/at/all", "a/b/c", "~/x", "runs/typo"]
)
def test_an_unknown_name_never_goes_to_the_network(kind, name, no_network, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert_one_line(KINDS[kind], name, name, kind, "hf:user/repo")
    assert no_network == []


def test_a_model_from_the_hub(tmp_path, monkeypatch):
    made = model("classifier")
    made.save_pretrained(tmp_path)
    asked = []

    def download(repo, name, **options):
        asked.append((repo, name))
        return str(tmp_path / name)

    monkeypatch.setattr(hub, "_answers", lambda address: True)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    copy = Classifier.from_pretrained("hf:someone/digits")
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

    monkeypatch.setattr(hub, "_answers", lambda address: True)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert_one_line(Classifier, "hf:someone/digits", "someone/digits")


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
    assert_one_line(Classifier, "hf:someone/digits", "someone/digits", "cannot be reached")
    assert len(no_network) <= 2
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def silent_server():
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_silent_hub_is_given_up_soon(silent_server, monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", silent_server)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub, "_SECONDS", 0.3)
    start = time.perf_counter()
    assert_one_line(Classifier, "hf:someone/digits", "hf:someone/digits", "cannot be reached")
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("name", ["hf:", "hf:digits", "hf:a/b/c", "hf:../x", "hf:a b/c\n"])
def test_a_name_that_no_repository_has(name, monkeypatch):
    monkeypatch.setattr(hub, "_answers", lambda address: False)
    assert_one_line(Classifier, name, "Hugging Face")


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
        dim = made.dim
        assert output(made, clouds(dim)).isfinite().all()
