"""Files read in a process of its own, with a budget of time and memory.

A file that was made to be slow or huge then costs that process, not the demo.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ddeq.demo.checks import MAX_POINTS, RefusedError
from ddeq.io.files import CloudFileError, read_cloud

__all__ = ["COMMAND", "MEMORY", "SECONDS", "Reader"]

SECONDS = 30.0
"""That the reading of a file may take."""

MEMORY = 2**30
"""Bytes that it may take beyond those of the bare process."""

COMMAND = [sys.executable, "-m", "ddeq.demo.reading"]
"""Starts the process."""

_POINTS = 2_000_000


class Reader:
    """Reads clouds; its process starts with the first file and lives until a file exhausts it.

    Not for several threads at once.
    """

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None

    def read(self, body: bytes, suffix: str, name: str) -> tuple[np.ndarray, str]:
        """The points ``(N, d)`` in a file's bytes, and what kind of file it is.

        Args:
            body: The file.
            suffix: Says its format.
            name: For the sentence if it cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="ddeq-") as folder:
            path = Path(folder) / f"cloud{suffix}"
            path.write_bytes(body)
            answer = self._ask(path)
            if answer is None:
                raise RefusedError(f"{name}: takes more time or memory than the demo gives.", 413)
            if "error" in answer:
                raise RefusedError(answer["error"].replace(str(path), name) + ".")
            return np.load(path.with_suffix(".points.npy")), answer["kind"]

    def close(self) -> None:
        """Ends the process."""
        if self.child is not None:
            _end(self.child)
            self.child = None

    def _ask(self, path: Path) -> dict[str, Any] | None:
        """What the process says of a file, or None if it did not come back in time."""
        child = self._running()
        timer = threading.Timer(SECONDS, child.kill)
        timer.start()
        try:
            print(path, file=child.stdin, flush=True)
            line = child.stdout.readline() if child.stdout else ""
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.close()
            return None
        return json.loads(line)

    def _running(self) -> subprocess.Popen[str]:
        """The process, started anew if it has ended; it has said that it is ready."""
        if self.child is None or self.child.poll() is not None:
            self.close()
            self.child = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
            weakref.finalize(self, _end, self.child)
            if self.child.stdout is not None:
                self.child.stdout.readline()
        return self.child


def _end(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        child.kill()
        child.communicate()


def _limit_memory() -> None:
    """Bounds the memory of this process, where the system can."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    except (ImportError, OSError, ValueError):
        return


def _answer(path: Path) -> dict[str, str]:
    try:
        file = read_cloud(path, surface_points=MAX_POINTS, max_points=_POINTS)
    except CloudFileError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"{path}: takes more memory than the demo gives"}
    np.save(path.with_suffix(".points.npy"), file.points)
    return {"kind": file.kind}


def main() -> None:
    """Reads the files whose paths come in, a line each, and answers in JSON, a line each."""
    _limit_memory()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(Path(line.rstrip("\n")))), flush=True)


if __name__ == "__main__":
    main()
