"""numpy's npy and npz. Pickled objects are never loaded."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from ddeq.io.formats.base import (
    Content,
    Parsed,
    Source,
    exact_float,
    join_columns,
    reads,
    writes,
)

_NAMES = ("points", "xyz", "pos", "x", "arr_0")
_PREFIX = 65_536  # a header is far shorter; longer ones are refused


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    length: int


@reads(".npy")
def read(source: Source) -> Parsed:
    """An npy array of shape (N, 2) or (N, 3), or one with fields x, y[, z]."""
    header = _header(source, source.head(_PREFIX))
    with open(source.path, "rb") as stream:
        return Parsed(_load(source, stream, header, source.size), "NPY")


@reads(".npz")
def read_npz(source: Source) -> Parsed:
    """The array ``points``, ``xyz``, ``pos``, ``x`` or ``arr_0`` of an npz, or its only cloud."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            headers = {}
            for name, info in members.items():
                with archive.open(info) as stream:
                    headers[name] = _header(source, stream.read(_PREFIX))
            name = _choose(source, headers)
            info = members[name]
            with archive.open(info) as stream:
                points = _load(source, stream, headers[name], info.file_size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise source.error(f"is not a whole NPZ file ({error}); save or copy it again") from None
    return Parsed(points, "NPZ", f"array {name!r}")


def _header(source: Source, prefix: bytes) -> _Header:
    stream = io.BytesIO(prefix)
    readers: dict[tuple[int, int], Callable[..., Any]] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, dtype = readers[version](stream)
        if min(shape, default=0) < 0:
            raise ValueError("negative shape")
    except Exception:  # the header is Python source: a damaged one can raise nearly anything
        raise source.error("is not an NPY array, or its header is damaged") from None
    return _Header(shape, fortran, dtype, stream.tell())


def _choose(source: Source, headers: dict[str, _Header]) -> str:
    """The name of the cloud among the arrays."""
    for name in _NAMES:
        if name in headers:
            return name
    clouds = [name for name, header in headers.items() if len(header.shape) == 2]
    if len(clouds) == 1:
        return clouds[0]
    listed = ", ".join(f"{name} {header.shape}" for name, header in list(headers.items())[:8])
    raise source.error(
        f"has no array named {', '.join(_NAMES)} and not exactly one 2-D array "
        f"(found: {listed or 'none'}); save the cloud as 'points'"
    )


def _load(source: Source, stream: IO[bytes], header: _Header, size: int) -> np.ndarray:
    """The cloud behind a header, whose claims are checked before memory is taken."""
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        raise source.error("holds Python objects, which are never loaded; save plain floats")
    named = dtype.names is not None
    if len(shape) != (1 if named else 2) or (not named and shape[1] not in (2, 3)):
        hint = "; transpose it" if len(shape) == 2 and shape[0] in (2, 3) else ""
        raise source.error(f"has an array of shape {shape}, expected (N, 2) or (N, 3){hint}")
    count = shape[0]
    needed = int(np.prod(shape, dtype=object)) * dtype.itemsize
    missing = needed - (size - header.length)
    if missing > 0:
        raise source.error(
            f"is cut off or damaged: its header promises {count:,} points, "
            f"but {missing:,} bytes are missing; save or copy it again"
        )
    source.check_count(count)
    stream.read(header.length)
    values = np.frombuffer(stream.read(needed), dtype=dtype)
    if named:
        return _named_columns(source, values)
    return exact_float(values.reshape(shape, order="F" if header.fortran else "C"))


def _named_columns(source: Source, table: np.ndarray) -> np.ndarray:
    names = table.dtype.names or ()
    if not {"x", "y"}.issubset(names):
        raise source.error(f"has fields {', '.join(names)[:80]}, expected x, y and perhaps z")
    return join_columns([table[axis] for axis in ("x", "y", "z") if axis in names])


@writes(".npy")
def write_npy(out: BinaryIO, cloud: Content) -> None:
    """The points alone; the format has no place for a mark."""
    np.save(out, cloud.points, allow_pickle=False)


@writes(".npz")
def write_npz(out: BinaryIO, cloud: Content) -> None:
    """Arrays ``points`` and, when marked, ``new`` (bool)."""
    if cloud.new is None:
        np.savez(out, points=cloud.points)
    else:
        np.savez(out, points=cloud.points, new=cloud.new)
