"""What `trigemu warm` runs: it takes a menu with everything, and compiles the kernels of a run."""

from __future__ import annotations

from pathlib import Path

from live_toys import single

from trigemu import emulate
from trigemu_live.beam_kernels import run_orbits
from trigemu_live.warm import warm


def test_kernels_are_compiled(tmp_path: Path) -> None:
    warm(emulate(*single(tmp_path, 0.001)))
    assert run_orbits.signatures  # type: ignore[attr-defined]
