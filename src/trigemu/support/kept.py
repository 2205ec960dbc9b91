"""What became of the kernels of this process: a module without numba, which takes long to import."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Kept:
    """Counts for one process. loaded: kernels that were found; compiled: names of the others; unkept: names
    of those that could not be kept; folders: number of files written to each folder."""

    loaded: int = 0
    compiled: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)
    folders: Counter[Path] = field(default_factory=Counter)


KEPT = Kept()
