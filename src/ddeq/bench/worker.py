"""One measurement in a process of its own: its time, and its peak memory.

The high-water mark of a process never falls, so every measurement needs a new one. They are forked
from a server that has imported torch and done nothing else, which takes milliseconds; where
processes cannot be forked, each starts from scratch.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np
import torch

__all__ = ["Measured", "fresh", "peak_memory", "seconds"]


@dataclass(frozen=True)
class Measured:
    """What a process reports.

    Attributes:
        value: What its function returned.
        memory: Peak resident memory above what the process held before the call, in bytes.
        peak: The whole peak, with Python, torch, weights and data.
        problem: Why there is no value.
    """

    value: Any = None
    memory: int | None = None
    peak: int | None = None
    problem: str | None = None


def fresh(prepare: Callable[..., Callable[[], Any]], *args: Any, threads: int = 0) -> Measured:
    """``prepare(*args)()`` in a new process; memory is counted from after ``prepare``.

    Args:
        prepare: A function of a module, so that another process can find it.
        args: Its arguments: numbers, strings, arrays, records of these.
        threads: Of torch; 0 leaves its own choice.
    """
    context = _context()
    ours, theirs = context.Pipe()
    process = context.Process(  # type: ignore[attr-defined]
        target=_child, args=(theirs, prepare, args, threads), daemon=True
    )
    process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        process.join()
        answer = Measured(problem=_end(process.exitcode))
    finally:
        if process.exitcode is None and sys.exc_info()[0] is not None:
            process.kill()
        process.join()
        ours.close()
    return answer


def seconds(function: Callable[[], Any], repeat: int, budget: float) -> float:
    """Median time of a call.

    Args:
        function: What is timed, after one call to warm up.
        repeat: Number of timed calls.
        budget: Once so many seconds have passed, no further call is made; if the first call takes
            that long, it is the one that counts.
    """
    first = _time(function)
    times = [first] if first >= budget else []
    while not times or (len(times) < repeat and sum(times) < budget):
        times.append(_time(function))
    return float(np.median(times))


def _time(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def peak_memory() -> int | None:
    """Largest resident memory of this process so far in bytes; None where it cannot be known."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _end(status: int | None) -> str:
    """Why a process said nothing; a negative status is the signal that ended it."""
    if status is not None and status < 0:
        return f"the process was ended by signal {-status}: too little memory?"
    return f"the process ended with status {status}"


def _context() -> BaseContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ddeq.bench.jobs"])
    return context


def _child(
    connection: Connection, prepare: Callable[..., Any], args: tuple[Any, ...], threads: int
) -> None:
    try:
        if threads:
            torch.set_num_threads(threads)
        _warm()
        run = prepare(*args)
        before = peak_memory()
        value = run()
        after = peak_memory()
        memory = None if before is None or after is None else after - before
        connection.send(Measured(value, memory, after))
    except (RuntimeError, MemoryError) as error:  # such as torch out of memory
        connection.send(Measured(problem=" ".join(str(error).split())[:200]))
    except KeyboardInterrupt:
        pass


def _warm() -> None:
    """Loads what torch loads at the first use, so that it is not counted."""
    x = torch.randn(64, 64, requires_grad=True)
    torch.relu(x @ x).softmax(1).sum().backward()
