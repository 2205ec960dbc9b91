"""Limits of the environment that would make the program crash while it loads libraries."""

from __future__ import annotations

import os
import re

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

#: Bytes of address space for loading the libraries: with 720 MB they abort, in C++.
NEEDED = 850_000_000
_THREADS = "NUMBA_NUM_THREADS"


def unmet() -> str:
    """Return a message on the required change of the environment, or an empty text."""
    threads = os.environ.get(_THREADS, "").strip()
    if re.fullmatch(r"[+-]?\d{1,9}", threads) and int(threads) < 1:
        return f"{_THREADS}={threads}: expected a number of threads from 1 on, or no such variable"
    if resource is not None:
        allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
        if allowed != resource.RLIM_INFINITY and allowed < NEEDED:
            return (
                f"the address space is limited to {allowed / 1e6:.0f} MB, but the program needs "
                f"{NEEDED / 1e6:.0f} MB to start: raise the limit (ulimit -v)"
            )
    return ""
