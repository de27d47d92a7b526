"""numpy's npy and npz. Pickled objects are never loaded."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from ddeq.io.formats.base import (
    NORMALS,
    Content,
    Parsed,
    Source,
    as_colours,
    exact_float,
    join_columns,
    native,
    reads,
    writes,
)

_NAMES = ("points", "xyz", "pos", "x", "arr_0")
_TAKEN = (*_NAMES, "y", "z")  # names that would be taken for coordinates
_MOST_ARRAYS = 64  # beside the points
_PREFIX = 65_536  # a header is far shorter; longer ones are refused


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    length: int


@reads(".npy")
def read(source: Source) -> Parsed:
    """An npy array of shape (N, 2) or (N, 3), or one with fields x, y[, z] and others."""
    header = _header(source, source.head(_PREFIX))
    with open(source.path, "rb") as stream:
        points, attributes = _load(source, stream, header, source.size)
    return Parsed(points, "NPY", attributes=attributes)


@reads(".npz")
def read_npz(source: Source) -> Parsed:
    """The array ``points``, ``xyz``, ``pos``, ``x`` or ``arr_0`` of an npz, or its only cloud.

    Arrays with a number per point are attributes, as are ``colors`` and ``normals``, ``(N, 3)``.
    """
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
                points, attributes = _load(source, stream, headers[name], info.file_size)
            for other in [n for n in headers if n != name][:_MOST_ARRAYS]:
                found = headers[other]
                if found.shape in ((len(points),), (len(points), 3)) and found.dtype.kind in "fiub":
                    with archive.open(members[other]) as stream:
                        values = _values(source, stream, found, members[other].file_size)
                    attributes |= _named(other, values)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise source.error(f"is not a whole NPZ file ({error}); save or copy it again") from None
    return Parsed(points, "NPZ", f"array {name!r}", attributes=attributes)


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


def _named(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """An array beside the points, ``(N,)`` or ``(N, 3)``, as attributes."""
    if values.ndim == 1:
        return {name: values}
    if name.lower() in ("color", "colors", "colour", "colours", "rgb"):
        return as_colours(values)
    axes = NORMALS if name.lower() in ("normal", "normals") else [f"{name}_{i}" for i in range(3)]
    return {axis: column.copy() for axis, column in zip(axes, values.T, strict=True)}


def _load(
    source: Source, stream: IO[bytes], header: _Header, size: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The cloud behind a header and its further fields."""
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        raise source.error("holds Python objects, which are never loaded; save plain floats")
    named = dtype.names is not None
    if len(shape) != (1 if named else 2) or (not named and shape[1] not in (2, 3)):
        hint = "; transpose it" if len(shape) == 2 and shape[0] in (2, 3) else ""
        raise source.error(f"has an array of shape {shape}, expected (N, 2) or (N, 3){hint}")
    values = _values(source, stream, header, size)
    return _named_columns(source, values) if named else (exact_float(values), {})


def _values(source: Source, stream: IO[bytes], header: _Header, size: int) -> np.ndarray:
    """The array behind a header, whose claims are checked before memory is taken."""
    count = header.shape[0]
    needed = int(np.prod(header.shape, dtype=object)) * header.dtype.itemsize
    missing = needed - (size - header.length)
    if missing > 0:
        raise source.error(
            f"is cut off or damaged: its header promises {count:,} points, "
            f"but {missing:,} bytes are missing; save or copy it again"
        )
    source.check_count(count)
    stream.read(header.length)
    flat = np.frombuffer(stream.read(needed), dtype=header.dtype)
    values = flat.reshape(header.shape, order="F" if header.fortran else "C")
    return values if header.dtype.names is not None else native(values)


def _named_columns(source: Source, table: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    names = table.dtype.names or ()
    if not {"x", "y"}.issubset(names):
        raise source.error(f"has fields {', '.join(names)[:80]}, expected x, y and perhaps z")
    axes = [axis for axis in ("x", "y", "z") if axis in names]
    others = {
        name: native(table[name])
        for name in names
        if name not in axes and table[name].ndim == 1 and table[name].dtype.kind in "fiub"
    }
    return join_columns([table[axis] for axis in axes]), others


@writes(".npy")
def write_npy(out: BinaryIO, cloud: Content) -> None:
    """The points alone; the format has no place for a mark."""
    np.save(out, cloud.points, allow_pickle=False)


@writes(".npz")
def write_npz(out: BinaryIO, cloud: Content) -> None:
    """Arrays ``points``, one per attribute and, when marked, ``new`` (bool)."""
    arrays = {name: values for name, values in cloud.attributes.items() if name not in _TAKEN}
    if cloud.new is not None:
        arrays["new"] = cloud.new
    with zipfile.ZipFile(out, "w") as archive:  # not savez, where a name could be an argument's
        for name, values in {"points": cloud.points, **arrays}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
