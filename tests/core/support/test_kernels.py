"""What is compiled is never older than what it is compiled from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIRST = """
from trigemu.support.kernels import kernel
FACTOR = {factor}
@kernel
def inner(x):
    return x + {term}
"""
MIDDLE = """
from trigemu.support.kernels import kernel
import first
@kernel
def middle(x):
    return first.inner(x)
"""
LAST = """
from trigemu.support.kernels import kernel
import first
from first import FACTOR
from middle import middle
@kernel
def outer(x):
    return middle(x) * FACTOR + first.FACTOR
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_anew_when_what_it_calls_changes(tmp_path: Path) -> None:
    """From one process to the next, its own file being the same."""

    def run(factor: float, term: float) -> tuple[float, int]:
        (tmp_path / "first.py").write_text(FIRST.format(factor=factor, term=term))
        (tmp_path / "middle.py").write_text(MIDDLE)
        (tmp_path / "last.py").write_text(LAST)
        made = subprocess.run(
            [sys.executable, "last.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        value, hits = made.stdout.split()
        return float(value), int(hits)

    assert run(2.0, 3.0) == (10.0, 0)
    assert run(2.0, 3.0) == (10.0, 1)
    assert run(2.0, 4.0) == (12.0, 0)
    assert run(3.0, 4.0) == (18.0, 0)
