"""What every format module shares: the error, the file being read, exact conversion."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

# Larger integers have no exact float64, so reading them would move points.
_EXACT_INTEGER = 2**53
_MAX_LINE = 1 << 20


class CloudFileError(ValueError):
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
    """

    points: np.ndarray
    label: str
    note: str = ""
    triangles: np.ndarray | None = None


@dataclass(frozen=True)
class Source:
    """The file being read and what the caller allows.

    Attributes:
        path: the file.
        size: its length in bytes.
        limit: the largest number of points to accept.
        want_faces: whether the caller will sample the surface of a mesh.
    """

    path: Path
    size: int
    limit: int
    want_faces: bool = False

    def error(self, problem: str) -> CloudFileError:
        """The error for this file, to be raised by the caller."""
        return file_error(self.path, problem)

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


class Field(NamedTuple):
    """One number inside a packed row: its dtype (with byte order) and byte offset."""

    dtype: np.dtype
    offset: int


def read_fields(
    buffer: np.ndarray | bytes, start: int, count: int, row: int, fields: Sequence[Field]
) -> np.ndarray:
    """Columns of packed rows as one float array, (count, len(fields)).

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
    return join_columns([table[name] for name in names])


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
        ValueError: the dtype holds no real numbers, or a value has no exact float64.
    """
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
