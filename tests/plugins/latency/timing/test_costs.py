"""What a bench holds: who is timed on which events, and that decisions are looked at."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from bench_toys import BATCHES, CLOCK, EVENTS, MENU, emulation
from stream_toys import events_of
from toys import memory_catalogue, menu_from
from trigemu_latency import Bench, Stream, bench
from trigemu_latency.timing import costs
from trigemu_latency.timing.clock import Batches
from trigemu_latency.timing.costs import batches_of, steps
from trigemu_latency.views import BenchView

from trigemu import Events, TrigemuError, emulate, make_plan, rates_of
from trigemu.api import Emulation, PluginError, SampleError


def test_every_trigger_that_looks_at_events_is_timed(measured: Bench) -> None:
    costs = {cost.trigger.name: cost for cost in measured.triggers}
    assert list(costs) == ["J30", "J30_TOO", "MU", "NEVER", "AD", "ALL", "OFF", "NOT", "ANY"]
    for name, cost in costs.items():
        assert tuple(cost.batch) == (() if name in ("NOT", "ANY") else BATCHES)
    assert costs["J30"].batch is costs["J30_TOO"].batch  # they are one slot
    for timings in (measured.menu, costs["MU"].batch):
        for size, timing_ in timings.items():
            assert timing_.events == size
            assert timing_.calls % (260 // size) == 0
            assert 0 < timing_.p50_ns <= timing_.max_ns
    assert tuple(measured.menu) == BATCHES


def test_rates_are_included(measured: Bench, emulated: Emulation) -> None:
    expected = rates_of(emulated)
    assert measured.rates.rate == expected.rate
    by_name = {trigger.name: trigger for trigger in expected.triggers}
    for cost in measured.triggers:
        assert cost.rates == by_name.get(cost.trigger.name)
    assert [cost.trigger.name for cost in measured.triggers if not cost.rates] == ["OFF"]


def test_triggers_with_a_preselection_are_also_timed_on_preselected_events(measured: Bench) -> None:
    costs = {cost.trigger.name: cost for cost in measured.triggers}
    full = math.fsum(event["weight"] for event in EVENTS)
    share = math.fsum(event["weight"] for event in EVENTS if event["photon"]) / full
    for name in ("MU", "AD"):
        assert costs[name].share == pytest.approx(share)
        assert tuple(costs[name].preselected) == BATCHES
    for name in ("J30", "ALL", "NEVER", "NOT"):
        assert (costs[name].share, costs[name].preselected) == (None, {})


def test_engines_and_bare_models_are_timed_on_preselected_events(
    measured_with_log: tuple[Bench, list[tuple[str, Events]]],
) -> None:
    measured, log = measured_with_log
    assert {(name, len(events)) for name, events in log} == {("bare_bdt", n) for n in BATCHES}
    with_photon = {bool((np.diff(events.collections["photon"].offsets) > 0).all()) for _, events in log}
    assert with_photon == {True, False}  # of AD, and of ALL
    for name in ("AD", "ALL"):
        assert list(measured[name].parts) == ["parallel", "kernels", "bare_bdt"]
        assert all(tuple(timings) == BATCHES for timings in measured[name].parts.values())
    assert not measured["MU"].parts


@pytest.mark.parametrize("size", [1, 16])
def test_a_decision_that_depends_on_other_events_is_reported(tmp_path: Path, size: int) -> None:
    text = MENU + '[[trigger]]\nname = "BAD"\nkind = "company"\nabove = 1.0\n'
    plan = emulation(tmp_path, text).plan
    alone = replace(plan, slots=(plan.slots[plan.bits[0]["BAD"]],))
    with pytest.raises(PluginError) as messages:
        Batches(events_of(11, 208), size).decisions(alone)
    assert "trigger 'BAD' (kind 'company') decides " in str(messages.value)
    assert f"of 208 events of 'toy' differently in batches of {size}: " in str(messages.value)


def test_times_are_those_of_the_trigger(tmp_path: Path) -> None:
    slow = '[[trigger]]\nname = "SLOW"\nkind = "parts"\nabove = 5.0\nseconds = 0.01\n'
    result = bench(emulation(tmp_path, MENU + slow), events=40, clock=CLOCK)
    full = result.menu[16].p50_ns * 16
    *others, last = [cost.batch[16].p50_ns * 16 for cost in result.triggers if cost.batch]
    assert min(full, last) >= 0.01e9 > max(others)


def test_a_menu_that_looks_at_no_event(tmp_path: Path) -> None:
    text = '[menu]\nname = "m"\n[[trigger]]\nname = "ANY"\nkind = "random"\nrate_hz = 1000.0\n'
    result = bench(emulation(tmp_path, text), events=260, clock=CLOCK)
    assert tuple(result.menu) == BATCHES
    assert [(cost.trigger.name, dict(cost.batch)) for cost in result.triggers] == [("ANY", {})]


def test_time_that_is_up_leaves_out_triggers(emulated: Emulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "TOGETHER", 1)
    messages: list[int] = []
    short = bench(emulated, events=60, seconds=1e-9, progress=messages.append, clock=CLOCK)
    assert sum(messages) == steps(emulated.plan, 60) == 2 * len(emulated.plan.slots)
    full = bench(emulated, events=60, clock=CLOCK)
    timed = [cost.trigger.name for cost in full.triggers if cost.batch]
    first = [name for name in timed if emulated.plan.bits[0][name] == 0]
    assert [cost.trigger.name for cost in short.triggers if cost.batch] == first
    assert (short.untimed, full.untimed) == (tuple(name for name in timed if name not in first), ())
    assert tuple(short.menu) == tuple(short.triggers[0].batch) == (1, 16)
    text = " ".join(BenchView().page(short).notes)
    assert f"from {short.untimed[0]} to {short.untimed[-1]}" in text


def test_batches_are_those_that_the_events_allow() -> None:
    assert [batches_of(n) for n in (5000, 4095, 16, 1)] == [(1, 16, 256, 4096), BATCHES, (1, 16), (1,)]


def test_a_background_without_rate_is_an_error(tmp_path: Path) -> None:
    result = emulation(tmp_path)
    empty = memory_catalogue({"toy": [event | {"weight": 0.0} for event in EVENTS]})
    with pytest.raises(SampleError, match="all weights of the background are 0"):
        bench(replace(result, catalogue=empty), events=200, clock=CLOCK)


@pytest.mark.parametrize("size", [1, 3, 16, 64])
def test_neighbouring_crossings_are_seen_across_batches(tmp_path: Path, size: int) -> None:
    legs = '{ object = "jet", crossing = -1 }, { object = "muon" }, { object = "jet", crossing = 2 }'
    plan = make_plan([menu_from(tmp_path, f'[[trigger]]\nname = "T"\nkind = "combination"\nlegs = [{legs}]')])
    contender = Batches(events_of(11, 64), size).decisions(plan)
    assert contender.calls * size == 64 - 64 % size


def test_a_path_or_an_emulation_is_the_menu(tmp_path: Path, emulated: Emulation) -> None:
    menu, catalogue = tmp_path / "menu.toml", emulated.catalogue
    menu.write_text(MENU[MENU.index("[[trigger]]") : MENU.index('[[trigger]]\nname = "AD"')])
    inputs = ((menu, catalogue), (str(menu), catalogue), (emulate(menu, catalogue),))
    first, *others = (bench(*of, events=16, clock=CLOCK).rates.triggers for of in inputs)
    assert others == [first, first]
    with pytest.raises(TrigemuError, match="the emulation already has samples"):
        bench(emulated, catalogue)
    with pytest.raises(TrigemuError, match=r"got an awkward\.Array; expected Events"):
        Stream(emulated.plan, ak.Array(EVENTS))  # type: ignore[arg-type]
