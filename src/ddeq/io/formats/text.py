"""Tables of coordinates in text: xyz, txt, csv, pts, asc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

import numpy as np

from ddeq.io.formats.base import (
    COLOURS,
    NORMALS,
    Content,
    Parsed,
    Source,
    is_plain,
    reads,
    writes,
)
from ddeq.io.formats.rows import Line, RowLayout, is_number, read_rows, significant, split_fields

_AXES = ("x", "y", "z")
_WRITE_ROWS = 65_536


@reads(".xyz", ".txt", ".csv", ".pts", ".asc")
def read(source: Source) -> Parsed:
    """Rows of 2 or 3 coordinates, separated by blanks, commas or semicolons.

    A header line naming columns ``x, y[, z]`` picks those wherever they stand (also when it is
    a comment right above the rows, as CloudCompare and ``numpy.savetxt`` write it). Otherwise
    the first three columns are taken. A first line with a single integer is the number of
    points (pts files, CloudCompare). Other columns of numbers are attributes, see `_named`.
    """
    source.check_text("a text table")
    lines = source.lines()
    names, promised, first = _preamble(lines)
    if first is None:
        raise source.error("holds no points")
    layout, note = _layout(source, names, first)
    table = read_rows(source, chain([first], significant(lines)), layout)
    if promised is not None and promised != len(table):
        raise source.error(
            f"is cut off or damaged: it promises {promised:,} points and holds {len(table):,}"
        )
    label = "CSV text" if source.path.suffix.lower() == ".csv" else "text"
    dim = len(layout.columns)
    others = table[:, dim:]
    called = [names[i] for i in layout.extra] if names else guess_names(others, dim)
    return Parsed(table[:, :dim], label, note, attributes=text_attributes(others, called))


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
        others = (i for i, name in enumerate(names) if i not in columns and names.index(name) == i)
        extra = tuple(i for i in others if is_plain(names[i]))
        return RowLayout(columns, width, delimiter, extra), note
    usable = width - 1 if fields[-1] == "" else width  # a separator at the end of each row
    if usable < 2:
        raise source.error(
            f"line {number} has {usable} column, and a point needs 2 or 3; "
            "separate coordinates by blanks, commas or semicolons"
        )
    dim = min(usable, 3)
    note = f"first 3 of {usable} columns" if usable > 3 else ""
    return RowLayout(tuple(range(dim)), width, delimiter, tuple(range(dim, usable))), note


def guess_names(others: np.ndarray, dim: int) -> list[str]:
    """Names for the columns behind the coordinates, ``(N, k)``, of a file that gives none.

    Three whole numbers up to 255 are a colour, also behind an intensity as in pts files; three
    numbers of unit length are a normal. Any other column is called by its place, from 1.
    """
    width = others.shape[1]
    if dim == 3 and width in (3, 4) and _are_bytes(others[:, -3:]):
        return [*(("intensity",) if width == 4 else ()), *COLOURS]
    if dim == 3 and width == 3 and np.allclose(np.linalg.norm(others, axis=1), 1, atol=1e-2):
        return list(NORMALS)
    return [f"column{dim + i + 1}" for i in range(width)]


def text_attributes(others: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of text, ``(N, k)``, as attributes; one without any number is left out.

    Colours become bytes, other whole numbers integers, so that they are written as they were.
    """
    found: dict[str, np.ndarray] = {}
    for name, column in zip(names, others.T, strict=True):
        if np.isnan(column).all():
            continue
        if name in COLOURS and _are_bytes(column):
            found[name] = column.astype(np.uint8)
        elif np.isfinite(column).all() and (abs(column) < 2**31).all() and not (column % 1).any():
            found[name] = column.astype(np.int32)
        else:
            found[name] = column.copy()
    return found


def _are_bytes(values: np.ndarray) -> bool:
    return bool(((values >= 0) & (values <= 255) & (values % 1 == 0)).all())


def format_rows(
    points: np.ndarray, separator: str, prefix: str = "", columns: Sequence[np.ndarray] = ()
) -> Iterator[bytes]:
    """Rows of text whose numbers read back as the same values, in blocks.

    float32 is widened first: its own shortest digits ("0.1") would be another number to a
    reader that works in float64.

    Args:
        points: (N, d) floats.
        separator: between numbers.
        prefix: before each row.
        columns: further numbers of each row, (N,) each.
    """
    for start in range(0, len(points), _WRITE_ROWS):
        rows = slice(start, start + _WRITE_ROWS)
        cells = [_cells(column[rows]) for column in (*points.T, *columns)]
        texts = (prefix + separator.join(row) for row in zip(*cells, strict=True))
        yield ("\n".join(texts) + "\n").encode("ascii")


def _cells(values: np.ndarray) -> Iterator[str]:
    """Numbers as text: whole ones without a point if that is their type."""
    wide = values.astype(np.float64) if values.dtype.kind == "f" else values.astype(np.int64)
    return map(repr, wide.tolist())


def written_columns(cloud: Content) -> dict[str, np.ndarray]:
    """The attributes that a table can name; ``new`` as the cloud is marked now."""
    taken = {*_AXES, *(() if cloud.new is None else ("new",))}
    return {
        name: values
        for name, values in cloud.attributes.items()
        if name not in taken and is_plain(name) and not set(name) & set(",;#/\"'")
    }


@writes(".xyz", ".txt")
def write_plain(out: BinaryIO, cloud: Content) -> None:
    """Numbers separated by blanks, under a comment that names attributes if there are some.

    The format has no place for a mark.
    """
    columns = written_columns(cloud)
    if columns:
        header = " ".join([*_AXES[: cloud.points.shape[1]], *columns])
        out.write(f"# {header}\n".encode("ascii"))
    out.writelines(format_rows(cloud.points, " ", columns=list(columns.values())))


@writes(".csv")
def write_csv(out: BinaryIO, cloud: Content) -> None:
    """A header ``x,y[,z]`` with the attributes, and rows; column ``new`` is 1 for new points."""
    columns = written_columns(cloud)
    if cloud.new is not None:
        columns["new"] = cloud.new
    header = ",".join([*_AXES[: cloud.points.shape[1]], *columns])
    out.write(f"{header}\n".encode("ascii"))
    out.writelines(format_rows(cloud.points, ",", columns=list(columns.values())))
