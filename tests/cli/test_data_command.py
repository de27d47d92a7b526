"""``ddeq data``: tables of data sets, and what has to be done by hand."""

from pathlib import Path

import numpy as np
import pytest

from ddeq.cli import main
from ddeq.data import fetch


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DDEQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DDEQ_DATA", raising=False)


def test_list_and_info_print_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "list", "--data-root", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "mnist-mini" in printed
    assert str(tmp_path) in printed
    assert main(["data", "info", "mnist-mini"]) == 0
    printed = capsys.readouterr().out
    assert "6,000" in printed
    assert printed.splitlines()[-1].split() == ["9", "600", "100"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["fetch", "modelnet40"], "ModelNet40.zip"),
        (["fetch", "nothing"], "choose from"),
        (["info", "nothing"], "choose from"),
        (["info"], "needs the name"),
        (["fetch", "mnist-pc"], "train-images-idx3-ubyte.gz"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    argv: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fetch, "MNIST_MIRRORS", ("http://127.0.0.1:9/",))
    assert main(["data", *argv, "--data-root", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_nothing_to_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "shapes"]) == 0
    assert "nothing to fetch" in capsys.readouterr().out


def test_names_of_folders_cannot_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cat", "do\x1b[31mg"):
        (tmp_path / name).mkdir()
        for i in range(10):
            np.save(tmp_path / name / f"{i}.npy", np.random.default_rng(i).normal(size=(9, 2)))
    assert main(["data", "info", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert r"do\x1b[31mg" in said.out
