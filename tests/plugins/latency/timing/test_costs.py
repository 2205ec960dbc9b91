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
from trigemu_latency.timing import clock, costs
from trigemu_latency.timing.clock import Batches, summary
from trigemu_latency.timing.costs import batches_of, check, steps
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
            assert timing_.calls % (230 // size) == 0
            assert 0 < timing_.p50_ns <= timing_.max_ns
    assert measured.environment.timer_overhead_ns > 0
    assert measured.batches == BATCHES


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
        preselected = costs[name].preselected
        assert preselected
        assert preselected.share == pytest.approx(share)
        assert tuple(preselected.batch) == BATCHES
        assert preselected.distinct <= sum(bool(event["photon"]) for event in EVENTS)
    for name in ("J30", "ALL", "NEVER", "NOT"):
        assert costs[name].preselected is None


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


def test_rounding_may_decide_a_tie(tmp_path: Path) -> None:
    """A Δφ of exactly its limit, in an angle that the batch rounds differently; not elsewhere."""
    text = '[[trigger]]\nname = "T"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 1\n'
    plan = make_plan([menu_from(tmp_path, text + 'requires = "abs(dphi(jet[0], jet[1])) < 0.5"\n')])
    events = events_of(11, 64)
    jet = events.collections["jet"]
    phi = np.zeros_like(jet.columns["phi"])
    first, second = jet.offsets[:-1], np.minimum(jet.offsets[:-1] + 1, len(phi) - 1)
    phi[second] = 0.25
    tie = int(np.flatnonzero(np.diff(jet.offsets) > 1)[0])
    phi[second[tie]] = phi[first[tie]] + 0.5
    tied = replace(
        events, collections=events.collections | {"jet": replace(jet, columns={**jet.columns, "phi": phi})}
    )
    batches = Batches(tied, 64)
    other = np.zeros((64, plan.words), np.uint64)
    other[tie] = 1
    batches._check_equal(plan, other)
    other[(tie + 1) % 64] = 1
    with pytest.raises(PluginError, match="decides differently in batches of 64 than of 64"):
        batches._check_equal(plan, other)


def test_how_many_machines_the_crossings_take(measured: Bench) -> None:
    """4 cores; one thread does 2 M events/s, three together 5 M/s; 30 MHz."""
    slow = summary(np.array([[500]]), 1)
    output = replace(
        measured,
        menu={1: slow},
        events_per_s={1: 5e6},
        threads=3,
        environment=replace(measured.environment, cores=4),
    )
    need = output.real_time(1)
    assert (need.cores, need.machines) == pytest.approx((15.0, 6.0 * 3 / 4))


def test_one_thread_is_not_measured_again(emulated: Emulation) -> None:
    result = bench(emulated, batches=(8,), events=100, clock=CLOCK)
    assert result.events_per_s == {8: result.menu[8].events_per_s}


@pytest.mark.parametrize("size", [1, 8])
def test_a_decision_that_depends_on_other_events_is_reported(tmp_path: Path, size: int) -> None:
    text = MENU + '[[trigger]]\nname = "BAD"\nkind = "company"\nabove = 1.0\n'
    with pytest.raises(PluginError) as messages:
        bench(emulation(tmp_path, text), batches=(size,), events=200, clock=CLOCK)
    assert "trigger 'BAD' (kind 'company') decides differently in batches of" in str(messages.value)
    assert f"of {size} than of 200, on event" in str(messages.value)


def test_a_wrong_stream_is_reported(emulated: Emulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one event, in one bit."""
    bit = emulated.plan.bits[0]["MU"]

    class Wrong(clock.Stream):
        def decide(self, event: int) -> None:
            super().decide(event)
            if event == 5:
                self.words[0] ^= np.uint64(1 << bit)

    monkeypatch.setattr(clock, "Stream", Wrong)
    with pytest.raises(PluginError, match=r"trigger 'MU' .* decides differently in batches of 1 than of 200"):
        bench(emulated, batches=(1,), events=200, clock=CLOCK)


def test_times_are_those_of_the_trigger(tmp_path: Path) -> None:
    slow = '[[trigger]]\nname = "SLOW"\nkind = "parts"\nabove = 5.0\nseconds = 0.01\n'
    result = bench(emulation(tmp_path, MENU + slow), batches=(100,), events=200, clock=CLOCK)
    full = result.menu[100].p50_ns * 100
    *others, last = [cost.batch[100].p50_ns * 100 for cost in result.triggers if cost.batch]
    assert min(full, last) >= 0.01e9 > max(others)


def test_a_menu_that_looks_at_no_event(tmp_path: Path) -> None:
    text = '[menu]\nname = "m"\n[[trigger]]\nname = "ANY"\nkind = "random"\nrate_hz = 1000.0\n'
    result = bench(emulation(tmp_path, text), batches=BATCHES, events=200, clock=CLOCK)
    assert tuple(result.menu) == BATCHES
    assert [(cost.trigger.name, dict(cost.batch)) for cost in result.triggers] == [("ANY", {})]


def test_time_that_is_up_leaves_out_triggers(emulated: Emulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "TOGETHER", 1)
    messages: list[int] = []
    short = bench(emulated, batches=(1, 16), events=230, seconds=1e-9, progress=messages.append, clock=CLOCK)
    assert sum(messages) == steps(emulated.plan, (1, 16), 1) == 2 * len(emulated.plan.slots)
    full = bench(emulated, batches=(1, 16), events=230, clock=CLOCK)
    timed = [cost.trigger.name for cost in full.triggers if cost.batch]
    first = [name for name in timed if emulated.plan.bits[0][name] == 0]
    assert [cost.trigger.name for cost in short.triggers if cost.batch] == first
    assert (short.untimed, full.untimed) == (tuple(name for name in timed if name not in first), ())
    assert tuple(short.menu) == tuple(short.triggers[0].batch) == (1, 16)
    text = " ".join(BenchView().page(short).notes)
    assert f"from {short.untimed[0]} to {short.untimed[-1]}" in text


def test_batches_are_those_that_the_events_allow() -> None:
    assert [batches_of(n, 1) for n in (5000, 4095, 16, 1)] == [
        (1, 16, 256, 4096),
        (1, 16, 256),
        (1, 16),
        (1,),
    ]
    assert batches_of(5000, 2) == (1, 16, 256)


def test_a_background_without_rate_is_an_error(tmp_path: Path) -> None:
    result = emulation(tmp_path)
    empty = memory_catalogue({"toy": [event | {"weight": 0.0} for event in EVENTS]})
    with pytest.raises(SampleError, match="all weights of the background are 0"):
        bench(replace(result, catalogue=empty), batches=BATCHES, events=200, clock=CLOCK)


def test_nothing_to_measure_is_an_error_at_once() -> None:
    for batches, events, threads, message in (
        ((0,), 100, 1, "a batch of 0 events"),
        ((1, 101), 100, 1, "101 events cannot be made from 100"),
        ((40,), 100, 3, "40 events for each of 3 threads cannot be made from 100"),
    ):
        with pytest.raises(TrigemuError, match=message):
            check(batches, events, threads)
    check((1, 33), 100, 3)


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
    first, *others = (bench(*of, batches=(16,), events=16, clock=CLOCK).rates.triggers for of in inputs)
    assert others == [first, first]
    with pytest.raises(TrigemuError, match="the emulation already has samples"):
        bench(emulated, catalogue)
    with pytest.raises(TrigemuError, match=r"got an awkward\.Array; expected Events"):
        Stream(emulated.plan, ak.Array(EVENTS))  # type: ignore[arg-type]
