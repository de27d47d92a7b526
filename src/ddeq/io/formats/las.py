"""LAS and LAZ, the formats of airborne scans, through the optional package laspy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddeq.io.formats.base import Parsed, Source, native, reads

_NEEDS = "pip install 'laspy[lazrs]'"
# bit fields of a byte and the raw integers behind x, y, z are not numbers of a point by themselves
_RAW = {"X", "Y", "Z"}


@reads(".las", ".laz")
def read(source: Source) -> Parsed:
    """The points in the file's coordinates, float64, and its other dimensions as attributes."""
    try:
        import laspy
    except ImportError:
        raise source.error(f"LAS and LAZ files need the package laspy: {_NEEDS}") from None
    if source.head(4) != b"LASF":
        raise source.error("is not a LAS file (it does not begin with LASF)")
    try:
        with laspy.open(source.path) as file:
            _check(source, file.header)
            las = file.read()
        points = np.column_stack([las.x, las.y, las.z]).astype(np.float64)
        attributes = _attributes(las)
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:  # laspy and its decompressor have errors of their own
        problem = str(error) or type(error).__name__
        hint = f" ({_NEEDS})" if "backend" in problem.lower() else ""
        raise source.error(f"cannot be read: {problem}{hint}") from error
    return Parsed(points, source.path.suffix[1:].upper(), attributes=attributes)


def _check(source: Source, header: Any) -> None:
    """Refuses more points than are allowed, or than the file can hold."""
    source.check_count(int(header.point_count))
    if not header.are_points_compressed:
        start, row = int(header.offset_to_point_data), int(header.point_format.size)
        source.check_bytes(int(header.point_count), row, start)


def _attributes(las: Any) -> dict[str, np.ndarray]:
    """Intensity, colour, time, ...: every other dimension with one number per point."""
    columns = {name: np.asarray(las[name]) for name in las.point_format.dimension_names}
    return {
        name: native(values)
        for name, values in columns.items()
        if name not in _RAW and values.ndim == 1 and values.dtype.kind in "fiu"
    }
