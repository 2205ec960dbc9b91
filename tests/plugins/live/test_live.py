"""What is recorded: closed forms, errors against repeated samples, what a trigger costs the others."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from counters_twin import Toy
from live_toys import single, toy
from toys import even_events, memory_catalogue, menu_from, threshold
from trigemu_live import (
    Rules,
    every_slot,
    live_fraction,
    live_rates,
    read_filling,
    read_rules,
    spread,
)
from trigemu_live.rules import Rule

from trigemu import TrigemuError
from trigemu.base.errors import SampleError
from trigemu.base.shown import view_of

DEAD = Rules("dead", (Rule(simple=100),))


def test_simple_dead_time_of_a_menu(tmp_path: Path) -> None:
    menu, catalogue = single(tmp_path, 0.002)
    result = live_rates(menu, catalogue, rules=DEAD, seconds=2)
    assert abs(result.rate.live - 1 / 1.2) < 4 * result.rate.live_error
    assert result.rate.live_error < 1e-3


def test_where_nothing_is_lost_the_live_fraction_has_a_limit(tmp_path: Path) -> None:
    """At 68 %: of n accepts without a loss, a part of 1.14 / n could be lost, as with exp(-1.14) = 0.32."""
    menu, catalogue = single(tmp_path, 1e-6)
    result = live_rates(menu, catalogue, rules=DEAD, seconds=1)
    accepts = result.rate.before.events
    assert (result.live, accepts) == (1.0, pytest.approx(40, abs=25))
    assert result.live_error == pytest.approx(1.14 / accepts)
    assert f"Live: > {100 - 114 / accepts:.1f} % of the accepts" in view_of(result).text(result)


def test_a_short_run_has_full_buffers(tmp_path: Path) -> None:
    """Beams of 8 orbits lose as much as a long one: the bucket is not empty at their beginning."""
    menu, catalogue = single(tmp_path, 0.005)
    rules = read_rules("atlas")
    live = [live_rates(menu, catalogue, rules=rules, seconds=0.02, seed=seed).live for seed in range(12)]
    expected = live_fraction(rules, every_slot(40e6), 0.005 * 40e6)
    error = np.hypot(np.std(live, ddof=1) / np.sqrt(12), expected.error)
    assert abs(np.mean(live) - expected.value) < 4 * error < 0.01


def test_a_rate_can_be_given(tmp_path: Path) -> None:
    menu, catalogue = single(tmp_path, 0.001, prescale=4)
    result = live_rates(menu, catalogue, seconds=1, input_rate_hz=25e3)
    assert result.factor == pytest.approx(2.5)
    assert result.rate.before.hz == pytest.approx(25e3, rel=0.02)
    assert result.rate.table_error_hz < 1e-6 * result.rate.after.hz  # the rate is given
    assert result.live_error == result.rate.live_error


def test_the_crossing_rate_is_that_of_the_scheme(tmp_path: Path) -> None:
    menu, catalogue = single(tmp_path, 0.001)
    filling = read_filling("lhc-2018-2544")
    result = live_rates(menu, catalogue, filling=filling, seconds=2)
    assert result.menu.crossing_rate_hz == 2544 * 11245.5
    assert result.rate.before.hz == pytest.approx(0.001 * 2544 * 11245.5, rel=0.02)
    assert not result.by_slot[0][~filling.filled].any()
    before, after, lost = result.by_position
    assert len(before) == 48
    assert before.sum() == after.sum() == result.rate.before.events
    assert lost.shape == (0, 48)


def test_trains_cost_more_than_spread_bunches(tmp_path: Path) -> None:
    menu, catalogue = single(tmp_path, 0.003)
    rules = read_rules("cms")
    one, other = (
        live_rates(menu, catalogue, filling=f, rules=rules, seconds=2)
        for f in (read_filling("lhc-2018-2544"), spread(2544))
    )
    assert other.live - one.live > 5 * np.hypot(one.rate.live_error, other.rate.live_error)
    before, after, _ = one.by_position
    assert after[0] / before[0] > after[10:].sum() / before[10:].sum()


def test_the_errors_from_the_table_are_the_spread_of_samples(tmp_path: Path) -> None:
    """Samples of other crossings give other rates: by what `table_error_hz` says, dead time included."""
    menu = menu_from(tmp_path, threshold("J", "jet[0].pt", 60.0) + threshold("M", "met", 60.0))
    after: dict[str, list[float]] = {"J": [], "M": []}
    claimed: dict[str, list[float]] = {"J": [], "M": []}
    for seed in range(10):
        events = [{**e, "weight": 40e6 / 500 * e["weight"] / 1.25} for e in even_events(seed, 500)]
        result = live_rates(
            menu, memory_catalogue({"all": events}), rules=Rules("", (Rule(simple=4),)), seconds=0.05
        )
        for name in after:
            after[name].append(result[name].after.hz)
            claimed[name].append(result[name].after.error_hz)
    for name in after:
        assert np.std(after[name], ddof=1) == pytest.approx(np.mean(claimed[name]), rel=0.6)


def test_what_random_triggers_accept_has_no_error_of_the_samples(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("T"), Toy("R", random_hz=1e6)], {"T": 0.001})
    result = live_rates(menu, catalogue, seconds=0.05)
    assert result["R"].table_error_hz == 0.0
    expected = (1 - 1e6 / 40e6) * result["T"].table_error_hz
    assert result.rate.table_error_hz == pytest.approx(expected, rel=0.1)


def test_what_a_trigger_costs_is_what_a_run_without_it_gains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trigemu_live.live.ATTEMPTS", 400_000)
    triggers = [Toy("A"), Toy("B"), Toy("C")]
    menu, catalogue = toy(tmp_path, triggers, {"A": 0.003, "B": 0.001, "C": 0.0008, "A B": 0.001})
    result = live_rates(menu, catalogue, rules=DEAD, seconds=1.5)
    for name in ("A", "B", "C"):
        rest = live_rates(menu, catalogue, rules=DEAD, seconds=1.5, without=[name])
        gained = rest.rate.after.hz - (result.rate.after.hz - result[name].unique.hz)
        # the two runs share their crossings; what is lost in one and not in the other is Poisson
        error = np.sqrt((result.rate.before.events - result.rate.after.events) * 2) / result.seconds
        gain, gain_error = result[name].gain_hz, result[name].gain_error_hz
        assert gain is not None
        assert gain_error is not None
        assert abs(gain - gained) < 3 * np.hypot(error, gain_error), name
        assert result[name].gain_live == pytest.approx(rest.rate.live - result.rate.live, abs=4e-3)


def test_what_is_refused(tmp_path: Path) -> None:
    menu, catalogue = single(tmp_path, 0.001)
    for seconds in (0.0, 0.002, 1e7, math.nan, math.inf):
        with pytest.raises(TrigemuError, match="s of beam: expected at least 32 orbits"):
            live_rates(menu, catalogue, seconds=seconds)
    with pytest.raises(TrigemuError, match=r"at most 1.1e\+09 orbits, .* at a crossing rate of 1e\+22 Hz"):
        live_rates(menu, catalogue, filling=every_slot(1e22), seconds=1)
    with pytest.raises(TrigemuError, match="veto every filled slot"):
        live_rates(menu, catalogue, filling=read_filling("10b"), rules=Rules("", (Rule(gap=[1, 10]),)))
    interactions = memory_catalogue({"all": even_events(1, 50)}, convention="luminosity")
    other = menu_from(tmp_path, threshold("M", "met", 50.0))
    with pytest.raises(SampleError, match=r"single interactions \(convention 'luminosity'\), not crossings"):
        live_rates(other, interactions)


def test_a_menu_that_never_accepts(tmp_path: Path) -> None:
    menu, catalogue = toy(tmp_path, [Toy("A"), Toy("B")], {"B": 0.0})
    result = live_rates(menu, catalogue, rules=read_rules("cms"), seconds=0.05)
    assert (result.live, result.rate.before.events, result["A"].gain_hz) == (1.0, 0, 0.0)
    assert result["A"].after.upper_limit_hz == pytest.approx(1.14 / 0.05, rel=0.01)
    assert "< 22.8 Hz" in view_of(result).text(result)


def test_more_triggers_than_parts_of_an_accept(tmp_path: Path) -> None:
    """Seventeen triggers accept together: their parts of an accept still add up exactly."""
    triggers = [Toy(f"T{n}") for n in range(17)]
    menu, catalogue = toy(tmp_path, triggers, {" ".join(t.name for t in triggers): 0.01})
    result = live_rates(menu, catalogue, rules=DEAD, seconds=0.02)
    lost = sum(result.rate.lost.values())
    assert lost > 0
    assert sum(result.rate.because.values()) == pytest.approx(lost, rel=1e-12)
    assert max(result.rate.because.values()) == pytest.approx(lost / 17, rel=1e-4)
