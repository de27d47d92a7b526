"""Tables of coordinates in text: xyz, txt, csv, pts, asc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

import numpy as np

from ddeq.io.formats.base import Content, Parsed, Source, reads, writes
from ddeq.io.formats.rows import Line, RowLayout, is_number, read_rows, significant, split_fields

_AXES = ("x", "y", "z")
_WRITE_ROWS = 65_536


@reads(".xyz", ".txt", ".csv", ".pts", ".asc")
def read(source: Source) -> Parsed:
    """Rows of 2 or 3 coordinates, separated by blanks, commas or semicolons.

    A header line naming columns ``x, y[, z]`` picks those wherever they stand (also when it is
    a comment right above the rows, as CloudCompare and ``numpy.savetxt`` write it). Otherwise
    the first three columns are taken. A first line with a single integer is the number of
    points (pts files, CloudCompare).
    """
    source.check_text("a text table")
    lines = source.lines()
    names, promised, first = _preamble(lines)
    if first is None:
        raise source.error("holds no points")
    layout, note = _layout(source, names, first)
    points = read_rows(source, chain([first], significant(lines)), layout)
    if promised is not None and promised != len(points):
        raise source.error(
            f"is cut off or damaged: it promises {promised:,} points and holds {len(points):,}"
        )
    label = "CSV text" if source.path.suffix.lower() == ".csv" else "text"
    return Parsed(points, label, note)


def _preamble(lines: Iterator[Line]) -> tuple[list[str] | None, int | None, Line | None]:
    """What precedes the rows: the column names, the promised count, then the first row."""
    names: list[str] | None = None
    comment: list[str] | None = None
    header_seen = False
    promised: Line | None = None
    for number, raw in lines:
        line = next((text for _, text in significant([(number, raw)])), "")
        if not line:
            found = _names(raw.strip().lstrip("#/ "))
            comment = found if _has_axes(found) else comment
            continue
        fields = split_fields(line, _delimiter(line))
        if not header_seen and (_has_axes(_names(line)) or not any(map(is_number, fields))):
            header_seen = True
            names = _names(line) if _has_axes(_names(line)) else None
        elif promised is None and len(fields) == 1 and fields[0].isdecimal():
            promised = (number, fields[0])
        else:
            if names is None and comment is not None and len(comment) == len(fields):
                names = comment
            return names, int(promised[1]) if promised else None, (number, line)
    # A lone integer is a row of one column, not a count: let the layout say so.
    return names, None, promised


def _delimiter(line: str) -> str | None:
    return ";" if ";" in line else "," if "," in line else None


def _names(line: str) -> list[str]:
    return [field.lower() for field in split_fields(line, _delimiter(line))]


def _has_axes(names: Sequence[str]) -> bool:
    return names.count("x") == 1 and names.count("y") == 1 and names.count("z") <= 1


def _layout(source: Source, names: list[str] | None, first: Line) -> tuple[RowLayout, str]:
    """Which columns are coordinates, and a note for people when there was a choice."""
    number, line = first
    delimiter = _delimiter(line)
    fields = split_fields(line, delimiter)
    width = len(fields)
    if names is not None:
        if len(names) != width:
            raise source.error(
                f"the header names {len(names)} columns, but line {number} has {width}"
            )
        columns = tuple(names.index(axis) for axis in _AXES if axis in names)
        note = "" if width == len(columns) else f"columns {', '.join(_AXES[: len(columns)])}"
        return RowLayout(columns, width, delimiter), note
    usable = width - 1 if fields[-1] == "" else width  # a separator at the end of each row
    if usable < 2:
        raise source.error(
            f"line {number} has {usable} column, and a point needs 2 or 3; "
            "separate coordinates by blanks, commas or semicolons"
        )
    dim = min(usable, 3)
    note = f"first 3 of {usable} columns" if usable > 3 else ""
    return RowLayout(tuple(range(dim)), width, delimiter), note


def format_rows(
    points: np.ndarray, separator: str, prefix: str = "", endings: Sequence[str] | None = None
) -> Iterator[bytes]:
    """Rows of text whose numbers read back as the same values, in blocks.

    float32 is widened first: its own shortest digits ("0.1") would be another number to a
    reader that works in float64.

    Args:
        points: (N, d) floats.
        separator: between coordinates.
        prefix: before each row.
        endings: a text behind each row; see `mark`.
    """
    dim = points.shape[1]
    for start in range(0, len(points), _WRITE_ROWS):
        block = points[start : start + _WRITE_ROWS]
        numbers = iter(map(repr, block.astype(np.float64).ravel().tolist()))
        rows = (prefix + separator.join(row) for row in zip(*[numbers] * dim, strict=True))
        if endings is not None:
            tails = endings[start : start + _WRITE_ROWS]
            rows = (row + tail for row, tail in zip(rows, tails, strict=True))
        yield ("\n".join(rows) + "\n").encode("ascii")


def mark(new: np.ndarray, old_text: str, new_text: str) -> list[str]:
    """A text per row, by whether the row is new."""
    return [new_text if flag else old_text for flag in new.tolist()]


@writes(".xyz", ".txt")
def write_plain(out: BinaryIO, cloud: Content) -> None:
    """Coordinates separated by blanks; the format has no place for a mark."""
    out.writelines(format_rows(cloud.points, " "))


@writes(".csv")
def write_csv(out: BinaryIO, cloud: Content) -> None:
    """A header ``x,y[,z]`` and rows; column ``new`` is 1 for new points."""
    points, new = cloud.points, cloud.new
    header = ",".join(_AXES[: points.shape[1]]) + ("" if new is None else ",new")
    out.write(f"{header}\n".encode("ascii"))
    endings = None if new is None else mark(new, ",0", ",1")
    out.writelines(format_rows(points, ",", endings=endings))
