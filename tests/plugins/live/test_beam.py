"""Crossings in order: prescale counters, seeds, levels, trains, early triggers; the same for any workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from counters_menus import TWO_LEVELS, ToyEvent, as_toml, catalogue_of
from counters_twin import Toy, ToyMenu
from live_toys import single, toy
from toys import menu_from
from trigemu_live import LiveRates, Rules, live_rates, read_rules, spread
from trigemu_live.beam import Start
from trigemu_live.rules import Rule

from trigemu import TrigemuError, run
from trigemu.base.shown import view_of

STARTS: tuple[Start, ...] = ("random", "zero")


def numbers(result: LiveRates) -> list[tuple[str, int, int, int]]:
    items = (*result.triggers, *result.groups, *result.levels)
    return [(i.name, i.before.events, i.after.events, i.unique.events) for i in items]


def flat_samples(menu: ToyMenu, seed: int, share: float) -> dict[str, list[ToyEvent]]:
    """Events of equal weight, some patterns; nothing fires in the rest."""
    rng = np.random.default_rng(seed)
    names = [t.name for t in menu.given]
    pool = [{n: bool(rng.random() < 0.5) for n in names} for _ in range(12)]
    events = [ToyEvent(share * 40e6 / 12, pattern) for pattern in pool]
    return {"all": [*events, ToyEvent((1 - share) * 40e6, dict.fromkeys(names, False))]}


def test_without_rules_rates_are_those_of_run(tmp_path: Path) -> None:
    """Prescales, coherent sets, seeds with `not`, disabled seeds, random triggers, groups and two levels."""
    menu = menu_from(tmp_path, as_toml(TWO_LEVELS))
    catalogue = catalogue_of(TWO_LEVELS, flat_samples(TWO_LEVELS, 4, 0.02))
    expected, result = run(menu, catalogue), live_rates(menu, catalogue, seconds=1.5)
    for rates in (*expected.triggers, *expected.groups):
        item = result[rates.name]
        unique = [("unique", item.unique)] if rates.level == "L1" else []  # the HLT needs an accept of L1
        for quantity, rate in (("total", item.before), *unique):
            truth = rates.rates[quantity].hz
            assert abs(rate.hz - truth) < 5 * np.sqrt(max(truth, 1) / result.seconds), (rates.name, quantity)
    for level, item in zip(expected.levels, result.levels, strict=True):
        assert abs(item.before.hz - level.rate.hz) < 5 * np.sqrt(level.rate.hz / result.seconds)


@pytest.mark.parametrize("prescale", [1, 3, 2.5, 7.25, 1000])
def test_counters_accept_every_pth(tmp_path: Path, prescale: float) -> None:
    """Of n decisions a counter accepts n / p, rounded down from zero in all the time, and at random phases to
    either side in each of 32 beams."""
    menu, catalogue = single(tmp_path, 0.001)
    raw = {
        start: live_rates(menu, catalogue, seconds=1, counters=start).rate.before.events for start in STARTS
    }
    menu = single(tmp_path, 0.001, prescale=prescale)[0]
    for start in STARTS:
        accepts = live_rates(menu, catalogue, seconds=1, counters=start).rate.before.events
        if start == "random":
            assert abs(accepts - raw[start] / prescale) <= 32
        else:
            assert accepts == int(raw[start] / prescale)


def test_counters_together_from_zero_stay_together(tmp_path: Path) -> None:
    """5 divides 20, and every crossing fires: the menu is P5, whatever the seed; equal counters are equal."""
    triggers = [Toy("P5", prescale=5), Toy("P20", prescale=20), Toy("Q20", prescale=20)]
    menu, catalogue = toy(tmp_path, triggers, {"P5 P20 Q20": 1.0})
    for start, seed in (("zero", 1), ("zero", 2)):
        result = live_rates(menu, catalogue, seconds=0.05, counters=start, seed=seed)
        for name, hz in (("P5", 8e6), ("P20", 2e6), ("Q20", 2e6)):
            assert result[name].before.hz == pytest.approx(hz, rel=1e-5)
            assert result[name].drawing_error_hz < 1e-4 * hz
        assert result.rate.after.hz == result["P5"].after.hz
        assert result["P20"].unique.events == 0
    menu, catalogue = toy(tmp_path, triggers, {"P20 Q20": 0.01, "P5": 0.01})
    result = live_rates(menu, catalogue, seconds=1, counters="zero")
    assert result["P20"].unique.events == result["Q20"].unique.events == 0
    assert result.rate.before.events == result["P5"].before.events + result["P20"].before.events


def test_errors_have_the_spread_of_the_phases(tmp_path: Path) -> None:
    """In one beam the menu accepts 8 or 10 MHz; the mean over phases is 9.6 MHz, as that of independent
    decisions, and the error that of the mean over the beams. What dead time takes depends on phases too."""
    triggers = [Toy("P5", prescale=5), Toy("P20", prescale=20)]
    menu, catalogue = toy(tmp_path, triggers, {"P5 P20": 1.0})
    expected = run(menu, catalogue)
    results = [live_rates(menu, catalogue, seconds=0.003, seed=seed) for seed in range(24)]
    for values, drawn, truth in (
        ([r.rate.after.hz for r in results], [r.rate.drawing_error_hz for r in results], expected.rate.hz),
        ([r["P20"].unique.hz for r in results], None, expected["P20"].unique.hz),
    ):
        assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(24)
        if drawn:
            assert np.std(values) == pytest.approx(np.sqrt(np.mean(np.square(drawn))), rel=0.45)
    dead = Rules("", (Rule(simple=1),))
    results = [live_rates(menu, catalogue, rules=dead, seconds=0.003, seed=seed) for seed in range(24)]
    lost = [r.rate.lost["simple 1"] / r.seconds for r in results]
    assert np.std(lost) == pytest.approx(np.mean([r.lost_error_hz[0] for r in results]), rel=0.45)
    live = [r.rate.live for r in results]
    assert np.std(live) == pytest.approx(np.mean([r.rate.live_error for r in results]), rel=0.45)


def test_upper_limits_allow_for_other_phases(tmp_path: Path) -> None:
    """S accepts in one of 100 phases, and many crossings then: a run without any does not exclude that."""
    triggers = [Toy("A", prescale=100), Toy("B", prescale=100), Toy("S", seed=("and", "A", "B"))]
    menu, catalogue = toy(tmp_path, triggers, {"A B S": 0.5})
    truth = run(menu, catalogue)["S"].total.hz
    assert truth == pytest.approx(0.5 * 40e6 / 100**2)
    results = [live_rates(menu, catalogue, seconds=0.01, seed=seed) for seed in range(6)]
    limits = [r["S"].before.upper_limit_hz for r in results if not r["S"].before.events]
    assert limits
    assert all(limit is not None and truth <= limit < 1.2 * truth for limit in limits)


def test_large_prescales(tmp_path: Path) -> None:
    triggers = [Toy("A", prescale=1.0000001, coherent="x"), Toy("B", prescale=1e15, coherent="x")]
    menu, catalogue = toy(tmp_path, [*triggers, Toy("C", prescale=1e300), Toy("D")], {"A B C D": 0.001})
    result = live_rates(menu, catalogue, seconds=0.1)
    assert abs(result["A"].before.events - result["D"].before.events) <= 1
    assert result["B"].before.events == result["C"].before.events == 0


@pytest.mark.parametrize("start", STARTS)
def test_workers_do_not_matter(tmp_path: Path, start: Start) -> None:
    menu = menu_from(tmp_path, as_toml(TWO_LEVELS))
    catalogue = catalogue_of(TWO_LEVELS, flat_samples(TWO_LEVELS, 4, 0.01))
    rules = read_rules("cms")
    one = live_rates(menu, catalogue, rules=rules, seconds=0.5, counters=start)
    more = live_rates(menu, catalogue, rules=rules, seconds=0.5, counters=start, workers=3)
    assert view_of(more).document(more) == view_of(one).document(one)
    other = live_rates(menu, catalogue, rules=rules, seconds=0.5, counters=start, seed=2)
    assert numbers(other) != numbers(one)


def test_losses_add_up_exactly(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, as_toml(TWO_LEVELS))
    catalogue = catalogue_of(TWO_LEVELS, flat_samples(TWO_LEVELS, 4, 0.2))
    result = live_rates(menu, catalogue, rules=read_rules("cms"), seconds=0.05)
    for item in (*result.triggers, *result.groups, *result.levels):
        assert sum(item.lost.values()) == item.before.events - item.after.events
    first = result.levels[0]
    assert 0 < sum(first.lost.values()) == round(sum(first.because.values()), 9)
    assert sum(first.lost[label] for label in result.rules.labels) == result.lost_by_slot.sum()
    assert (result.by_slot[0] - result.by_slot[1]).tolist() == result.lost_by_slot.sum(axis=0).tolist()
    assert result.by_slot.sum(axis=1).tolist() == [first.before.events, first.after.events]
    assert first.after.events - 32 <= result.distances.sum() <= first.after.events  # between all in a beam


def test_a_later_level_needs_the_first(tmp_path: Path) -> None:
    menu = ToyMenu(
        (Toy("A", level="L1"), Toy("H", level="HLT"), Toy("S", level="HLT", seed="A")), ("L1", "HLT")
    )
    events = [("A", True, False), ("H", False, True), ("both", True, True)]
    toys = [ToyEvent(4e3, {"A": a, "H": h, "S": True}) for _, a, h in events]
    nothing = ToyEvent(40e6 - 12e3, {"A": False, "H": False, "S": False})
    read, catalogue = menu_from(tmp_path, as_toml(menu)), catalogue_of(menu, {"all": [*toys, nothing]})
    result = live_rates(read, catalogue, seconds=1)
    assert result["H"].lost == {"first level": result["H"].before.events - result["H"].after.events}
    assert result["H"].live == pytest.approx(0.5, abs=0.05)
    assert result["S"].after.events == result["A"].after.events


def test_accepts_block_because_of_their_triggers(tmp_path: Path) -> None:
    """A fires alone most of the time, so most losses are because of it, also those of B."""
    menu, catalogue = toy(tmp_path, [Toy("A"), Toy("B")], {"A": 0.03, "B": 0.01})
    result = live_rates(menu, catalogue, rules=Rules("", (Rule(simple=10),)), seconds=0.5)
    for name in ("A", "B"):
        because = result[name].because
        share = because["A"] / sum(because.values())
        assert share == pytest.approx(0.75, abs=5 * 0.43 / np.sqrt(sum(because.values())))


def test_without_a_trigger_the_others_see_the_same_crossings(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A"), Toy("B", prescale=3)], {"A": 0.003, "B": 0.003})
    everything = live_rates(menu, catalogue, seconds=0.5)
    rest = live_rates(menu, catalogue, seconds=0.5, without=["B"])
    assert rest["A"].before.events == everything["A"].before.events
    assert rest["B"].before.events == 0
    assert rest.rate.table_error_hz == rest["A"].table_error_hz < everything.rate.table_error_hz
    with pytest.raises(TrigemuError, match="unknown trigger 'C'"):
        live_rates(menu, catalogue, without=["C"])
    with pytest.raises(TrigemuError, match="counters 'one': expected one of random, zero"):
        live_rates(menu, catalogue, counters="one")  # type: ignore[arg-type]


def test_random_triggers_keep_their_rate(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A"), Toy("R", random_hz=5e4)], {"A": 0.001})
    for filling in (None, spread(1000)):
        result = live_rates(menu, catalogue, filling=filling, seconds=2)
        assert result["R"].before.hz == pytest.approx(5e4, abs=5 * np.sqrt(5e4 / 2))
