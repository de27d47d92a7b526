"""Downloading data from public mirrors: checked, resumable, whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddeq.io.atomic import move_into_place

__all__ = ["MNIST_FILES", "MNIST_MIRRORS", "RemoteFile", "download", "fetch_mnist"]

MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)

_TIMEOUT = 30.0
_CHUNK = 1 << 16
_FAILURES = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class RemoteFile:
    """A file as the mirrors have it: its name, size in bytes and SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


MNIST_FILES = (
    RemoteFile(
        "train-images-idx3-ubyte.gz",
        9912422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    RemoteFile(
        "train-labels-idx1-ubyte.gz",
        28881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    RemoteFile(
        "t10k-images-idx3-ubyte.gz",
        1648877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    RemoteFile(
        "t10k-labels-idx1-ubyte.gz",
        4542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)


def fetch_mnist(root: str | Path, report: Callable[[str], None] = lambda line: None) -> list[Path]:
    """Downloads the four MNIST files to ``root/mnist``; those already there are only checked.

    Args:
        root: The data folder.
        report: Called with one line for each file.

    Raises:
        ConnectionError: when no mirror gives a file; says what to put where.
    """
    paths = []
    for file in MNIST_FILES:
        path = Path(root) / "mnist" / file.name
        there = download([mirror + file.name for mirror in MNIST_MIRRORS], path, file)
        report(f"{'checked' if there else 'fetched'}  {path}  ({file.size:,} bytes)")
        paths.append(path)
    return paths


def download(urls: Sequence[str], path: str | Path, file: RemoteFile) -> bool:
    """Fetches a file unless it is there already.

    What has arrived is kept in ``<path>.part``, and a later call goes on from there. The file takes
    its name only when size and SHA-256 are right.

    Args:
        urls: Where to ask, one after another.
        path: Where to put it.
        file: What it must be.

    Returns:
        True if the right file was there already.

    Raises:
        ConnectionError: when no address gives the right file; one line that says why and what to
            put where.
    """
    path = Path(path)
    if path.is_file() and _right(path, file):
        return True
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    reason = "no address"
    for url in urls:
        try:
            _receive(url, part, file.size)
        except _FAILURES as error:
            reason = f"{url}: {getattr(error, 'reason', None) or error}"
            continue
        if _right(part, file):
            move_into_place(part, path)
            return False
        part.unlink()
        reason = f"{url}: wrong size or SHA-256"
    raise ConnectionError(f"could not download {file.name} ({reason}): put the file at {path}")


def _receive(url: str, part: Path, size: int) -> None:
    """Appends what is missing of a file to ``part``."""
    have = part.stat().st_size if part.is_file() else 0
    if have >= size:  # complete, or wrong: the checksum will tell
        return
    headers = {"User-Agent": "ddeq", **({"Range": f"bytes={have}-"} if have else {})}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        # A server that ignores the range sends the file from its beginning.
        resumed = response.status == 206
        with open(part, "ab" if resumed else "wb") as stream:
            while chunk := response.read(_CHUNK):
                stream.write(chunk)
    if part.stat().st_size < size:
        raise ConnectionError(f"connection lost after {part.stat().st_size:,} of {size:,} bytes")


def _right(path: Path, file: RemoteFile) -> bool:
    """Whether a file has the size and the SHA-256 it should have."""
    if path.stat().st_size != file.size:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest() == file.sha256
