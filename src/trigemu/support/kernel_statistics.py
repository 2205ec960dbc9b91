"""Statistics of the kernel cache of this process, in a module without numba, which takes long to import."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class KernelCacheStatistics:
    """Counts of the kernels of one process.

    Attributes
    ----------
    loaded : int
        Kernels that were loaded from the disk.
    compiled : list of str
        Names of kernels that were compiled.
    not_stored : list of str
        Names of compiled kernels that could not be written to the disk.
    folders : Counter of Path
        Number of files written to each folder.
    """

    loaded: int = 0
    compiled: list[str] = field(default_factory=list)
    not_stored: list[str] = field(default_factory=list)
    folders: Counter[Path] = field(default_factory=Counter)


#: The counts of this process.
KERNEL_STATISTICS = KernelCacheStatistics()
