"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch

__all__ = ["describe", "machine"]

_BUSY = 0.5  # processes that run beside this one


def machine(threads: int = 0) -> dict[str, Any]:
    """Processor, cores, versions, torch's threads and the load before anything was measured."""
    affinity = getattr(os, "sched_getaffinity", None)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": _processor(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "threads": threads or torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "load": load,
    }


def describe(found: dict[str, Any]) -> str:
    """The machine in one line, and a warning in another."""
    line = (
        f"{found['processor']}, {found['cores']} cores, {found['threads']} threads, "
        f"torch {found['torch']}, Python {found['python']}, {found['system']}"
    )
    load = found["load"]
    if load is not None and load > _BUSY:
        return f"{line}\nWARNING: the load is {load:.1f}: other jobs run, and ruin the timings"
    return f"{line}\nrun it alone on the machine: other jobs ruin the timings"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return (names or [platform.processor()])[0] or platform.machine()
