"""The machine and its clock."""

from __future__ import annotations

import pytest
from trigemu_latency.timing import environment
from trigemu_latency.timing.environment import timer_overhead_ns


def test_the_timer_itself() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "_clock", iter(range(0, 10**7, 41)).__next__)
        assert timer_overhead_ns() == 41
    assert 0 < timer_overhead_ns() < 1e5
