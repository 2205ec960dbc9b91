"""The machine and its clock."""

from __future__ import annotations

import os

import numpy as np
import pytest

from trigemu.support import environment, load_average, machine
from trigemu.support.machine import timer_overhead_ns


def test_the_timer_itself() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "_clock", iter(range(0, 10**7, 41)).__next__)
        assert timer_overhead_ns() == 41
    assert 0 < timer_overhead_ns() < 1e5


def test_the_environment_says_where() -> None:
    before = load_average()
    found = environment(before)
    assert found.cpu
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert found.load_before == before
    assert set(found.versions) == {"numpy", "numba", "onnxruntime", "treelite", "tl2cgen"}
    assert found.versions["numpy"] == np.__version__
    assert 0 < found.timer_resolution_ns < 1e6
