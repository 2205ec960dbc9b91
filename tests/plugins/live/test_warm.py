"""What `trigemu warm` runs: it takes a menu with everything, and compiles the kernels of a run."""

from __future__ import annotations

from pathlib import Path

from live_toys import single

from trigemu import emulate
from trigemu_live.beam_kernels import run_orbits
from trigemu_live.fill_kernels import add_controlled
from trigemu_live.ordered_kernels import run_ordered
from trigemu_live.warm import warm


def test_kernels_are_compiled(tmp_path: Path) -> None:
    warm(emulate(*single(tmp_path, 0.001)))
    for kernel in (run_orbits, run_ordered, add_controlled):
        assert kernel.signatures  # type: ignore[attr-defined]
