"""PCD, the format of the Point Cloud Library: ascii, binary and binary_compressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ddeq.io.formats.base import (
    Content,
    Field,
    Parsed,
    Source,
    is_plain,
    join_columns,
    native,
    read_columns,
    reads,
    writes,
)
from ddeq.io.formats.lzf import decompress
from ddeq.io.formats.rows import RowLayout, read_rows, significant, typed

_MAX_HEADER = 1 << 16
_AXES = ("x", "y", "z")
_SIZES = {"F": (4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}


@dataclass(frozen=True)
class _Column:
    name: str
    dtype: np.dtype
    count: int

    @property
    def size(self) -> int:
        return self.dtype.itemsize * self.count


@dataclass(frozen=True)
class _Header:
    columns: tuple[_Column, ...]
    points: int
    data: str
    end: int  # byte where the data begins
    lines: int

    @property
    def row(self) -> int:
        return sum(column.size for column in self.columns)

    @property
    def axes(self) -> list[int]:
        """Positions of the columns x, y and, if there, z."""
        names = [column.name for column in self.columns]
        return [names.index(axis) for axis in _AXES if axis in names]

    @property
    def others(self) -> dict[str, int]:
        """Positions of the other columns with one value per point, by name."""
        single = {column.name: i for i, column in enumerate(self.columns) if column.count == 1}
        return {name: i for name, i in single.items() if name not in (*_AXES, "_")}


@reads(".pcd")
def read(source: Source) -> Parsed:
    """The points of a PCD file, 2-D when it has no field ``z``."""
    header = _parse_header(source)
    if header.data == "ascii":
        points, attributes = _read_ascii(source, header)
        return Parsed(points, "PCD ascii", attributes=attributes)
    if header.data == "binary":
        columns = _read_binary(source, header)
    else:
        columns = _read_compressed(source, header)
    axes = len(header.axes)
    attributes = {n: native(c) for n, c in zip(header.others, columns[axes:], strict=True)}
    label = f"PCD {header.data.replace('_', ' ')}"
    return Parsed(join_columns(columns[:axes]), label, attributes=attributes)


def _read_ascii(source: Source, header: _Header) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    starts = np.cumsum([0, *(column.count for column in header.columns)]).tolist()
    source.check_bytes(header.points, 2 * starts[-1], header.end - 1)
    extra = tuple(starts[i] for i in header.others.values())
    layout = RowLayout(tuple(starts[i] for i in header.axes), starts[-1], extra=extra)
    lines = significant(source.lines(header.end, header.lines + 1))
    table = read_rows(source, lines, layout, header.points)
    dtypes = [(name, header.columns[i].dtype) for name, i in header.others.items()]
    axes = len(header.axes)
    return table[:, :axes], typed(table[:, axes:], dtypes)


def _read_binary(source: Source, header: _Header) -> list[np.ndarray]:
    source.check_bytes(header.points, header.row, header.end)
    source.check_count(header.points)
    offsets = np.cumsum([0, *(column.size for column in header.columns)]).tolist()
    wanted = [*header.axes, *header.others.values()]
    fields = [Field(header.columns[i].dtype, offsets[i]) for i in wanted]
    return read_columns(source.memory_map(), header.end, header.points, header.row, fields)


def _read_compressed(source: Source, header: _Header) -> list[np.ndarray]:
    """Two uint32 sizes, then LZF data that holds one column after the other."""
    source.check_bytes(2, 4, header.end, "sizes")
    source.check_count(header.points)
    with open(source.path, "rb") as stream:
        stream.seek(header.end)
        packed, unpacked = np.frombuffer(stream.read(8), dtype="<u4").tolist()
        source.check_bytes(packed, 1, header.end + 8, "compressed bytes")
        # No LZF step yields more than 88 bytes per byte read: a larger claim is a lie.
        if unpacked != header.points * header.row or unpacked > 88 * packed:
            raise source.error("is damaged: the sizes of its compressed data do not fit")
        data = decompress(stream.read(packed), unpacked)
    starts = np.cumsum([0, *(column.size * header.points for column in header.columns)]).tolist()
    return [
        np.frombuffer(data, header.columns[i].dtype, header.points, starts[i])
        for i in (*header.axes, *header.others.values())
    ]


def _parse_header(source: Source) -> _Header:
    entries: dict[str, list[str]] = {}
    end = lines = 0
    for raw in source.head(_MAX_HEADER).splitlines(keepends=True):
        end += len(raw)
        lines += 1
        words = raw.decode("latin-1").split("#")[0].split()
        if words:
            entries[words[0].upper()] = words[1:]
            if words[0].upper() == "DATA":
                break
    names = entries.get("FIELDS", entries.get("COLUMNS", []))  # COLUMNS until version 0.5
    if "DATA" not in entries or not names:
        raise source.error(
            "is not a PCD file (its header has no FIELDS or no DATA line); "
            "a plain table of numbers should be named .xyz or .csv"
        )
    data = " ".join(entries["DATA"]).lower()
    if data not in ("ascii", "binary", "binary_compressed"):
        raise source.error(f"has PCD data of the unknown kind {data[:40]!r}")
    columns = _parse_columns(source, names, entries)
    header = _Header(columns, _parse_points(source, entries), data, end, lines)
    found = [columns[i].name for i in header.axes]
    if found not in (["x", "y"], ["x", "y", "z"]):
        raise source.error(f"has the fields {' '.join(names)[:60]!r}, expected x, y and perhaps z")
    if any(columns[i].count != 1 for i in header.axes):
        raise source.error("has more than one value in a coordinate field")
    return header


def _parse_columns(
    source: Source, names: list[str], entries: dict[str, list[str]]
) -> tuple[_Column, ...]:
    sizes, types = entries.get("SIZE", []), entries.get("TYPE", [])
    counts = entries.get("COUNT", ["1"] * len(names))
    if not len(names) == len(sizes) == len(types) == len(counts):
        raise source.error("its PCD header has FIELDS, SIZE, TYPE and COUNT of unequal length")
    columns = []
    for name, size, kind, count in zip(names, sizes, types, counts, strict=True):
        known = size.isdecimal() and int(size) in _SIZES.get(kind.upper(), ())
        if not known or not count.isdecimal():
            raise source.error(f"cannot read the PCD field {name[:40]!r} (TYPE, SIZE or COUNT)")
        dtype = np.dtype(f"<{kind.lower()}{size}")
        columns.append(_Column(name.lower(), dtype, int(count)))
    return tuple(columns)


def _parse_points(source: Source, entries: dict[str, list[str]]) -> int:
    words = entries.get("POINTS") or entries.get("WIDTH", []) + entries.get("HEIGHT", ["1"])
    if not 1 <= len(words) <= 2 or not all(word.isdecimal() for word in words):
        raise source.error("its PCD header does not say how many points it has (POINTS)")
    return int(words[0]) * (int(words[1]) if len(words) == 2 else 1)


@writes(".pcd")
def write(out: BinaryIO, cloud: Content) -> None:
    """Binary; 2-D clouds have ``x y`` only; marked clouds have ``new`` (0 or 1)."""
    count, dim = cloud.points.shape
    columns = {axis: cloud.points[:, i] for i, axis in enumerate(_AXES[:dim])}
    for name, values in cloud.attributes.items():
        if name not in columns and is_plain(name) and values.dtype.kind in "fiu":
            columns[name] = values
    if cloud.new is not None:
        columns["new"] = cloud.new.astype(np.uint8)
    dtypes = {name: values.dtype.newbyteorder("<") for name, values in columns.items()}
    table = np.empty(count, dtype=list(dtypes.items()))
    for name, values in columns.items():
        table[name] = values
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        "FIELDS " + " ".join(dtypes),
        "SIZE " + " ".join(str(dtype.itemsize) for dtype in dtypes.values()),
        "TYPE " + " ".join(dtype.kind.upper() for dtype in dtypes.values()),
        "COUNT " + " ".join("1" for _ in dtypes),
        f"WIDTH {count}",
        "HEIGHT 1",
        "VIEWPOINT 0 0 0 1 0 0 0",
        f"POINTS {count}",
        "DATA binary",
        "",
    ]
    out.write("\n".join(lines).encode("ascii"))
    out.write(table.data)
