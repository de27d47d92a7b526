"""Whole or absent: what is written under a name, also when the writing ends early."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ddeq.io.atomic import atomic_path, move_into_place


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, error: type) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_path(path) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["kept.txt"]


def test_a_draft_stands_beside_its_target_and_ends_like_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.png"
    with atomic_path(path) as draft:
        assert draft.parent == path.parent
        assert draft.suffix == ".png"
        assert not path.exists()
        draft.write_text("whole")
    assert path.read_text() == "whole"
    assert names(path.parent) == ["a.png"]


def test_nothing_written_is_an_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), atomic_path(path):
        pass
    assert path.read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_mode_and_link_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_path(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_bytes_are_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append("sync"), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("name"), replace(a, b)))
    (tmp_path / "draft").write_text("whole")
    move_into_place(tmp_path / "draft", tmp_path / "file")
    assert done[:2] == ["sync", "name"]
    assert names(tmp_path) == ["file"]


def test_no_other_module_renames_files() -> None:
    """One writer: a second one would have to learn the same lessons again.

    Training moves finished files aside, which is another matter.
    """
    root = Path(__file__).parents[2] / "src" / "ddeq"
    words = ("os.replace(", "os.rename(", "shutil.move(", "mkstemp(", "NamedTemporaryFile(")
    found = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    ]
    assert [name for name in found if not name.startswith("training/")] == ["io/atomic.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")
    script = (
        "import os, signal, sys\nfrom ddeq.io.atomic import atomic_path\n"
        "with atomic_path(sys.argv[1]) as draft:\n"
        "    draft.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode != 0
    assert path.read_text() == "old"
