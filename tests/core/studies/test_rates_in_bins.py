"""Rates in the bins of an observable, against loops in plain Python."""

from __future__ import annotations

import math
import tempfile
from itertools import compress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pileup_toys import crossing_catalogue, crossings
from toy_menus import as_toml, judged, menus, pt
from toys import factors, memory_catalogue, menu_from, toy_events

from trigemu import TrigemuError, emulate, rates_of
from trigemu.api import Rate
from trigemu.studies.bins import binned_rates

#: Observable → its value, NaN where it has none, and edges.
OBSERVABLES: dict[str, tuple[Any, tuple[float, ...]]] = {
    "met": (lambda e: e["met"], (0.0, 10.0, 25.0, 400.0)),
    "n_jet": (lambda e: len(e["jet"]), (0.0, 1.0, 2.0, 6.0)),
    "photon[0].pt": (lambda e: pt(e, "photon", 0), (5.0, 12.0, 30.0)),
}
MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\nabove = 20\n'


def inside(value: float, edges: tuple[float, ...], number: int) -> bool:
    return edges[number] <= value < edges[number + 1]


@settings(max_examples=25)
@given(menus(), st.integers(0, 2**32), st.sampled_from(sorted(OBSERVABLES)), st.booleans())
def test_each_bin_equals_a_loop_over_its_events(
    triggers: list[dict[str, Any]], seed: int, observable: str, fitted: bool
) -> None:
    """What fitted triggers change is from one half, which is scaled by what all bins together weigh."""
    value, edges = OBSERVABLES[observable]
    samples = {"a": toy_events(seed, 50), "b": toy_events(seed + 1, 30)}
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6, fitted))
    result = binned_rates(menu, observable, edges, memory_catalogue(samples))
    ones = {name: factors(part) if fitted else [1.0] * len(part) for name, part in samples.items()}
    whole = math.fsum(e["weight"] for part in samples.values() for e in part)
    assert result.crossings.hz == pytest.approx(whole)
    assert (result.bins[0].low, *(part.high for part in result.bins)) == edges
    for number, part in enumerate(result.bins):
        kept = {n: [inside(value(e), edges, number) for e in p] for n, p in samples.items()}
        chosen = {n: [*compress(p, kept[n])] for n, p in samples.items()}
        weights = [e["weight"] for p in chosen.values() for e in p]
        assert part.crossings.events == len(weights)
        assert part.crossings.hz == pytest.approx(math.fsum(weights))
        if not weights:
            assert part.rates is part.menu_if_all is None
            continue
        assert part.rates is not None
        assert part.menu_if_all is not None
        inside_ones = {n: [*compress(of, kept[n])] for n, of in ones.items()}
        expected = judged(chosen, triggers, 1.0, 40e6, inside_ones)
        check(part.rates.rate, part.menu_if_all, expected["menu"], whole)
        for trigger, if_all in zip(part.rates.triggers, part.if_all, strict=True):
            check(trigger.total, if_all, expected[f"total {trigger.name}"], whole)


def check(rate: Rate, if_all: Rate, entries: list[tuple[str, float, float]], whole: float) -> None:
    summed, there = (math.fsum(w * f for _, w, f in entries), math.fsum(w for _, w, _ in entries))
    assert rate.hz == pytest.approx(summed, rel=1e-9, abs=1e-12 * there)
    efficiency = summed / there
    assert if_all.hz == pytest.approx(whole * efficiency, rel=1e-9, abs=1e-12 * whole)
    if rate.events:
        spread = math.sqrt(math.fsum((w * (f - efficiency)) ** 2 for _, w, f in entries))
        assert if_all.error_hz == pytest.approx(whole * spread / there, rel=1e-7, abs=1e-9 * whole)
    else:
        assert if_all.error_hz == 0.0
        assert rate.upper_limit_hz is not None
        assert if_all.upper_limit_hz == pytest.approx(rate.upper_limit_hz * whole / there)


@settings(max_examples=12)
@given(menus(), st.integers(0, 2**32), st.sampled_from([40e6, 20e6]))
def test_bins_add_up_and_one_bin_is_the_run(triggers: list[dict[str, Any]], seed: int, rate: float) -> None:
    catalogue = memory_catalogue({"a": toy_events(seed, 60)})
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, rate))
    plain = rates_of(emulate([menu], catalogue))
    one = binned_rates(menu, "n_jet", (0.0, 10.0), catalogue)
    assert one.whole.to_dict() == plain.to_dict()
    assert one.bins[0].rates is not None
    if not any(t["kind"] == "random" for t in triggers):  # the rate of crossings in a bin has an error
        assert one.bins[0].rates.to_dict() == plain.to_dict()
    assert not one.outside.events
    several = binned_rates(menu, "n_jet", (0.0, 1.0, 2.0, 3.0, 10.0), catalogue)
    summed = math.fsum(part.rates.rate.hz for part in several.bins if part.rates)
    assert summed == pytest.approx(plain.rate.hz, rel=1e-9)


def test_thresholds_from_budgets_are_found_on_all_bins(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, MET.replace("above = 20", "total_rate_hz = 30"))
    result = binned_rates(
        menu, "n_interaction", (0.0, 3.0, 6.0), crossing_catalogue({"a": crossings(1, 300)})
    )
    assert result.whole.triggers[0].total.hz == pytest.approx(30, rel=0.1)
    assert result.whole.half is not None
    hz = [part.rates.rate.hz for part in result.bins if part.rates]
    assert math.fsum(hz) == pytest.approx(result.whole.rate.hz)


@pytest.mark.parametrize(
    ("observable", "edges", "message"),
    [
        ("met", (0.0,), "expected at least two ascending"),
        ("met", (0.0, 5.0, 5.0), "expected at least two ascending bin edges"),
        ("met", (-5.0, -1.0), "'met' has no value from -5 to -1 in any event"),
        ("n_interactions", (0.0, 1.0), "has no observable 'n_interactions'; did you mean 'n_interaction'"),
        ("jet[0].mass", (0.0, 1.0), r"has no column 'jet.mass'.*, which 'jet\[0\].mass' needs"),
        ("jet[0", (0.0, 1.0), "jet"),
    ],
)
def test_mistakes(tmp_path: Path, observable: str, edges: tuple[float, ...], message: str) -> None:
    catalogue = crossing_catalogue({"a": crossings(1, 30)})
    with pytest.raises(TrigemuError, match=message):
        binned_rates(menu_from(tmp_path, MET), observable, edges, catalogue)
