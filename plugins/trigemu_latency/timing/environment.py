"""The machine on which times are measured, and its clock."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from trigemu.base.processes import cores

#: Libraries, besides Python, that the time per event depends on.
LIBRARIES = ("numpy", "numba", "onnxruntime", "treelite", "tl2cgen")

_EMPTY_INTERVALS = 10_001
_clock = time.perf_counter_ns


@dataclass(frozen=True)
class Environment:
    """The machine and software on which times were measured."""

    cpu: str  # Model of the processor
    cores: int  # Cores that this process may use
    system: str  # Operating system and architecture
    python: str  # Version of Python
    versions: Mapping[str, str]  # Versions of the libraries that the times depend on, by name
    # load_before, load_after: Load averages over 1, 5 and 15 minutes before and after the measurement; None
    # if the system does not provide them.
    load_before: tuple[float, float, float] | None
    load_after: tuple[float, float, float] | None
    # timer_resolution_ns, timer_overhead_ns: Resolution of the clock and median time of reading it, in ns.
    timer_resolution_ns: float
    timer_overhead_ns: float
    # State of Python's garbage collection during the measurement.
    garbage_collection: str = "off while timing"


def load_average() -> tuple[float, float, float] | None:
    """Return the load averages of the machine."""
    return os.getloadavg() if hasattr(os, "getloadavg") else None


def environment(load_before: tuple[float, float, float] | None) -> Environment:
    """Describe the machine and the software of this process, now."""
    return Environment(
        cpu=_cpu(),
        cores=cores(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        versions={name: _version(name) for name in LIBRARIES},
        load_before=load_before,
        load_after=load_average(),
        timer_resolution_ns=time.get_clock_info("perf_counter").resolution * 1e9,
        timer_overhead_ns=timer_overhead_ns(),
    )


@contextmanager
def undisturbed() -> Iterator[None]:
    """Suspend garbage collection during a block that is timed."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def timer_overhead_ns() -> float:
    """Return the median of empty intervals, in ns."""
    with undisturbed():
        return float(np.median([-(_clock() - _clock()) for _ in range(_EMPTY_INTERVALS)]))


def _cpu() -> str:
    """Return the model of the processor."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, models), platform.processor() or platform.machine())


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
