"""Rates in bins of an observable, exclusive rates, against loops in plain Python."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from itertools import chain, combinations, compress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pileup_toys import crossing_catalogue, crossings
from toy_menus import as_toml, judged, menus, pt
from toys import either, factors, memory_catalogue, menu_from, threshold, toy_events

from trigemu import TrigemuError, emulate, rates_of
from trigemu.api import Rate
from trigemu.studies.bins import binned_rates
from trigemu.studies.exclusive import exclusive_rates

#: Observable → its value, NaN where it has none, and edges.
OBSERVABLES: dict[str, tuple[Any, tuple[float, ...]]] = {
    "met": (lambda e: e["met"], (0.0, 10.0, 25.0, 400.0)),
    "n_jet": (lambda e: len(e["jet"]), (0.0, 1.0, 2.0, 6.0)),
    "photon[0].pt": (lambda e: pt(e, "photon", 0), (5.0, 12.0, 30.0)),
}
MET = threshold("MET", "met", 20)


def inside(value: float, edges: tuple[float, ...], number: int) -> bool:
    return edges[number] <= value < edges[number + 1]


@settings(max_examples=15)
@given(menus(), st.integers(0, 2**32), st.sampled_from(sorted(OBSERVABLES)), st.booleans())
def test_each_bin_equals_a_loop_over_its_events(
    triggers: list[dict[str, Any]], seed: int, observable: str, fitted: bool
) -> None:
    """What fitted triggers change is from one half, which is scaled by what all bins together weigh."""
    value, edges = OBSERVABLES[observable]
    samples = {"a": toy_events(seed, 30), "b": toy_events(seed + 1, 20)}
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


@settings(max_examples=8)
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
    menu = menu_from(tmp_path, threshold("MET", "met", None, "total_rate_hz = 30"))
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


TRIGGERS: tuple[dict[str, Any], ...] = tuple(
    dict(zip(("name", "observable", "above", "prescale", "coherent"), values, strict=True))
    for values in (
        ("J30", "jet[0].pt", 30.0, 4, "jets"),
        ("J50", "jet[0].pt", 50.0, 2, "jets"),
        ("2J", "jet[1].pt", 10.0, 1, "jets"),
        ("G", "photon[0].pt", 15.0, 3, None),
        ("MU", "muon[0].pt", 10.0, 1, None),
        ("MET", "met", 40.0, 1.5, None),
    )
)


def menu_text(triggers: Sequence[dict[str, Any]] = TRIGGERS) -> str:
    def more(t: dict[str, Any]) -> str:
        return f"prescale = {t['prescale']}" + (f'\ncoherent = "{t["coherent"]}"' if t["coherent"] else "")

    return "".join(threshold(t["name"], t["observable"], t["above"], more(t)) for t in triggers)


def value_of(event: dict[str, Any], observable: str) -> float:
    if observable == "met":
        return float(event["met"])
    name, number = observable.removesuffix(".pt").rstrip("]").split("[")
    objects = event[name]
    return float(objects[int(number)]["pt"]) if len(objects) > int(number) else -1.0


def accepted(event: dict[str, Any]) -> dict[str, float]:
    return {t["name"]: (value_of(event, t["observable"]) > t["above"]) / t["prescale"] for t in TRIGGERS}


def truth(event: dict[str, Any], wanted: frozenset[str]) -> float:
    """Σ over U in the wanted of (−1)^(|wanted| − |U|) P(nothing outside of U accepts)."""
    a, total = accepted(event), 0.0
    subsets = chain.from_iterable(combinations(sorted(wanted), r) for r in range(len(wanted) + 1))
    for subset in subsets:
        outside = [t for t in TRIGGERS if t["name"] not in subset]
        total += (-1) ** (len(wanted) - len(subset)) * (1 - either(a, outside))
    return total


@pytest.fixture(scope="module")
def emulation(tmp_path_factory: pytest.TempPathFactory) -> Any:
    menu = menu_from(tmp_path_factory.mktemp("menu"), menu_text())
    return emulate([menu], memory_catalogue({"a": toy_events(1, 150), "b": toy_events(2, 100)}))


def test_rates_and_errors_are_those_of_inclusion_and_exclusion(emulation: Any) -> None:
    events = [*toy_events(1, 150), *toy_events(2, 100)]
    found = exclusive_rates(emulation, most=1000)
    assert found.others == 0
    names = {t["name"] for t in TRIGGERS}
    told = {frozenset(c.triggers): (c.hz, c.error_hz) for c in found.largest}
    for r in range(1, len(names) + 1):
        for wanted in map(frozenset, combinations(sorted(names), r)):
            terms = [(event["weight"], truth(event, wanted)) for event in events]
            hz = sum(w * f for w, f in terms)
            error = sum((w * f) ** 2 for w, f in terms) ** 0.5
            assert told.get(wanted, (0.0, 0.0)) == pytest.approx((hz, error), rel=1e-9, abs=1e-9), wanted


def test_they_fall_and_add_up_to_the_menu(emulation: Any) -> None:
    every = exclusive_rates(emulation, most=1000)
    assert [c.hz for c in every.largest] == sorted((c.hz for c in every.largest), reverse=True)
    some = exclusive_rates(emulation, most=5)
    assert some.largest == every.largest[:5]
    assert some.others == len(every.largest) - 5
    total = sum(c.hz for c in some.largest) + some.others_hz
    assert total == pytest.approx(rates_of(emulation).rate.hz, rel=1e-12)


def test_a_menu_that_takes_nothing_has_none(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, menu_text([TRIGGERS[5] | {"above": 1e9}]))
    found = exclusive_rates(emulate([menu], memory_catalogue({"a": toy_events(5, 20)})))
    assert (found.largest, found.others, found.others_hz) == ((), 0, 0.0)


def test_each_menu_of_a_comparison_has_its_own(tmp_path: Path) -> None:
    one = menu_from(tmp_path, '[menu]\nname = "one"\n' + menu_text(TRIGGERS[:4]))
    two = menu_from(tmp_path, '[menu]\nname = "two"\n' + menu_text(TRIGGERS[3:]))
    catalogue = memory_catalogue({"a": toy_events(6, 200)})
    both = emulate([one, two], catalogue)
    for menu in (one, two):
        alone = exclusive_rates(emulate([menu], catalogue))
        found = exclusive_rates(both, menu)
        assert [c.triggers for c in found.largest] == [c.triggers for c in alone.largest]
        assert [c.hz for c in found.largest] == pytest.approx([c.hz for c in alone.largest], rel=1e-12)
