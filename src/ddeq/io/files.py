"""Reading and writing cloud files.

    >>> from ddeq.io.files import read_cloud, write_cloud
    >>> cloud = read_cloud("scan.ply")              # doctest: +SKIP
    >>> write_cloud("scan.csv", cloud.points)       # doctest: +SKIP

Points come out as the file stores them: same order, same units, same precision (text becomes
float64). Written files give back the same values: binary formats keep float32 or float64, text
formats write enough digits. ply, pcd, xyz, txt, csv, npy and npz hold 2-D or 3-D clouds; off and
obj are 3-D by definition, so 2-D clouds are written there with z = 0.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ddeq.io.formats import arrays, mesh, pcd, ply, surface, text
from ddeq.io.formats.base import CloudFileError, Parsed, Source, exact_float, file_error

__all__ = [
    "READABLE",
    "WRITABLE",
    "CloudFile",
    "CloudFileError",
    "check_target",
    "read_cloud",
    "write_cloud",
]

_Reader = Callable[[Source], Parsed]
_Writer = Callable[[BinaryIO, np.ndarray, "np.ndarray | None"], None]

_READERS: dict[str, _Reader] = {
    ".ply": ply.read,
    ".pcd": pcd.read,
    ".xyz": text.read,
    ".txt": text.read,
    ".csv": text.read,
    ".pts": text.read,
    ".asc": text.read,
    ".npy": arrays.read,
    ".npz": arrays.read_npz,
    ".off": mesh.read_off,
    ".obj": mesh.read_obj,
    ".stl": mesh.read_stl,
}
_WRITERS: dict[str, _Writer] = {
    ".ply": ply.write,
    ".pcd": pcd.write,
    ".xyz": text.write_plain,
    ".txt": text.write_plain,
    ".csv": text.write_csv,
    ".npy": arrays.write_npy,
    ".npz": arrays.write_npz,
    ".off": mesh.write_off,
    ".obj": mesh.write_obj,
}
READABLE: tuple[str, ...] = tuple(_READERS)
WRITABLE: tuple[str, ...] = tuple(_WRITERS)
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")


@dataclass(frozen=True)
class CloudFile:
    """A cloud read from a file.

    Attributes:
        points: (N, d) with d = 2 or 3; float32 if the file stores float32, else float64.
        path: the file.
        kind: one line for people, such as ``"PLY binary, 1,204 points, 3-D"``.
    """

    points: np.ndarray
    path: Path
    kind: str


def read_cloud(
    path: str | os.PathLike[str],
    *,
    surface_points: int | None = None,
    max_points: int = 20_000_000,
    seed: int = 0,
) -> CloudFile:
    """Read a cloud from a file; its suffix says the format (see `READABLE`).

    Args:
        path: the file.
        surface_points: for a mesh (ply, off, obj or stl with faces), how many points to sample
            from its surface with uniform density; None takes its vertices. A file without
            faces gives its points in any case.
        max_points: refuse files with more points, or vertices, than this.
        seed: of the surface samples.

    Returns:
        The points and what they are.

    Raises:
        CloudFileError: the file is missing, damaged, empty, too large, or holds anything but
            finite points in 2 or 3 dimensions.
    """
    path = Path(path)
    if surface_points is not None and not 1 <= surface_points <= max_points:
        raise file_error(path, f"cannot sample {surface_points:,} points (1 to {max_points:,})")
    source = _open(path, max_points, surface_points is not None)
    try:
        points, kind = _load(source, surface_points, seed)
    except CloudFileError:
        raise
    except OSError as error:
        raise file_error(path, f"cannot be read ({error.strerror or error})") from error
    except (ValueError, OverflowError, struct.error) as error:
        # What slipped through the checks of a format is still damage in the file.
        raise file_error(path, f"cannot be read: {error}") from error
    except MemoryError as error:
        raise file_error(path, "does not fit in memory; thin it out first") from error
    return CloudFile(points, path, kind)


def _load(source: Source, surface_points: int | None, seed: int) -> tuple[np.ndarray, str]:
    """The cloud and its description."""
    parsed = _READERS[source.path.suffix.lower()](source)
    points = exact_float(parsed.points)
    _check_points(source.path, points)
    note = parsed.note
    if surface_points is not None and parsed.triangles is not None and parsed.triangles.size:
        points = surface.sample(points, parsed.triangles, surface_points, seed)
        note = "sampled surface"
    size = f"{len(points):,} point{'' if len(points) == 1 else 's'}"
    parts = (parsed.label, note, size, f"{points.shape[1]}-D")
    return points, ", ".join(part for part in parts if part)


def _open(path: Path, limit: int, want_faces: bool) -> Source:
    """The file, after the checks that need no knowledge of its format."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise file_error(path, "is a folder; name a file in it")
        if not stat.S_ISREG(status.st_mode):
            raise file_error(path, "is not a regular file; save the cloud to a file first")
        suffix = path.suffix.lower()
        source = Source(path, status.st_size, limit, want_faces)
        if suffix in _COMPRESSED or source.head(2) == b"\x1f\x8b":
            raise file_error(path, "is compressed; unpack it first (for .gz: gunzip)")
    except FileNotFoundError:
        raise file_error(path, "no such file") from None
    except CloudFileError:
        raise
    except (OSError, ValueError) as error:
        raise file_error(path, f"cannot be opened ({error})") from error
    if suffix not in _READERS:
        raise file_error(
            path, f"unknown suffix {suffix!r}; files that can be read: {' '.join(READABLE)}"
        )
    if source.size == 0:
        raise file_error(path, "is empty (0 bytes)")
    return source


def _check_points(path: Path, points: np.ndarray) -> None:
    """Refuse what is not a non-empty, finite cloud in 2 or 3 dimensions."""
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise file_error(path, f"points of shape {points.shape}, expected (N, 2) or (N, 3)")
    if len(points) == 0:
        raise file_error(path, "holds no points")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise file_error(
            path,
            f"{len(bad):,} of {len(points):,} points are not finite (NaN or infinite), "
            f"the first is point {bad[0] + 1:,}; remove them first",
        )


def write_cloud(
    path: str | os.PathLike[str],
    points: np.ndarray,
    *,
    new_from: int | None = None,
    force: bool = False,
) -> None:
    """Write a cloud to a file, whole or not at all; its suffix says the format (`WRITABLE`).

    The first `new_from` points count as input, the others as new. ply marks them by colour and
    ``label``, pcd by ``label``, csv and npz by ``new``, obj by colour; xyz, txt, npy and off
    have no place for a mark.

    Args:
        path: the file to make.
        points: (N, d), d = 2 or 3, finite; float32 and float64 are kept as they are.
        new_from: row of the first new point; None marks nothing.
        force: replace an existing file.

    Raises:
        CloudFileError: the file exists, cannot be written, or the points are no cloud.
    """
    path = Path(path)
    check_target(path, force)
    writer = _WRITERS[path.suffix.lower()]
    try:
        points = np.ascontiguousarray(exact_float(np.asarray(points)))
    except ValueError as error:
        raise file_error(path, f"not written: {error}") from error
    _check_points(path, points)
    if new_from is not None and not 0 <= new_from <= len(points):
        raise file_error(path, f"new_from = {new_from}, expected 0 to {len(points):,}")
    new = None if new_from is None else np.arange(len(points)) >= new_from
    _write_whole(path, lambda out: writer(out, points, new))


def check_target(path: Path, force: bool) -> None:
    """Refuse a file that cannot be made, before the work that would fill it.

    Raises:
        CloudFileError: it is a folder, its folder is missing, its suffix is unknown, or it exists
            and may not be replaced.
    """
    if path.suffix.lower() not in _WRITERS:
        raise file_error(
            path,
            f"unknown suffix {path.suffix.lower()!r}; files that can be written: "
            f"{' '.join(WRITABLE)}",
        )
    # os.path answers False where Path would raise (no permission, impossible names): opening
    # the file then says what is wrong.
    if os.path.isdir(path):
        raise file_error(path, "is a folder; name a file in it")
    if not os.path.isdir(path.parent):
        raise file_error(path, f"its folder {path.parent} does not exist; make it first")
    if os.path.exists(path) and not force:
        raise file_error(path, "exists already; use --force (force=True) to replace it")


def _write_whole(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write beside the target and move into place, so no reader ever sees half a file."""
    try:
        target = Path(os.path.realpath(path))  # write through a link, do not replace it
        draft = target.with_name(f".ddeq-{secrets.token_hex(8)}.part")
        try:
            with open(draft, "xb") as out:
                write(out)
                out.flush()
                os.fsync(out.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise file_error(path, f"cannot be written ({reason})") from error
