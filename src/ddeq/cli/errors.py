"""What a command says when it cannot do what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ddeq.errors import DdeqError

__all__ = ["UsageError", "film_path", "missing_package", "output_path"]

_EXTRA = ("lightning", "tensorboard")
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "laspy": "'laspy[lazrs]'",
    "ot": "POT",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "yaml": "PyYAML",
}


class UsageError(DdeqError):
    """Bad usage; the message is one line. The command line exits with status 2."""


def output_path(name: str, endings: Sequence[str], force: bool = False) -> Path:
    """A file that may be written.

    Call it before any work is done, so that nobody waits for a result that cannot be kept.

    Args:
        name: As the user gave it.
        endings: What it may end in, such as ``.png``.
        force: Whether an existing file may be replaced.

    Raises:
        UsageError: for another ending, for a folder, or for a file that exists, without ``force``.
    """
    path = Path(name)
    if path.suffix.lower() not in endings:
        raise UsageError(f"{name}: the file must end in {' or '.join(endings)}")
    if path.is_dir():
        raise UsageError(f"{name} is a folder")
    if path.exists() and not force:
        raise UsageError(f"{name} exists: add --force to overwrite it")
    return path


def film_path(name: str, force: bool = False, endings: Sequence[str] = ()) -> Path:
    """A file for a film that may be written, and can be.

    Args:
        name: As the user gave it.
        force: Whether an existing file may be replaced.
        endings: What it may end in; by default those of every film.

    Raises:
        DdeqError: as :func:`output_path`, or for an mp4 without ffmpeg.
    """
    from ddeq.viz.films import FILMS
    from ddeq.viz.moving import check_moving

    path = output_path(name, endings or FILMS, force)
    check_moving(path)
    return path


def missing_package(command: str, module: str) -> str:
    """One line that says which packages to install for a module that is not there.

    Example:
        >>> missing_package("plot", "umap.umap_")
        'plot needs umap-learn, which is not installed: pip install umap-learn'
    """
    package = module.partition(".")[0]
    if package in _EXTRA:
        return (
            f"{command} needs {package}, which is not installed: pip install {' '.join(_EXTRA)} "
            "(or 'distributional-deq[train]')"
        )
    name = _DISTRIBUTIONS.get(package, package)
    return f"{command} needs {name}, which is not installed: pip install {name}"
