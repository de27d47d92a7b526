"""PLY: ascii, binary_little_endian and binary_big_endian."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ddeq.io.formats.base import Content, Parsed, Source, is_plain, reads, writes
from ddeq.io.formats.ply_body import Element, Property, read_ascii, read_binary

_MAX_HEADER, _MAX_PROPERTIES = 1 << 20, 1000
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip
_WORDS = {
    "i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint",
    "f4": "float", "f8": "double",
}  # fmt: skip
_COLOURS = {"red": (150, 255), "green": (150, 127), "blue": (150, 14)}  # input grey, new orange


@dataclass(frozen=True)
class _Header:
    order: str  # "" for ascii, else numpy's byte order
    elements: tuple[Element, ...]
    end: int  # byte where the data begins


@reads(".ply")
def read(source: Source) -> Parsed:
    """The vertices of a PLY file, 2-D when they have no ``z``, whatever else it holds."""
    header = _parse_header(source)
    vertex = next((element for element in header.elements if element.name == "vertex"), None)
    if vertex is None:
        raise source.error("has no element 'vertex', so no points")
    names = [prop.name for prop in vertex.properties if not prop.is_list]
    if not {"x", "y"}.issubset(names):
        raise source.error("its vertices have no properties x and y")
    axes = [axis for axis in ("x", "y", "z") if axis in names]
    faces = next((element for element in header.elements if element.is_faces), None)
    if header.order:
        body = read_binary(source, header.elements, header.end, header.order, vertex, axes)
    else:
        body = read_ascii(source, header.elements, header.end, vertex, axes)
    label = "PLY binary" if header.order else "PLY ascii"
    note = "mesh vertices" if faces else ""
    return Parsed(body.points, label, note, body.triangles, body.attributes)


def _parse_header(source: Source) -> _Header:
    head = source.head(_MAX_HEADER)
    start = re.match(rb"ply[ \t]*(\r\n|\n|\r)", head)
    if start is None:
        raise source.error(
            "is not a PLY file (it does not begin with the line 'ply'); "
            "a plain table of numbers should be named .xyz or .csv"
        )
    # With bare carriage returns a line feed after the header already belongs to the data.
    newline = rb"\r" if start.group(1) == b"\r" else rb"\r?\n"
    end = re.search(newline + rb"[ \t]*end_header[ \t]*" + newline, head)
    if end is None:
        raise source.error("its PLY header has no end_header line; export it again")
    text = head[start.end() : end.start()].decode("latin-1")
    order: str | None = None
    elements: list[Element] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) >= 2 and words[1] in _ORDERS:
            order = _ORDERS[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal():
            elements.append(Element(words[1].lower(), int(words[2]), ()))
        elif words[0] == "property" and elements:
            last = elements[-1]
            prop = _parse_property(source, words)
            if len(last.properties) >= _MAX_PROPERTIES:
                raise source.error(f"has more than {_MAX_PROPERTIES} properties in an element")
            elements[-1] = Element(last.name, last.count, (*last.properties, prop))
        else:
            raise source.error(f"cannot read the PLY header line {line.strip()[:60]!r}")
    if order is None:
        raise source.error("its PLY header has no format line")
    return _Header(order, tuple(elements), end.end())


def _parse_property(source: Source, words: list[str]) -> Property:
    """``property TYPE NAME`` or ``property list COUNT_TYPE TYPE NAME``."""
    if len(words) == 3 and words[1] in _TYPES:
        return Property(words[2].lower(), _TYPES[words[1]])
    if len(words) == 5 and words[1] == "list":
        length, item = _TYPES.get(words[2], ""), _TYPES.get(words[3])
        if item is not None and length.startswith(("i", "u")):
            return Property(words[4].lower(), item, length)
    raise source.error(f"cannot read the PLY header line {' '.join(words)[:60]!r}")


@writes(".ply")
def write(out: BinaryIO, cloud: Content) -> None:
    """Little-endian binary; 2-D clouds have ``x, y`` only; attributes follow the coordinates.

    Marked clouds carry ``new`` (0 or 1) and, unless they have colours of their own, colours: new
    points orange, input points grey.
    """
    points, new = cloud.points, cloud.new
    axes = ("x", "y", "z")[: points.shape[1]]
    columns = {axis: points[:, i] for i, axis in enumerate(axes)}
    columns |= {
        name: _storable(values)
        for name, values in cloud.attributes.items()
        if name not in axes and is_plain(name)
    }
    if new is not None:
        columns |= _marks(new, columns)
    dtypes = {name: values.dtype.newbyteorder("<") for name, values in columns.items()}
    table = np.empty(len(points), dtype=list(dtypes.items()))
    for name, values in columns.items():
        table[name] = values
    lines = ["ply", "format binary_little_endian 1.0", "comment written by ddeq"]
    lines += [] if new is None else ["comment new: 0 input point, 1 new point"]
    lines += [f"element vertex {len(points)}"]
    lines += [f"property {_WORDS[dtype.str[1:]]} {name}" for name, dtype in dtypes.items()]
    out.write("\n".join([*lines, "end_header", ""]).encode("ascii"))
    out.write(table.data)


def _marks(new: np.ndarray, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What tells new points from input ones."""
    marks = {}
    if not _COLOURS.keys() & columns.keys():
        marks = {
            name: np.where(new, fresh, old).astype(np.uint8)
            for name, (old, fresh) in _COLOURS.items()
        }
    return {**marks, "new": new.astype(np.uint8)}


def _storable(values: np.ndarray) -> np.ndarray:
    """The values in one of the types of the format, which has no integers of 64 bits."""
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    return values.astype(np.float64) if values.dtype.str[1:] not in _WORDS else values
