"""PLY: ascii, binary_little_endian and binary_big_endian."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ddeq.io.formats.base import Parsed, Source
from ddeq.io.formats.ply_body import Element, Property, read_ascii, read_binary

_MAX_HEADER = 1 << 20
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip
_OLD_COLOUR, _NEW_COLOUR = (150, 150, 150), (255, 127, 14)


@dataclass(frozen=True)
class _Header:
    order: str  # "" for ascii, else numpy's byte order
    elements: tuple[Element, ...]
    end: int  # byte where the data begins


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
        points, triangles = read_binary(
            source, header.elements, header.end, header.order, vertex, axes
        )
    else:
        points, triangles = read_ascii(source, header.elements, header.end, vertex, axes)
    label = "PLY binary" if header.order else "PLY ascii"
    return Parsed(points, label, "mesh vertices" if faces else "", triangles)


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


def write(out: BinaryIO, points: np.ndarray, new: np.ndarray | None) -> None:
    """Little-endian binary; 2-D clouds have ``x, y`` only.

    Marked clouds carry colours (input grey, new orange) and ``label`` (0 input, 1 new).
    """
    number = points.dtype.newbyteorder("<")
    axes = ("x", "y", "z")[: points.shape[1]]
    marks = () if new is None else ("red", "green", "blue", "label")
    table = np.empty(len(points), dtype=[(a, number) for a in axes] + [(m, "u1") for m in marks])
    for i, axis in enumerate(axes):
        table[axis] = points[:, i]
    if new is not None:
        for i, colour in enumerate(marks[:3]):
            table[colour] = np.where(new, _NEW_COLOUR[i], _OLD_COLOUR[i])
        table["label"] = new
    word = "float" if points.dtype == np.float32 else "double"
    lines = ["ply", "format binary_little_endian 1.0", "comment written by ddeq"]
    lines += [] if new is None else ["comment label: 0 input point, 1 new point"]
    lines += [f"element vertex {len(points)}"]
    lines += [f"property {word} {axis}" for axis in axes]
    lines += [f"property uchar {name}" for name in marks]
    out.write("\n".join([*lines, "end_header", ""]).encode("ascii"))
    out.write(table.data)
