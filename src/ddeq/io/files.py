"""Reading and writing cloud files.

    >>> from ddeq.io.files import read_cloud, write_cloud
    >>> cloud = read_cloud("scan.ply")              # doctest: +SKIP
    >>> write_cloud("scan.csv", cloud.points)       # doctest: +SKIP

Points come out as the file stores them: same order, same units, same precision (text becomes
float64). Written files give back the same values: binary formats keep float32 or float64, text
formats write enough digits. ply, pcd, xyz, txt, csv, npy and npz hold 2-D or 3-D clouds; off and
obj are 3-D by definition, so 2-D clouds are written there with z = 0. Each format may be packed
with gzip (``scan.xyz.gz``).
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import ddeq.io.formats  # noqa: F401  every format enters itself
from ddeq.io.atomic import atomic_path
from ddeq.io.attributes import extend_attributes
from ddeq.io.formats import surface
from ddeq.io.formats.base import (
    READERS,
    WRITERS,
    CloudFileError,
    Content,
    Source,
    Suffixes,
    exact_float,
    file_error,
)
from ddeq.io.packed import GZIP, format_of, packing, unpacked

__all__ = [
    "READABLE",
    "WRITABLE",
    "CloudFile",
    "CloudFileError",
    "check_target",
    "has_fields",
    "is_readable",
    "is_writable",
    "read_cloud",
    "write_cloud",
]

READABLE = Suffixes(READERS)
WRITABLE = Suffixes(WRITERS)
_WITH_FIELDS = (".ply", ".pcd", ".csv", ".npz")
_COMPRESSED = (".bz2", ".xz", ".zst", ".zip", ".7z")


def is_readable(path: str | os.PathLike[str]) -> bool:
    """Whether a file's name ends with a suffix of `READABLE`, or with that and ``.gz``."""
    return format_of(Path(path)) in READABLE


def is_writable(path: str | os.PathLike[str]) -> bool:
    """Whether a file's name ends with a suffix of `WRITABLE`, or with that and ``.gz``."""
    return format_of(Path(path)) in WRITABLE


def has_fields(path: str | os.PathLike[str]) -> bool:
    """Whether the format writes any numbers per point under their names, also a mark of new ones.

    xyz and txt have room for further columns, but a reader expects none that were not there.
    """
    return format_of(Path(path)) in _WITH_FIELDS


@dataclass(frozen=True)
class CloudFile:
    """A cloud read from a file.

    Attributes:
        points: (N, d) with d = 2 or 3; float32 if the file stores float32, else float64.
        path: the file.
        kind: one line for people, such as ``"PLY binary, 1,204 points, 3-D"``.
        attributes: other numbers per point by name, (N,) each, as the file stores them: ``red``,
            ``nx``, ``intensity``, ....
    """

    points: np.ndarray
    path: Path
    kind: str
    attributes: Mapping[str, np.ndarray] = field(default_factory=dict)


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
        with unpacked(source) as plain:
            cloud = _load(plain, surface_points, seed)
    except CloudFileError:
        raise
    except OSError as error:
        raise file_error(path, f"cannot be read ({error.strerror or error})") from error
    except (ValueError, OverflowError, struct.error) as error:
        # What slipped through the checks of a format is still damage in the file.
        raise file_error(path, f"cannot be read: {error}") from error
    except MemoryError as error:
        raise file_error(path, "does not fit in memory; subsample it first") from error
    return replace(cloud, path=path)


def _load(source: Source, surface_points: int | None, seed: int) -> CloudFile:
    """The cloud and its description."""
    parsed = READERS[format_of(source.path)](source)
    points = exact_float(parsed.points)
    _check_points(source.shown or source.path, points)
    note, attributes = parsed.note, parsed.attributes
    if surface_points is not None and parsed.triangles is not None and parsed.triangles.size:
        points = surface.sample(points, parsed.triangles, surface_points, seed)
        note, attributes = "sampled surface", {}
    size = f"{len(points):,} point{'' if len(points) == 1 else 's'}"
    parts = (parsed.label, note, size, f"{points.shape[1]}-D")
    return CloudFile(points, source.path, ", ".join(filter(None, parts)), attributes)


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
        if suffix in _COMPRESSED or (suffix != GZIP and source.head(2) == b"\x1f\x8b"):
            raise file_error(path, "is compressed; unpack it first (gzip is read if named .gz)")
    except FileNotFoundError:
        raise file_error(path, "no such file") from None
    except CloudFileError:
        raise
    except (OSError, ValueError) as error:
        raise file_error(path, f"cannot be opened ({error})") from error
    if not is_readable(path):
        known = f"files that can be read: {' '.join(READABLE)}, with {GZIP} behind or without"
        raise file_error(path, f"unknown suffix {format_of(path) or suffix!r}; {known}")
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
    attributes: Mapping[str, np.ndarray] | None = None,
    force: bool = False,
) -> None:
    """Write a cloud to a file, whole or not at all; its suffix says the format (`WRITABLE`).

    The first `new_from` points count as input, the others as new. ply, pcd, csv and
    npz mark them by ``new`` (0 or 1), ply and obj also by colour, unless the cloud has colours;
    xyz, txt, npy and off have no place for a mark.

    Args:
        path: the file to make.
        points: (N, d), d = 2 or 3, finite; float32 and float64 are kept as they are.
        new_from: row of the first new point; None marks nothing.
        attributes: other numbers per point by name, as `CloudFile` has them; off and obj keep
            colours only, npy nothing. Points beyond their length, the new ones, get those of the
            point next to them.
        force: replace an existing file.

    Raises:
        CloudFileError: the file exists, cannot be written, or the points are no cloud.
    """
    path = Path(path)
    check_target(path, force)
    writer = WRITERS[format_of(path)]
    try:
        points = np.ascontiguousarray(exact_float(np.asanyarray(points)))
    except ValueError as error:
        raise file_error(path, f"not written: {error}") from error
    _check_points(path, points)
    if new_from is not None and not 0 <= new_from <= len(points):
        raise file_error(path, f"new_from = {new_from}, expected 0 to {len(points):,}")
    new = None if new_from is None else np.arange(len(points)) >= new_from
    given = _checked(path, attributes or {}, len(points))
    content = Content(points, new, extend_attributes(given, points))
    try:
        with (
            atomic_path(path) as draft,
            open(draft, "xb") as out,
            packing(out, path) as stream,
        ):
            writer(stream, content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise file_error(path, f"cannot be written ({reason})") from error


def _checked(path: Path, attributes: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Attributes as arrays, refused where one cannot be that of `count` points or fewer."""
    arrays = {name: np.asarray(values) for name, values in attributes.items()}
    for name, values in arrays.items():
        if values.ndim != 1 or not 0 < len(values) <= count or values.dtype.kind not in "fiub":
            shape = f"{values.dtype} of shape {values.shape}"
            raise file_error(path, f"attribute {name!r} is {shape}, expected {count:,} numbers")
    return arrays


def check_target(path: Path, force: bool) -> None:
    """Refuse a file that cannot be made, before the work that would fill it.

    Raises:
        CloudFileError: it is a folder, its folder is missing, its suffix is unknown, or it exists
            and may not be replaced.
    """
    if not is_writable(path):
        known = f"files that can be written: {' '.join(WRITABLE)}, with {GZIP} behind or without"
        raise file_error(path, f"unknown suffix {path.suffix.lower()!r}; {known}")
    # os.path answers False where Path would raise (no permission, impossible names): opening
    # the file then says what is wrong.
    if os.path.isdir(path):
        raise file_error(path, "is a folder; name a file in it")
    if not os.path.isdir(path.parent):
        raise file_error(path, f"its folder {path.parent} does not exist; make it first")
    if os.path.exists(path) and not force:
        raise file_error(path, "exists already; use --force (force=True) to replace it")
