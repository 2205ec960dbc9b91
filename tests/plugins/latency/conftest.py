from __future__ import annotations

import pytest
from bench_toys import CLOCK, LOG, emulation
from trigemu_latency import Bench, bench
from trigemu_latency.timing.costs import steps

from trigemu import Events
from trigemu.api import Emulation


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Emulation:
    return emulation(tmp_path_factory.mktemp("latency"))


@pytest.fixture(scope="session")
def measured_with_log(emulated: Emulation) -> tuple[Bench, list[tuple[str, Events]]]:
    messages: list[int] = []
    LOG.clear()
    result = bench(emulated, events=260, progress=messages.append, clock=CLOCK)
    assert sum(messages) == steps(emulated.plan, 260) == 3
    return result, [*LOG]


@pytest.fixture(scope="session")
def measured(measured_with_log: tuple[Bench, list[tuple[str, Events]]]) -> Bench:
    """The costs of the toy menu; the times are those of a clock that advances by itself."""
    return measured_with_log[0]
