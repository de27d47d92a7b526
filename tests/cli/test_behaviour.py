"""How commands end: errors, bugs, missing packages, closed pipes, signals, names with escapes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ddeq
from ddeq.cli import main
from ddeq.errors import DdeqError, printable
from ddeq.io.files import read_cloud, write_cloud

SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}
ESCAPE = "\x1b[31m"


@pytest.fixture(scope="module")
def completer(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("completer")
    ddeq.Completer(dim=2, **SMALL).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    write_cloud(tmp_path / "scan.ply", np.random.default_rng(0).normal(size=(40, 2)))
    return tmp_path / "scan.ply"


def raising(error: BaseException):
    def work(*_: object, **__: object) -> None:
        raise error

    return work


def command(*argv: str, **options: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "ddeq.cli", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a job in the background of a shell ignores interrupts, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"ddeq {ddeq.__version__}\n"


def test_a_bug_is_not_bad_usage(scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddeq.inference.classify", raising(ValueError("a planted bug")))
    with pytest.raises(ValueError, match="planted"):
        main(["classify", str(scan)])


@pytest.mark.parametrize("error", [DdeqError("bad\n input"), OSError("bad input")])
@pytest.mark.parametrize("debug", [True, False])
def test_bad_input_is_one_line_and_debug_shows_more(
    error: Exception,
    debug: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("ddeq.cli.samples.run", raising(error))
    assert main(["samples", *(["--debug"] if debug else [])]) == 2
    said = capsys.readouterr().err
    assert said.endswith("ddeq: bad input\n")
    assert ("Traceback" in said) == debug
    assert debug or said.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("h5py", "pip install h5py"),
        ("umap.umap_", "pip install umap-learn"),
        ("lightning.pytorch", "pip install lightning tensorboard"),
        ("lightning", "'distributional-deq[train]'"),
    ],
)
def test_a_missing_package_is_one_line_that_names_it(
    module: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ddeq.cli.samples.run", raising(ModuleNotFoundError("no", name=module)))
    assert main(["samples"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("ddeq: samples needs ")
    assert said.count("\n") == 1


def test_a_missing_module_of_our_own_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddeq.cli.samples.run", raising(ModuleNotFoundError("no", name="ddeq.x")))
    with pytest.raises(ModuleNotFoundError):
        main(["samples"])


def test_the_reader_of_the_output_may_go(scan: Path) -> None:
    with command("classify", *[str(scan)] * 20) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == ""
    assert child.returncode == 141


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "status", "words"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_signals_end_a_command_with_a_line(number: int, status: int, words: str) -> None:
    script = (
        "import sys, time\nfrom ddeq.cli import main, samples\n"
        "def run(args):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "samples.run = run\nsys.exit(main(['samples']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        begin = time.monotonic()
        child.send_signal(number)
        _, error = child.communicate(timeout=60)
    assert child.returncode == status
    assert error == f"ddeq: {words}\n"
    assert time.monotonic() - begin < 30


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_heard_while_torch_is_loading(
    number: int, status: int, scan: Path, tmp_path: Path
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        "import time\nprint('loading', flush=True)\ntime.sleep(60)\n"
    )
    with command("classify", str(scan), env={**os.environ, "PYTHONPATH": str(tmp_path)}) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "loading\n"
        child.send_signal(number)
        _, error = child.communicate(timeout=60)
    assert child.returncode == status
    assert error == f"ddeq: {'interrupted' if status == 130 else 'terminated'}\n"


def test_a_handler_of_the_caller_comes_back(scan: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert main(["info", str(scan)]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_names_cannot_control_the_terminal(
    completer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / f"a{ESCAPE}.csv", tmp_path / f"b{ESCAPE}\n.csv"
    write_cloud(good, np.random.default_rng(0).normal(size=(9, 2)))
    bad.write_text("words")
    out = tmp_path / f"out{ESCAPE}"
    for argv, status in [
        (["complete", str(good), str(bad), "-o", str(out), "--weights", completer], 1),
        (["info", str(good), str(bad)], 1),
        (["classify", str(good), str(bad)], 1),
        (["classify", str(good), "--weights", f"no{ESCAPE}"], 2),
        (["complete", str(good), "-o", f"x{ESCAPE}", "--weights", completer], 2),
        (["flow", "-o", f"x{ESCAPE}"], 2),
        (["data", "info", f"x{ESCAPE}"], 2),
    ]:
        assert main(argv) == status, argv
    with pytest.raises(SystemExit):
        main(["complete", str(good), f"--{ESCAPE}"])
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert r"a\x1b[31m.csv" in said.out
    assert r"b\x1b[31m" in said.err


@pytest.mark.parametrize("text", ["a b", "é 点", "a\tb", "a\u2028b", "\udc80", "\u202e", "\x9b1m"])
def test_printable_text_is_one_line_that_encodes(text: str) -> None:
    line = printable(text)
    assert line.isprintable()
    line.encode("utf-8")
    assert line == text or "\\" in line


def test_info_on_many_files(
    scan: Path, completer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "b.npy", np.zeros((3, 3)) + np.eye(3))
    assert main(["info", str(scan), str(tmp_path / "b.npy"), completer]) == 0
    said = capsys.readouterr().out
    assert "40 points, 2-D" in said
    assert "3 points, 3-D" in said
    assert "completer of 2-D clouds" in said
    (tmp_path / "c.ply").write_text("no cloud")
    assert main(["info", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "40 points" in said.out
    assert "c.ply" in said.err
    assert main(["info", "mnist-pc"]) == 0
    assert "Weiszfeld" in capsys.readouterr().out


def test_a_folder_does_not_go_to_a_file(
    scan: Path, completer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for out in ("all.ply", "all.csv.gz"):
        argv = ["complete", str(scan.parent), "-o", str(tmp_path / out), "--weights", completer]
        assert main(argv) == 2
        assert "name of a file" in capsys.readouterr().err
        assert not (tmp_path / out).exists()


def test_samples_are_the_files_that_the_readme_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["samples"]) == 0
    assert read_cloud("digit.ply").points.shape[1] == 2
    assert read_cloud("scan.ply").points.shape[1] == 3
    assert capsys.readouterr().out.count("cut out") == 2
    assert main(["samples"]) == 2
    assert "--force" in capsys.readouterr().err
    before = Path("scan.ply").read_bytes()
    assert main(["samples", "--force"]) == 0
    assert Path("scan.ply").read_bytes() == before
    assert main(["samples", "more", "--seed", "3"]) == 0
    assert Path("more/scan.ply").read_bytes() != before
    capsys.readouterr()
    assert main(["classify", "digit.ply"]) == 0
    assert capsys.readouterr().out.startswith("digit.ply: 4 ")
    assert main(["complete", "digit.ply", "-o", "full.ply"]) == 0


def test_json_of_many_files_is_one_list(scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classify", str(scan), str(scan), "--json"]) == 0
    assert [row["file"] for row in json.loads(capsys.readouterr().out)] == [str(scan)] * 2
