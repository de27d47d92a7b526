"""The folder of a run: one run at a time, and nothing trained is lost before its successor is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path

__all__ = ["RECIPE", "claimed", "write_recipe"]

RECIPE = "recipe.yaml"
_PARTS = (RECIPE, "metrics.csv", "checkpoints", "samples", "tensorboard", "model")
_ASIDE = "replaced-run"


@contextmanager
def claimed(out: Path, resume: bool, force: bool) -> Iterator[None]:
    """Holds the folder of a run until the block is left.

    With ``force`` a run that is there is moved aside first. It is deleted when the block has
    succeeded, and comes back if the new run failed before it had a checkpoint.

    Raises:
        DdeqError: in one line, if another process trains there, or if there is a run already.
    """
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        used = (out / RECIPE).exists()
        if used and not (resume or force):
            raise DdeqError(
                f"{out} holds a run: add --resume to go on with it, --force to start over"
            )
        if used and not resume:
            _move(out, out / _ASIDE / str(_count(out / _ASIDE)))
        try:
            yield
        except BaseException:
            _bring_back(out, used and not resume)
            if made and not any(path.name != ".lock" for path in out.iterdir()):
                shutil.rmtree(out)
            raise
        shutil.rmtree(out / _ASIDE, ignore_errors=True)


def write_recipe(out: Path, text: str) -> None:
    """Writes ``recipe.yaml`` as a whole."""
    with atomic_path(out / RECIPE) as draft:
        draft.write_text(text, "utf-8")


def _bring_back(out: Path, moved: bool) -> None:
    """Puts the former run back where the new one has nothing to go on from."""
    if not moved or (out / "checkpoints").exists() or (out / "model").exists():
        return
    aside = out / _ASIDE / str(_count(out / _ASIDE) - 1)
    for name in _PARTS:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
        (out / name).unlink(missing_ok=True)
    for path in list(aside.iterdir()):
        os.replace(path, out / path.name)
    aside.rmdir()
    if not any((out / _ASIDE).iterdir()):
        (out / _ASIDE).rmdir()


def _move(out: Path, aside: Path) -> None:
    aside.mkdir(parents=True)
    for name in _PARTS:
        if (out / name).exists():
            os.replace(out / name, aside / name)


def _count(folder: Path) -> int:
    return len(list(folder.iterdir())) if folder.exists() else 0


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """A lock that ends with its process, however that ends."""
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    with open(out / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DdeqError(f"{out} is in use by another training") from None
        yield
