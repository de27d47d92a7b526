"""E57, the exchange format of laser scanners, through the optional package pye57."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ddeq.io.formats.base import COLOURS, Parsed, Source, native, reads

_NEEDS = "pip install pye57"
_HEAD = b"ASTM-E57"
_NAMES = {"intensity": "intensity", **{f"color{name.capitalize()}": name for name in COLOURS}}


@reads(".e57")
def read(source: Source) -> Parsed:
    """The points of all scans of the file in its common frame, float64, and their attributes.

    Intensity and colour are kept if all scans have them. Points that a scan marks as invalid are
    left out.
    """
    try:
        import pye57
    except ImportError:
        raise source.error(f"E57 files need the package pye57: {_NEEDS}") from None
    if source.head(len(_HEAD)) != _HEAD:
        raise source.error("is not an E57 file (it does not begin with ASTM-E57)")
    try:
        with _opened(pye57.E57, str(source.path)) as file:
            headers = [file.get_header(i) for i in range(file.scan_count)]
            source.check_count(sum(int(header.point_count) for header in headers))
            scans = [_scan(file, i, header) for i, header in enumerate(headers)]
    except (OSError, MemoryError):
        raise
    except Exception as error:  # the library below has errors of its own
        text = " ".join(str(error).split("****")[0].split()) or type(error).__name__
        raise source.error(f"is damaged or cut off: {text[:120]}; copy it again") from error
    if not scans:
        raise source.error("holds no scan")
    shared = [name for name in scans[0] if all(name in scan for scan in scans)]
    columns = {name: np.concatenate([scan[name] for scan in scans]) for name in shared}
    points = np.column_stack([columns.pop(axis) for axis in ("x", "y", "z")])
    count = f"{len(scans)} scans" if len(scans) > 1 else ""
    return Parsed(points.astype(np.float64), "E57", count, attributes=columns)


@contextmanager
def _opened(kind: Any, path: str) -> Iterator[Any]:
    file = kind(path)
    try:
        yield file
    finally:
        file.close()


def _scan(file: Any, index: int, header: Any) -> dict[str, np.ndarray]:
    """Coordinates in the common frame and attributes of one scan, by our names."""
    table = file.read_scan_raw(index, ignore_unsupported_fields=True)
    kept = np.ones(int(header.point_count), dtype=bool)
    for state in ("cartesianInvalidState", "sphericalInvalidState"):
        if state in table:
            kept &= table[state] == 0
    local = _cartesian(table)[kept]
    if header.has_pose():
        local = np.asarray(file.to_global(local, header.rotation, header.translation))
    scan = dict(zip(("x", "y", "z"), local.T, strict=True))
    for theirs, ours in _NAMES.items():
        if theirs in table:
            scan[ours] = native(np.asarray(table[theirs])[kept])
    return scan


def _cartesian(table: dict[str, np.ndarray]) -> np.ndarray:
    """Coordinates ``(N, 3)``, from angles where the scanner gave those."""
    if "cartesianX" in table:
        return np.column_stack([table[f"cartesian{axis}"] for axis in "XYZ"]).astype(np.float64)
    reach, azimuth, elevation = (
        np.asarray(table[f"spherical{name}"], dtype=np.float64)
        for name in ("Range", "Azimuth", "Elevation")
    )
    level = reach * np.cos(elevation)
    return np.column_stack(
        [level * np.cos(azimuth), level * np.sin(azimuth), reach * np.sin(elevation)]
    )
