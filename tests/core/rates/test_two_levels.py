"""Rates of menus with seeds, prescale counters and levels against fractions, event by event."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from counters_menus import TWO_LEVELS, ToyEvent, as_toml, catalogue_of, toy_menus, toy_samples, toys_of
from counters_twin import Contributions, ToyMenu, contributions, holds, names_in
from hypothesis import given, settings, strategies as st
from project import ROOT
from toys import menu_from

from trigemu import emulate, open_catalogue, rates_of, read_menu
from trigemu.api import MenuRates, Rate
from trigemu.rates.results import TriggerRates

RELATIVE = 1e-12
#: By how much of or(M) a difference from it may be off.
ROUNDING = 1e-15
#: By how much f without its constant part may be off.
DIFFERENCE = 1e-14
#: The sums cut fractions, and their squares, off here.
CUT = 2.0**-128

Of = Callable[[Contributions], Fraction]


class Sums(NamedTuple):
    """Σ w f, Σ (w f)² without the part of f that is the same in all events, and the number of events in which
    f is not zero, and is above what a difference of probabilities resolves; whether f has such a part."""

    hz: float
    square: float
    events: int
    resolved: int
    has_constant: bool


class Truth:
    """What `counters_twin` gives for each pattern of decisions, and sums of it over the events.

    patterns: the decisions of a menu's `given` triggers → their number of events, Σw and Σw².
    """

    def __init__(self, menu: ToyMenu, patterns: Mapping[tuple[bool, ...], Sequence[float]]) -> None:
        names = [t.name for t in menu.given]
        self.sums = list(patterns.values())
        self.contributions = [contributions(menu, dict(zip(names, p, strict=True))) for p in patterns]
        self.constant = constant(menu)
        self.all = self.of(lambda f: Fraction(f is not self.constant))

    def of(self, of: Of) -> Sums:
        pairs = [(of(f), s) for f, s in zip(self.contributions, self.sums, strict=True)]
        seen = [(float(f), s) for f, s in pairs if f]
        hz = math.fsum(f * s[1] for f, s in seen)
        known = of(self.constant)
        square = math.fsum(float(f - known) ** 2 * s[2] for f, s in pairs if seen)  # or there is a limit
        resolved = sum(int(s[0]) for f, s in seen if f > ROUNDING)
        return Sums(hz, square, sum(int(s[0]) for _, s in seen), resolved, known != 0)


def constant(menu: ToyMenu) -> Contributions:
    """Of an event that nothing accepts but random triggers and what reads these alone."""
    names: set[str] = set()
    for _ in menu.triggers:  # in any order
        for t in menu.triggers:
            read = [e for e in (t.seed, t.logic) if e is not None]
            if (t.random_hz or t.logic) and all(names_in(e) <= names for e in read):
                names.add(t.name)
    alone = tuple(
        t if t.name in names else replace(t, logic=None, random_hz=None, seed=None) for t in menu.triggers
    )
    only = replace(menu, triggers=alone)
    return contributions(only, {t.name: False for t in only.given})


def patterns_of(events: Iterable[ToyEvent], scale: float) -> dict[tuple[bool, ...], list[float]]:
    weights: dict[tuple[bool, ...], list[float]] = {}
    for event in events:
        weights.setdefault(tuple(event.decisions.values()), []).append(event.weight * scale)
    return {key: [len(w), math.fsum(w), math.fsum(x**2 for x in w)] for key, w in weights.items()}


def check_all(result: MenuRates, menu: ToyMenu, truth: Truth) -> None:
    check(result.rate, truth, lambda f: f.menu)
    if menu.levels:
        assert [level.name for level in result.levels] == list(menu.levels)
        for level in result.levels:
            check(level.rate, truth, lambda f, name=level.name: f.levels[name])
    assert [t.name for t in result.triggers] == [t.name for t in menu.enabled]
    for t in result.triggers:
        check(t.total, truth, lambda f, name=t.name: f.total[name])
        check(t.unique, truth, lambda f, name=t.name: f.unique[name])
        check(t.share, truth, lambda f, name=t.name: f.share[name])
        if menu.levels:
            check_level(t, menu, truth)
    assert {t.name for t in result.groups} == {t.group for t in menu.enabled if t.group}
    for t in result.groups:
        level = next(u.level for u in menu.enabled if u.group == t.name)
        check(t.total, truth, lambda f, name=t.name: f.group_total[name])
        check(t.share, truth, lambda f, name=t.name: f.group_share[name])
        rounding = ROUNDING * truth.of(lambda f, level=level: f.levels[level] if level else f.menu).hz
        check(t.unique, truth, lambda f, name=t.name: f.group_unique[name], rounding)
    check_overlap(result, menu, truth)


def check(rate: Rate, truth: Truth, of: Of, rounding: float = 0.0) -> None:
    expected = truth.of(of)
    check_sums(rate.hz, rate.error_hz, expected, truth, rounding if expected.events else 0.0)
    assert (expected.resolved if rounding else expected.events) <= rate.events <= expected.events


def check_sums(hz: float, error_hz: float, expected: Sums, truth: Truth, rounding: float = 0.0) -> None:
    """What is zero in every event is exactly zero; `rounding` is of hz."""
    cut = CUT if expected.events or rounding else 0.0
    assert hz == near(expected.hz, rounding + cut * truth.all.hz)
    rounding += DIFFERENCE * math.sqrt(truth.all.square) * expected.has_constant
    rounding *= 2 * math.sqrt(expected.square) + rounding
    assert error_hz**2 == near(expected.square, rounding + cut * truth.all.square)


def near(expected: float, absolute: float) -> Any:
    return pytest.approx(expected, rel=RELATIVE, abs=absolute)


def check_level(found: TriggerRates, menu: ToyMenu, truth: Truth) -> None:
    """The level, and what the last level would lose without an item of an earlier one. It may gain as much
    as it loses, which need not give an exact zero."""
    (trigger,) = (t for t in menu.triggers if t.name == found.name)
    assert found.level == trigger.level
    if trigger.level == menu.levels[-1]:
        assert found.lost is None
        return
    changes = any(f.changed[found.name] for f in truth.contributions)
    rounding = ROUNDING * truth.of(lambda f: f.menu).hz if changes else 0.0
    assert found.lost is not None
    expected = truth.of(lambda f: f.lost[found.name])
    check_sums(found.lost.hz, found.lost.error_hz, expected, truth, rounding)


def check_overlap(result: MenuRates, menu: ToyMenu, truth: Truth) -> None:
    """Of all pairs of enabled triggers, those of different levels too."""
    names = [t.name for t in menu.enabled]
    assert result.overlap.shape == result.overlap_error.shape == (len(names), len(names))
    assert (result.overlap == result.overlap.T).all()
    assert (result.overlap_error == result.overlap_error.T).all()
    for (i, s), (j, t) in itertools.combinations_with_replacement(enumerate(names), 2):
        expected = truth.of(lambda f, pair=(s, t): f.overlap[pair])
        check_sums(result.overlap[i, j], result.overlap_error[i, j], expected, truth)


def compare(menu: ToyMenu, samples: dict[str, Sequence[ToyEvent]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = menu_from(Path(folder), as_toml(menu))
    catalogue = catalogue_of(menu, samples)
    scale = menu.crossing_rate_hz / catalogue.crossing_rate_hz
    patterns = patterns_of(itertools.chain(*samples.values()), scale)
    check_all(rates_of(emulate([read], catalogue)), menu, Truth(menu, patterns))


@settings(max_examples=60)
@given(
    st.one_of(toy_menus(seeds=False), toy_menus(), toy_menus(levels=2), toy_menus(levels=3)),
    st.integers(0, 2**32),
)
def test_any_menu(menu: ToyMenu, seed: int) -> None:
    compare(menu, toy_samples(menu, seed, 200, 20))


def test_all_patterns_of_two_levels() -> None:
    names = [t.name for t in TWO_LEVELS.given]
    patterns = itertools.product([False, True], repeat=len(names))
    events = [
        ToyEvent(0.1 * 1.02**i, dict(zip(names, pattern, strict=True))) for i, pattern in enumerate(patterns)
    ]
    compare(TWO_LEVELS, {"all": events})


@pytest.mark.slow
def test_the_shipped_menu() -> None:
    """On the embedded sample: from the decisions that the emulation counted."""
    path = ROOT / "menus" / "two-level.toml"
    menu = toys_of(path)
    emulation = emulate([read_menu(path)], open_catalogue().with_errors("events"))
    table = emulation.counted(0).table
    bits = [emulation.plan.bits[0][t.name] for t in menu.given]
    patterns: dict[tuple[bool, ...], list[float]] = {}
    sums = zip(table.n, table.weight, table.square, strict=True)
    for words, entry in zip(table.words, sums, strict=True):
        key = tuple(bool(int(words[bit // 64]) >> bit % 64 & 1) for bit in bits)
        patterns[key] = [x + y for x, y in zip(patterns.get(key, [0, 0.0, 0.0]), entry, strict=True)]
    result = rates_of(emulation)
    check_all(result, menu, Truth(menu, patterns))
    first, second = (level.rate.hz for level in result.levels)
    assert 0 < second < first < 40e6
    assert all(t.total.events for t in result.triggers), "a trigger that never fires is not tested"
    for pattern in patterns:
        own = dict(zip((t.name for t in menu.given), pattern, strict=True))
        chains = [t for t in menu.triggers if t.seed and own[t.name]]
        assert all(holds(t.seed, own.__getitem__) for t in chains), "a chain fires where its L1 items do not"
