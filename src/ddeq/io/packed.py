"""Files packed with gzip: any format with ``.gz`` behind its suffix."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ddeq.io.formats.base import Source

__all__ = ["GZIP", "format_of", "packing", "unpacked"]

GZIP = ".gz"
_PART, _BYTES_PER_POINT = 1 << 20, 256


def format_of(path: Path) -> str:
    """The suffix that says the format: ``.xyz`` for ``a.xyz`` and for ``a.XYZ.gz``."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == GZIP else suffix


@contextmanager
def unpacked(source: Source) -> Iterator[Source]:
    """The source itself, or a copy without its packing that lasts as long as the block.

    Raises:
        CloudFileError: the packing is damaged, or holds more than the allowed points could need.
    """
    if source.path.suffix.lower() != GZIP:
        yield source
        return
    most = max(_PART, source.limit * _BYTES_PER_POINT)
    with tempfile.TemporaryDirectory(prefix="ddeq-") as folder:
        copy = Path(folder) / f"cloud{format_of(source.path)}"
        try:
            with gzip.open(source.path, "rb") as packed, open(copy, "wb") as out:
                while part := packed.read(_PART):
                    out.write(part)
                    if out.tell() > most:
                        raise source.error(f"unpacks to more than {most:,} bytes; unpack it first")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise source.error(f"is not a whole gzip file ({error}); copy it again") from error
        size = os.stat(copy).st_size
        if size == 0:
            raise source.error("is empty (0 bytes inside)")
        yield replace(source, path=copy, size=size, shown=source.path)


@contextmanager
def packing(out: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """The stream to write to: packed if the suffix says so, the same bytes every time."""
    if path.suffix.lower() != GZIP:
        yield out
        return
    with tempfile.TemporaryFile() as plain:
        yield plain
        plain.seek(0)
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
            shutil.copyfileobj(plain, packed, _PART)
