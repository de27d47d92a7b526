"""Meshes: off, obj and stl. Vertices, and triangles when the surface will be sampled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

import numpy as np

from ddeq.io.formats.base import (
    COLOURS,
    NORMALS,
    Content,
    Field,
    Parsed,
    Source,
    as_colours,
    read_fields,
    reads,
    writes,
)
from ddeq.io.formats.rows import Line, RowLayout, read_rows, significant
from ddeq.io.formats.surface import Polygons
from ddeq.io.formats.text import format_rows

_XYZ = RowLayout(columns=(0, 1, 2))
_STL_HEADER, _STL_ROW = 84, 50
_GREY, _ORANGE = (0.6, 0.6, 0.6), (1.0, 0.5, 0.05)
_OFF_KEYWORD = re.compile(r"(ST)?(C)?(N)?(4)?(n)?OFF", re.ASCII)


@reads(".off")
def read_off(source: Source) -> Parsed:
    """OFF and its variants with colours or normals; ``OFF490 518 0`` on one line is fine."""
    source.check_text("an OFF file")
    lines = significant(source.lines())
    count, faces, normals, colours = _off_counts(source, lines)
    more = 3 * (normals + colours)  # columns
    # "0 0 0" and a line break is the shortest vertex, the last line may lack the break.
    source.check_bytes(count, 6, -1, "vertices")
    source.check_count(count, "vertices")
    table = read_rows(source, lines, RowLayout((0, 1, 2), extra=tuple(range(3, 3 + more))), count)
    attributes: dict[str, np.ndarray] = {}
    if more and normals and np.isfinite(table[:, 3:6]).all():
        attributes |= dict(zip(NORMALS, table[:, 3:6].T, strict=True))
    if more and colours:
        attributes |= as_colours(table[:, -3:])
    triangles = None
    if source.want_faces:
        triangles = _off_faces(source, lines, faces).triangles(count, source)
    note = "mesh vertices" if faces else ""
    return Parsed(table[:, :3], "OFF", note, triangles, attributes)


def _off_counts(source: Source, lines: Iterator[Line]) -> tuple[int, int, bool, bool]:
    """The numbers of vertices and faces, and whether normals and colours follow coordinates."""
    _, line = next(lines, (0, ""))
    keyword = _OFF_KEYWORD.match(line)
    if keyword is None:
        raise source.error("is not an OFF file (it does not begin with OFF)")
    if keyword.group(4) or keyword.group(5):
        raise source.error(f"is a {keyword.group()} file; only points with 3 coordinates are read")
    rest = line[keyword.end() :]
    if "BINARY" in rest.upper():
        raise source.error("is a binary OFF file, which is not read; export it as text")
    if not rest.strip():
        _, rest = next(lines, (0, ""))
    words = rest.split()
    if len(words) < 2 or not (words[0].isdecimal() and words[1].isdecimal()):
        raise source.error("its OFF header does not give the numbers of vertices and faces")
    return int(words[0]), int(words[1]), bool(keyword.group(3)), bool(keyword.group(2))


def _off_faces(source: Source, lines: Iterator[Line], faces: int) -> Polygons:
    polygons = Polygons()
    for _ in range(faces):
        number, line = next(lines, (0, ""))
        if not number:
            raise source.error(
                f"is cut off: its header promises {faces:,} faces, "
                f"but only {len(polygons):,} follow"
            )
        words = line.split()
        size = int(words[0]) if words[0].isdecimal() else len(words)
        polygons.add(_corners(source, number, words[1 : size + 1], size))
    return polygons


def _corners(source: Source, number: int, words: list[str], size: int) -> list[int]:
    try:
        corners = [int(word) for word in words]
    except ValueError:
        corners = []
    if len(corners) != size:
        raise source.error(f"line {number} is not a face")
    return corners


@reads(".obj")
def read_obj(source: Source) -> Parsed:
    """The ``v`` lines of an OBJ file, with colours behind x y z if all of them have some."""
    source.check_text("an OBJ file")
    polygons = Polygons()
    has_faces = False

    def vertices(lines: Iterator[Line]) -> Iterator[Line]:
        # Faces are picked up on the way: negative indices count back from the vertices so far.
        nonlocal has_faces
        seen = 0
        for number, line in lines:
            if line == "v" or line.startswith(("v ", "v\t")):
                seen += 1
                yield number, line[2:]
            elif line.startswith(("f ", "f\t")):
                has_faces = True
                if source.want_faces:
                    polygons.add(_obj_face(source, number, line, seen))

    lines = vertices(significant(source.lines(), ("#",)))
    first = next(lines, (0, ""))
    coloured = len(first[1].split()) >= 6
    layout = RowLayout((0, 1, 2), extra=(3, 4, 5)) if coloured else _XYZ
    table = read_rows(source, chain([first] if first[0] else [], lines), layout)
    points = table[:, :3]
    triangles = polygons.triangles(len(points), source) if source.want_faces else None
    attributes = as_colours(table[:, 3:]) if coloured else {}
    return Parsed(points, "OBJ", "mesh vertices" if has_faces else "", triangles, attributes)


def _obj_face(source: Source, number: int, line: str, seen: int) -> list[int]:
    """Corners from 0; ``f v/vt/vn`` counts from 1, negative numbers from the last vertex."""
    words = [word.split("/")[0] for word in line.split()[1:]]
    corners = _corners(source, number, words, len(words))
    return [seen + corner if corner < 0 else corner - 1 for corner in corners]


@reads(".stl")
def read_stl(source: Source) -> Parsed:
    """An STL mesh: its different vertices in order of appearance, or its triangles."""
    soup, label = _stl_soup(source)
    if source.want_faces:
        return Parsed(soup, label, triangles=np.arange(len(soup)).reshape(-1, 3))
    _, first = np.unique(soup, axis=0, return_index=True)
    return Parsed(soup[np.sort(first)], label, "unique mesh vertices")


def _stl_soup(source: Source) -> tuple[np.ndarray, str]:
    """All corners of all triangles, (3 T, 3). Binary files, too, may begin with 'solid'."""
    head = source.head()
    count = int.from_bytes(head[80:84], "little")
    exact = source.size == _STL_HEADER + _STL_ROW * count
    if not exact and head.lstrip().lower().startswith(b"solid") and b"\0" not in head:
        return _stl_ascii(source), "STL ascii"
    if not exact and (source.size < _STL_HEADER or b"\0" not in head):
        raise source.error("is not an STL file (neither its text nor its binary form)")
    source.check_bytes(count, _STL_ROW, _STL_HEADER, "triangles")
    source.check_count(3 * count, "corners")
    # Per triangle: normal, three corners (9 float32 from byte 12), two unused bytes.
    fields = [Field(np.dtype("<f4"), 12 + 4 * i) for i in range(9)]
    corners = read_fields(source.memory_map(), _STL_HEADER, count, _STL_ROW, fields)
    return corners.reshape(-1, 3), "STL binary"


def _stl_ascii(source: Source) -> np.ndarray:
    lines = significant(source.lines())
    corners = ((number, line[6:]) for number, line in lines if line.lower().startswith("vertex"))
    soup = read_rows(source, corners, _XYZ)
    if len(soup) % 3:
        raise source.error(f"is cut off: its {len(soup):,} corners do not make whole triangles")
    return soup


@writes(".off")
def write_off(out: BinaryIO, cloud: Content) -> None:
    """Vertices without faces, with colours if they have some; z = 0 for 2-D clouds; no marks."""
    colours = [cloud.attributes[name] for name in COLOURS if name in cloud.attributes]
    keyword = "COFF" if len(colours) == 3 else "OFF"
    columns = [*colours, np.full(len(cloud.points), 255)] if len(colours) == 3 else []
    out.write(f"{keyword}\n{len(cloud.points)} 0 0\n".encode("ascii"))
    out.writelines(format_rows(_in_space(cloud.points), " ", columns=columns))


@writes(".obj")
def write_obj(out: BinaryIO, cloud: Content) -> None:
    """``v`` lines with the cloud's colours; z = 0 for 2-D clouds.

    Marked clouds without colours of their own get some: input points grey, new ones orange.
    """
    colours = [cloud.attributes[name] / 255 for name in COLOURS if name in cloud.attributes]
    if len(colours) < 3:
        old_new = zip(_GREY, _ORANGE, strict=True)
        colours = [] if cloud.new is None else [np.where(cloud.new, b, a) for a, b in old_new]
    out.writelines(format_rows(_in_space(cloud.points), " ", prefix="v ", columns=colours))


def _in_space(points: np.ndarray) -> np.ndarray:
    if points.shape[1] == 3:
        return points
    return np.column_stack([points, np.zeros(len(points), dtype=points.dtype)])
