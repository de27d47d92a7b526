"""glTF 2.0, as JSON (gltf) or in one binary file (glb): meshes and points in their scene."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ddeq.io.formats.base import NORMALS, Parsed, Source, as_colours, exact_float, reads
from ddeq.io.formats.surface import fan

_JSON, _BINARY = 0x4E4F534A, 0x004E4942
_NUMBERS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_MAX_DEPTH = 64


@reads(".glb", ".gltf")
def read(source: Source) -> Parsed:
    """The vertices of every mesh of the scene, moved by its nodes."""
    try:
        return _Document(source).cloud()
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise source.error(f"is not a whole glTF file ({type(error).__name__}: {error})") from error


class _Document:
    """A glTF file and the bytes that it refers to."""

    def __init__(self, source: Source) -> None:
        self.source = source
        raw = Path(source.path).read_bytes()
        self.inside = b""
        if raw.startswith(b"glTF"):
            self.label = "glTF binary"
            raw, self.inside = self._chunks(raw)
        else:
            self.label = "glTF"
        try:
            self.json = json.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise source.error(f"is not a glTF file: {error}") from error
        used = self.json.get("extensionsRequired", [])
        packed = [name for name in used if "compression" in name]
        if packed:
            raise source.error(f"needs {packed[0]}, which is not read; export it uncompressed")
        self._buffers: dict[int, bytes] = {}

    def _chunks(self, raw: bytes) -> tuple[bytes, bytes]:
        """The JSON and the binary part of a glb file."""
        found = {_JSON: b"", _BINARY: b""}
        at = 12
        while at + 8 <= len(raw):
            length, kind = struct.unpack_from("<II", raw, at)
            if at + 8 + length > len(raw):
                missing = at + 8 + length - len(raw)
                raise self.source.error(f"is cut off: {missing:,} bytes are missing")
            found.setdefault(kind, raw[at + 8 : at + 8 + length])
            found[kind] = found[kind] or raw[at + 8 : at + 8 + length]
            at += 8 + length
        return found[_JSON], found[_BINARY]

    def cloud(self) -> Parsed:
        """All points, and the triangles when they are wanted."""
        points: list[np.ndarray] = []
        triangles: list[np.ndarray] = []
        extras: list[dict[str, np.ndarray]] = []
        total = faces = 0
        for matrix, primitive in self._primitives():
            part = self._accessor(primitive["attributes"]["POSITION"], 3)
            mode = primitive.get("mode", _TRIANGLES)
            if mode in (_TRIANGLES, _STRIP, _FAN):
                corners = self._corners(primitive, len(part))
                faces += len(corners) // 3 if mode == _TRIANGLES else max(0, len(corners) - 2)
                self.source.check_triangles(faces)
                if self.source.want_faces:
                    triangles.append(_triangles(corners, mode) + total)
            if matrix is not None:
                part = part.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
            total += len(part)
            self.source.check_count(total, "vertices")
            points.append(part)
            extras.append(self._extras(primitive["attributes"], matrix, len(part)))
        if not points:
            raise self.source.error("has no mesh in its scene")
        cut = np.concatenate(triangles) if triangles else None
        note = "mesh vertices" if faces else ""
        shared = [name for name in extras[0] if all(name in extra for extra in extras)]
        attributes = {name: np.concatenate([extra[name] for extra in extras]) for name in shared}
        return Parsed(np.concatenate(points), self.label, note, cut, attributes)

    def _extras(
        self, named: dict[str, int], matrix: np.ndarray | None, count: int
    ) -> dict[str, np.ndarray]:
        """Normals, turned as the points are, and colours in bytes, of a primitive that has them."""
        found: dict[str, np.ndarray] = {}
        if "NORMAL" in named:
            normals = self._accessor(named["NORMAL"], 3)
            if matrix is not None:
                normals = normals @ np.linalg.pinv(matrix[:3, :3])
            length = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
            found |= dict(zip(NORMALS, (normals / length).astype(np.float32).T, strict=True))
        if "COLOR_0" in named:
            width = _WIDTHS[self.json["accessors"][named["COLOR_0"]]["type"]]
            found |= as_colours(np.clip(self._accessor(named["COLOR_0"], width), 0, 1))
        if any(len(values) != count for values in found.values()):
            raise self.source.error("has other numbers of colours or normals than of vertices")
        return found

    def _primitives(self) -> Iterator[tuple[np.ndarray | None, dict[str, Any]]]:
        """Each primitive with the matrix of its node; None stands for the identity."""
        meshes, nodes = self.json.get("meshes", []), self.json.get("nodes", [])
        scenes = self.json.get("scenes", [])
        if not scenes:
            for mesh in meshes:
                yield from ((None, primitive) for primitive in mesh["primitives"])
            return

        def visit(index: int, above: np.ndarray | None, depth: int) -> Iterator[Any]:
            if depth > _MAX_DEPTH:
                raise self.source.error(f"has nodes nested deeper than {_MAX_DEPTH}")
            node = nodes[index]
            matrix = _product(above, _matrix(node))
            if "mesh" in node:
                for primitive in meshes[node["mesh"]]["primitives"]:
                    yield matrix, primitive
            for child in node.get("children", []):
                yield from visit(child, matrix, depth + 1)

        for root in scenes[self.json.get("scene", 0)].get("nodes", []):
            yield from visit(root, None, 0)

    def _corners(self, primitive: dict[str, Any], vertices: int) -> np.ndarray:
        if "indices" not in primitive:
            return np.arange(vertices, dtype=np.int64)
        corners = self._accessor(primitive["indices"], 1)[:, 0].astype(np.int64)
        if len(corners) and (corners.min() < 0 or corners.max() >= vertices):
            raise self.source.error("its faces refer to vertices that it does not have")
        return corners

    def _accessor(self, index: int, width: int) -> np.ndarray:
        """The numbers of an accessor, (count, width); floats, or integers for indices."""
        accessor = self.json["accessors"][index]
        if "sparse" in accessor or "bufferView" not in accessor:
            raise self.source.error("has sparse data, which is not read; export it again")
        view = self.json["bufferViews"][accessor["bufferView"]]
        dtype = np.dtype(_NUMBERS[accessor["componentType"]])
        if _WIDTHS[accessor["type"]] != width:
            raise self.source.error(f"has {accessor['type']} data where {width} numbers belong")
        row = width * dtype.itemsize
        data = self._buffer(view["buffer"])
        count, stride = _whole(accessor, "count"), _whole(view, "byteStride") or row
        start = _whole(view, "byteOffset") + _whole(accessor, "byteOffset")
        self.source.check_count(count // 3 if width == 1 else count, "vertices")
        missing = start + (count - 1) * stride + row - len(data) if count else 0
        if missing > 0 or stride < row:
            raise self.source.error(f"is cut off or damaged: {max(missing, 0):,} bytes are missing")
        table: np.ndarray = np.ndarray((count, width), dtype, data, start, (stride, dtype.itemsize))
        if width == 1 or dtype.kind == "f":
            return np.array(table)
        whole = exact_float(table)  # quantised coordinates; the node scales them back
        if accessor.get("normalized"):
            whole /= np.iinfo(dtype).max
        return whole

    def _buffer(self, index: int) -> bytes:
        """The bytes of a buffer: inside a glb, in the text, or in a file beside it."""
        if index not in self._buffers:
            uri = self.json["buffers"][index].get("uri")
            self._buffers[index] = self.inside if uri is None else self._load(uri)
        return self._buffers[index]

    def _load(self, uri: str) -> bytes:
        if uri.startswith("data:"):
            try:
                return base64.b64decode(uri.split(",", 1)[1], validate=True)
            except (binascii.Error, IndexError) as error:
                raise self.source.error(f"has damaged data in its text ({error})") from error
        folder = (self.source.shown or self.source.path).resolve().parent
        path = (folder / unquote(uri)).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            raise self.source.error(f"needs the file {uri[:80]!r} beside it")
        return path.read_bytes()


def _whole(entry: dict[str, Any], key: str) -> int:
    """A number of bytes or rows; 0 if it is not given."""
    value = entry.get(key, 0)
    if not isinstance(value, int) or not 0 <= value < 2**53:
        raise TypeError(f"{key} is {value!r:.40}")
    return value


def _triangles(corners: np.ndarray, mode: int) -> np.ndarray:
    """Corners as triangles, (T, 3)."""
    if mode == _TRIANGLES:
        return corners[: len(corners) // 3 * 3].reshape(-1, 3)
    if mode == _STRIP or len(corners) < 3:
        return np.stack([corners[:-2], corners[1:-1], corners[2:]], axis=1)
    triangles = np.empty((len(corners) - 2, 3), dtype=np.int64)
    fan(corners[None], triangles)
    return triangles


def _matrix(node: dict[str, Any]) -> np.ndarray | None:
    """The 4 x 4 matrix of a node, from its own numbers or from move, turn and scale."""
    if "matrix" in node:
        given: np.ndarray = np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
        return given
    if not {"translation", "rotation", "scale"} & node.keys():
        return None
    x, y, z, w = np.array(node.get("rotation", [0, 0, 0, 1]), dtype=np.float64)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = turn * np.array(node.get("scale", [1, 1, 1]), dtype=np.float64)
    matrix[:3, 3] = node.get("translation", [0, 0, 0])
    return matrix


def _product(above: np.ndarray | None, own: np.ndarray | None) -> np.ndarray | None:
    if above is None or own is None:
        return own if above is None else above
    product: np.ndarray = above @ own
    return product
