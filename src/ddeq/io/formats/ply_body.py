"""The data part of a PLY file: elements of fixed rows, and of rows with lists."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from ddeq.io.formats.base import Field, Source, join_columns, native, read_columns
from ddeq.io.formats.rows import Line, RowLayout, is_number, read_rows, significant, typed
from ddeq.io.formats.surface import Polygons, triangulate

_STRUCT = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I"}
_GATHERED = 1 << 20
_CORNERS = ("vertex_indices", "vertex_index")


@dataclass(frozen=True)
class Property:
    """A value of each row, or a list of values led by its length.

    Attributes:
        name: in lower case.
        dtype: numpy's name of the type without byte order.
        length_dtype: of a list's length; None for a single value.
    """

    name: str
    dtype: str
    length_dtype: str | None = None

    @property
    def is_list(self) -> bool:
        """Whether the property is a list."""
        return self.length_dtype is not None

    @property
    def min_bytes(self) -> int:
        """Bytes it takes at least (an empty list is only its length)."""
        return np.dtype(self.length_dtype or self.dtype).itemsize


@dataclass(frozen=True)
class Element:
    """A table of the file: `count` rows of `properties`."""

    name: str
    count: int
    properties: tuple[Property, ...]

    @property
    def rows_name(self) -> str:
        """What a row is, for messages."""
        return "points" if self.name == "vertex" else f"rows of {self.name[:40]!r}"

    @property
    def has_lists(self) -> bool:
        """Whether rows differ in length."""
        return any(prop.is_list for prop in self.properties)

    @property
    def min_bytes(self) -> int:
        """Bytes of a row in binary, at least."""
        return sum(prop.min_bytes for prop in self.properties)

    @property
    def is_faces(self) -> bool:
        """Whether this element makes the file a mesh."""
        return self.name == "face" and self.count > 0 and self.corners is not None

    @property
    def corners(self) -> int | None:
        """Position of the list of a face's vertices."""
        lists = (i for i, prop in enumerate(self.properties) if prop.is_list)
        return next((i for i in lists if self.properties[i].name in _CORNERS), None)

    def others(self, axes: Sequence[str]) -> dict[str, int]:
        """Positions of the single-valued properties that are no coordinates, by name."""
        singles = {p.name: i for i, p in enumerate(self.properties) if not p.is_list}
        return {name: i for name, i in singles.items() if name not in axes}

    def position(self, name: str) -> int:
        """Position of a single-valued property."""
        return next(i for i, p in enumerate(self.properties) if p.name == name and not p.is_list)


class Body(NamedTuple):
    """Points, triangles if wanted, and the other single values of the vertices."""

    points: np.ndarray
    triangles: np.ndarray | None
    attributes: dict[str, np.ndarray]


def read_binary(
    source: Source,
    elements: Sequence[Element],
    start: int,
    order: str,
    vertex: Element,
    axes: Sequence[str],
) -> Body:
    """Coordinates `axes` of `vertex` and, when wanted, the triangles of the faces."""
    raw = source.memory_map()
    points, triangles = None, None
    attributes: dict[str, np.ndarray] = {}
    at = start
    for element in elements:
        if points is not None and (triangles is not None or not source.want_faces):
            break
        source.check_bytes(element.count, element.min_bytes, at, element.rows_name)
        if element is vertex:
            source.check_count(element.count)
        if not element.has_lists:
            if element is vertex:
                points, attributes = _fixed_rows(raw, at, element, order, axes)
            at += element.count * element.min_bytes
            continue
        wanted: list[int] = []
        if element is vertex:
            wanted = [element.position(axis) for axis in axes]
        elif element.is_faces and source.want_faces:
            wanted = [element.corners or 0]
        keep = {i: _Places(element.properties[i], order, element.count) for i in wanted}
        at = _walk(source, raw, at, element, order, keep)
        if element is vertex:
            points = join_columns([keep[i].values(raw) for i in wanted])
        elif wanted:
            triangles = keep[wanted[0]].triangles(raw, vertex.count, source)
    assert points is not None  # `vertex` is one of `elements`
    return Body(points, triangles, attributes)


def _fixed_rows(
    raw: np.ndarray, at: int, element: Element, order: str, axes: Sequence[str]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Coordinates and attributes of rows without lists."""
    dtypes = [np.dtype(order + prop.dtype) for prop in element.properties]
    offsets = np.cumsum([0, *(dtype.itemsize for dtype in dtypes)]).tolist()
    others = element.others(axes)
    wanted = [*(element.position(axis) for axis in axes), *others.values()]
    fields = [Field(dtypes[i], offsets[i]) for i in wanted]
    columns = read_columns(raw, at, element.count, element.min_bytes, fields)
    rest = columns[len(axes) :]
    attributes = {name: native(column) for name, column in zip(others, rest, strict=True)}
    return join_columns(columns[: len(axes)]), attributes


class _Places:
    """Where one property stands in every row of an element whose rows differ in length."""

    def __init__(self, prop: Property, order: str, count: int) -> None:
        self._dtype = np.dtype(order + prop.dtype)
        self.starts = np.empty(count, dtype=np.int64)
        self.lengths = np.empty(count, dtype=np.int64)

    def values(self, raw: np.ndarray) -> np.ndarray:
        """The property's values, when it is a single one per row, (count,)."""
        return self._gather(raw, self.starts, 1)[:, 0]

    def triangles(self, raw: np.ndarray, vertices: int, source: Source) -> np.ndarray:
        """The property's lists as polygons, cut into triangles, (T, 3)."""
        groups = (
            self._gather(raw, self.starts[self.lengths == size], size)
            for size in np.unique(self.lengths[self.lengths > 2]).tolist()
        )
        return triangulate(groups, self.lengths, vertices, source)

    def _gather(self, raw: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
        """The lists of one length, (rows, length), in parts: each needs an index per byte."""
        size = length * self._dtype.itemsize
        out = np.empty((len(starts), size), dtype=np.uint8)
        rows = max(1, _GATHERED // size)
        for at in range(0, len(starts), rows):
            part = starts[at : at + rows]
            if len(part) == 1:  # of any length
                out[at] = raw[part[0] : part[0] + size]
            else:
                out[at : at + rows] = raw[part[:, None] + np.arange(size)]
        return out.view(self._dtype)


def _walk(
    source: Source,
    raw: np.ndarray,
    at: int,
    element: Element,
    order: str,
    keep: dict[int, _Places],
) -> int:
    """Go from list to list, note where the properties `keep` stand; the byte after the rows."""
    plan = [
        (
            np.dtype(prop.dtype).itemsize,
            struct.Struct(order + _STRUCT[prop.length_dtype]) if prop.length_dtype else None,
            keep.get(i),
        )
        for i, prop in enumerate(element.properties)
    ]
    view = raw.data
    for row in range(element.count):
        for item, length_format, places in plan:
            length = 1
            if length_format is not None:
                if at + length_format.size <= source.size:
                    (length,) = length_format.unpack_from(view, at)
                at += length_format.size
            if places is not None:
                places.starts[row] = at
                places.lengths[row] = length
            at += length * item
            if length < 0:
                raise source.error("is damaged: it holds a list of negative length")
        if at > source.size:
            raise source.error(
                f"is cut off or damaged: row {row + 1:,} of {element.count:,} of "
                f"{element.name[:40]!r} misses {at - source.size:,} bytes; export it again"
            )
    return at


def read_ascii(
    source: Source, elements: Sequence[Element], start: int, vertex: Element, axes: Sequence[str]
) -> Body:
    """As `read_binary`, for one row per line; numbers become float64."""
    points, triangles = None, None
    attributes: dict[str, np.ndarray] = {}
    lines = significant(source.lines(start, first=1 + len(source.head(start).splitlines())))
    for element in elements:
        if points is not None and (triangles is not None or not source.want_faces):
            break
        # A value takes a digit and a separator; the file's last one may lack the latter.
        shortest = 2 * len(element.properties)
        source.check_bytes(element.count, shortest, start - 1, element.rows_name)
        if element is vertex:
            points, attributes = _ascii_points(source, lines, element, axes)
        elif element.is_faces and source.want_faces:
            position = element.corners or 0
            rows = _ascii_rows(source, lines, element)
            polygons = Polygons()
            for row in rows:
                polygons.add([int(field) for field in row[position]])
            triangles = polygons.triangles(vertex.count, source)
        else:
            for _ in islice(lines, element.count):
                pass
    assert points is not None
    return Body(points, triangles, attributes)


def _ascii_points(
    source: Source, lines: Iterator[Line], element: Element, axes: Sequence[str]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Coordinates and attributes; those of rows with lists have the former only."""
    wanted = tuple(element.position(axis) for axis in axes)
    if not element.has_lists:
        others = element.others(axes)
        layout = RowLayout(wanted, len(element.properties), extra=tuple(others.values()))
        table = read_rows(source, lines, layout, element.count)
        dtypes = [(name, np.dtype(element.properties[i].dtype)) for name, i in others.items()]
        return table[:, : len(axes)], typed(table[:, len(axes) :], dtypes)
    source.check_count(element.count)
    rows = [[row[i][0] for i in wanted] for row in _ascii_rows(source, lines, element)]
    return np.array(rows, dtype=np.float64).reshape(-1, len(wanted)), {}


def _ascii_rows(
    source: Source, lines: Iterator[Line], element: Element
) -> Iterator[list[list[str]]]:
    """Per row, the fields of each property (a single value is a list of one)."""
    found = 0
    for number, line in islice(lines, element.count):
        fields = line.split()
        row, at = [], 0
        for prop in element.properties:
            length = 1
            if prop.is_list:
                length = int(fields[at]) if at < len(fields) and fields[at].isdecimal() else -1
                at += 1
            row.append(fields[at : at + length])
            at += length
            if length < 0 or at > len(fields) or not all(map(is_number, row[-1])):
                raise source.error(
                    f"line {number} does not hold the properties of '{element.name[:40]}'"
                )
        found += 1
        yield row
    if found < element.count:
        raise source.error(
            f"is cut off: its header promises {element.count:,} rows of "
            f"'{element.name[:40]}', but only {found:,} follow"
        )
