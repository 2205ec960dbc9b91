"""What the environment of the program has to allow before libraries are loaded, which would end it."""

from __future__ import annotations

import os
import re

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

#: Bytes of address space that loading the libraries takes: with 720 MB they abort, in C++.
NEEDED = 850_000_000
_THREADS = "NUMBA_NUM_THREADS"


def unmet() -> str:
    """Return what is to be changed in the environment, or an empty text."""
    threads = os.environ.get(_THREADS, "").strip()
    if re.fullmatch(r"[+-]?\d{1,9}", threads) and int(threads) < 1:
        return f"{_THREADS}={threads}: expected a number of threads from 1 on, or no such variable"
    if resource is not None:
        allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
        if allowed != resource.RLIM_INFINITY and allowed < NEEDED:
            return (
                f"the address space is limited to {allowed / 1e6:.0f} MB, and {NEEDED / 1e6:.0f} MB are "
                f"needed to begin with: raise the limit (ulimit -v)"
            )
    return ""
