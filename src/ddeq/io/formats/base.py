"""What every format module shares: the table of formats, the error, the file, exact conversion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, overload

import numpy as np

from ddeq.errors import DdeqError

# Larger integers have no exact float64, so reading them would move points.
_EXACT_INTEGER = 2**53
_MAX_LINE = 1 << 20
COLOURS, NORMALS = ("red", "green", "blue"), ("nx", "ny", "nz")
"""Names of attributes; colours are bytes wherever a format leaves it open."""


class CloudFileError(DdeqError):
    """A cloud file that cannot be read or written; the message is one line for people."""


def file_error(path: str | os.PathLike[str], problem: str) -> CloudFileError:
    """The error ``path: problem`` on one line, printable whatever the file is called."""
    line = " ".join(f"{os.fspath(path)}: {problem}".splitlines())
    return CloudFileError(line.encode("utf-8", "backslashreplace").decode("utf-8"))


@dataclass(frozen=True)
class Parsed:
    """What a format module found in a file.

    Attributes:
        points: (N, d) points or vertices, as stored.
        label: the format in words, such as ``"PLY binary"``.
        note: what was chosen among the file's content, such as ``"mesh vertices"``.
        triangles: (T, 3) rows of `points`; only for a mesh, and only when asked for.
        attributes: other numbers per point by name, (N,) each, as stored: colour, normals, ....
    """

    points: np.ndarray
    label: str
    note: str = ""
    triangles: np.ndarray | None = None
    attributes: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Content:
    """What a format module writes.

    Attributes:
        points: (N, d), contiguous float32 or float64, d = 2 or 3.
        new: (N,) bool, True for new points; None marks nothing.
        attributes: as in `Parsed`; a format without a place for them leaves them out.
    """

    points: np.ndarray
    new: np.ndarray | None = None
    attributes: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """The file being read and what the caller allows.

    Attributes:
        path: the file.
        size: its length in bytes.
        limit: the largest number of points to accept.
        want_faces: whether the caller will sample the surface of a mesh.
        shown: the file that the user named, where `path` is an unpacked copy of it.
    """

    path: Path
    size: int
    limit: int
    want_faces: bool = False
    shown: Path | None = None

    def error(self, problem: str) -> CloudFileError:
        """The error for this file, to be raised by the caller."""
        return file_error(self.shown or self.path, problem)

    def head(self, size: int = 65_536) -> bytes:
        """The first bytes of the file."""
        with open(self.path, "rb") as stream:
            return stream.read(size)

    def lines(self, offset: int = 0, first: int = 1) -> Iterator[tuple[int, str]]:
        """The file's lines as text from byte `offset`, numbered from `first`.

        Bytes that are not UTF-8 become U+FFFD, which no number contains.
        """
        encoding = "utf-8-sig" if offset == 0 else "utf-8"  # the former drops a leading mark
        with open(self.path, encoding=encoding, errors="replace") as stream:
            stream.seek(offset)
            number = first
            # Bounded, because a line of some damaged files would fill the memory.
            while line := stream.readline(_MAX_LINE):
                if len(line) == _MAX_LINE:
                    raise self.error(f"line {number:,} is too long for a file of points")
                yield number, line
                number += 1

    def memory_map(self) -> np.ndarray:
        """The file's bytes without loading them, (size,) uint8."""
        return np.memmap(self.path, dtype=np.uint8, mode="r")

    def check_count(self, count: int, what: str = "points") -> None:
        """Refuse more than `limit` points."""
        if count > self.limit:
            raise self.error(
                f"holds more {what} than the limit of {self.limit:,}; "
                "thin it out first or raise the limit"
            )

    def check_triangles(self, count: int) -> None:
        """Refuse more triangles than a closed surface over `limit` vertices has, 2 V - 4."""
        if count > 2 * self.limit:
            raise self.error(
                f"has faces that make {count:,} triangles, more than the limit of "
                f"{2 * self.limit:,}; simplify the mesh first or raise the limit"
            )

    def check_bytes(self, count: int, row: int, start: int, what: str = "points") -> None:
        """Refuse a header that promises more than the file holds, before allocating.

        Args:
            count: rows promised.
            row: bytes per row (at least, for rows of varying length).
            start: byte where the rows begin.
            what: what a row is.
        """
        missing = count * row - (self.size - start)
        if missing > 0:
            raise self.error(
                f"is cut off or damaged: its header promises {count:,} {what}, "
                f"but {missing:,} bytes are missing; export or copy it again"
            )

    def check_text(self, expected: str) -> None:
        """Refuse a file whose first bytes cannot be text (`expected` says what should be)."""
        head = self.head()
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise self.error("is UTF-16 text; save it as UTF-8")
        controls = set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b")
        if controls.intersection(head):
            raise self.error(f"is not {expected} but binary data; check the file's suffix")


Reader = Callable[[Source], Parsed]
Writer = Callable[[BinaryIO, Content], None]
READERS: dict[str, Reader] = {}
WRITERS: dict[str, Writer] = {}


class Suffixes(Sequence[str]):
    """The suffixes of a table of formats in order, also of those that enter later."""

    def __init__(self, table: Mapping[str, object]) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return tuple(sorted(self._table))[index]


def reads(*suffixes: str) -> Callable[[Reader], Reader]:
    """Enters a function as the reader of files with these suffixes."""

    def enter(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(suffixes, reader))
        return reader

    return enter


def writes(*suffixes: str) -> Callable[[Writer], Writer]:
    """Enters a function as the writer of files with these suffixes."""

    def enter(writer: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(suffixes, writer))
        return writer

    return enter


class Field(NamedTuple):
    """One number inside a packed row: its dtype (with byte order) and byte offset."""

    dtype: np.dtype
    offset: int


def read_columns(
    buffer: np.ndarray | bytes, start: int, count: int, row: int, fields: Sequence[Field]
) -> list[np.ndarray]:
    """Columns of packed rows, each (count,) of its own type.

    Args:
        buffer: the bytes.
        start: byte where the first row begins.
        count: number of rows.
        row: bytes per row.
        fields: which numbers of a row to take.
    """
    names = [f"c{i}" for i in range(len(fields))]
    table_dtype = np.dtype(
        {
            "names": names,
            "formats": [field.dtype for field in fields],
            "offsets": [field.offset for field in fields],
            "itemsize": row,
        }
    )
    table = np.frombuffer(buffer, dtype=table_dtype, count=count, offset=start)
    return [table[name] for name in names]


def read_fields(
    buffer: np.ndarray | bytes, start: int, count: int, row: int, fields: Sequence[Field]
) -> np.ndarray:
    """Columns of packed rows as one float array, (count, len(fields)); see `read_columns`."""
    return join_columns(read_columns(buffer, start, count, row, fields))


def is_plain(name: str) -> bool:
    """Whether a header of text can hold the name of an attribute."""
    return name.isascii() and name.isprintable() and len(name.split()) == 1


def as_colours(values: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of a colour, ``(N, >= 3)``, as attributes in bytes.

    Fractions count from 0 to 1. A colour that some points do not have is left out.
    """
    values = values[:, :3]
    if not np.isfinite(values).all() or (values < 0).any() or (values > 255).any():
        return {}
    whole = values if values.dtype.kind in "iub" or (values > 1).any() else 255 * values
    return dict(zip(COLOURS, np.round(whole).astype(np.uint8).T, strict=True))


def native(column: np.ndarray) -> np.ndarray:
    """A copy of a column, contiguous and in the byte order of this machine."""
    return np.array(column, dtype=column.dtype.newbyteorder("="))


def join_columns(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Columns of any number type as one (N, d) float array that keeps every value."""
    floats = [exact_float(column) for column in columns]
    out = np.empty((len(floats[0]), len(floats)), dtype=np.result_type(*floats))
    for i, column in enumerate(floats):
        out[:, i] = column
    return out


def exact_float(values: np.ndarray) -> np.ndarray:
    """`values` as native float32 or float64 without changing any of them.

    float32 and float64 stay, float16 becomes float32, integers become float64.

    Raises:
        ValueError: the dtype holds no real numbers, or a value is masked or has no exact float64.
    """
    if np.ma.is_masked(values):
        raise ValueError("it has masked values: fill them or leave their points out")
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f" and size <= 8:
        return values.astype(np.float32 if size <= 4 else np.float64)
    if kind == "f":
        narrow = values.astype(np.float64)
        if not np.array_equal(narrow, values, equal_nan=True):
            raise ValueError("its extended-precision numbers do not fit float64")
        return narrow
    if kind in "iu":
        if values.size and max(int(values.max()), -int(values.min())) > _EXACT_INTEGER:
            raise ValueError("it has integer coordinates above 2^53, which no float64 holds")
        return values.astype(np.float64)
    raise ValueError(f"its values are of type {values.dtype}, not real numbers")
