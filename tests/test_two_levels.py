"""Rates of menus with seeds, prescale counters and levels against fractions, event by event."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from counters_menus import TWO_LEVELS, ToyEvent, as_toml, catalogue_of, toy_menus, toy_samples
from counters_twin import Contributions, ToyMenu, contributions
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import menu_from

from trigemu import MenuRates, Rate, TriggerRates, emulate, rates

RELATIVE = 1e-12
#: By how much of or(M) a difference from it may be off.
ROUNDING = 1e-15

Of = Callable[[Contributions], Fraction]


class Truth:
    """What `counters_twin` gives for each pattern of decisions, and sums of it over the events."""

    def __init__(self, menu: ToyMenu, events: Iterable[ToyEvent], scale: float = 1.0) -> None:
        weights: dict[tuple[bool, ...], list[float]] = {}
        for event in events:
            weights.setdefault(tuple(event.decisions.values()), []).append(event.weight * scale)
        names = [t.name for t in menu.given]
        self.weights = list(weights.values())
        self.contributions = [contributions(menu, dict(zip(names, p, strict=True))) for p in weights]

    def _sum(self, of: Of, power: int) -> float:
        """Σ (w f)^power."""
        return math.fsum(
            float(of(f)) ** power * math.fsum(w**power for w in weights)
            for f, weights in zip(self.contributions, self.weights, strict=True)
        )

    def hz(self, of: Of) -> float:
        return self._sum(of, 1)

    def error_hz(self, of: Of) -> float:
        return math.sqrt(self._sum(of, 2))

    def events(self, of: Of) -> int:
        return sum(len(w) for f, w in zip(self.contributions, self.weights, strict=True) if of(f) != 0)


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
        rounding = ROUNDING * truth.hz(lambda f, level=level: f.levels[level] if level else f.menu)
        check(t.unique, truth, lambda f, name=t.name: f.group_unique[name], rounding)
    check_overlap(result, menu, truth)


def check(rate: Rate, truth: Truth, of: Of, rounding: float = 0.0) -> None:
    """What is zero in every event is exactly zero."""
    events = truth.events(of)
    assert rate.hz == near(truth.hz(of), rounding if events else 0.0)
    assert rate.error_hz == near(truth.error_hz(of), rounding if events else 0.0)
    assert rate.events == events


def near(expected: float, rounding: float = 0.0) -> Any:
    return pytest.approx(expected, rel=RELATIVE, abs=rounding)


def check_level(found: TriggerRates, menu: ToyMenu, truth: Truth) -> None:
    """The level, and what the last level would lose without an item of an earlier one. It may gain as much
    as it loses, which need not give an exact zero."""
    (trigger,) = (t for t in menu.triggers if t.name == found.name)
    assert found.level == trigger.level
    if trigger.level == menu.levels[-1]:
        assert found.lost is None
        return
    changes = any(f.changed[found.name] for f in truth.contributions)
    rounding = ROUNDING * truth.hz(lambda f: f.menu) if changes else 0.0
    assert found.lost is not None
    assert found.lost.hz == near(truth.hz(lambda f: f.lost[found.name]), rounding)
    assert found.lost.error_hz == near(truth.error_hz(lambda f: f.lost[found.name]), rounding)


def check_overlap(result: MenuRates, menu: ToyMenu, truth: Truth) -> None:
    """Of all pairs of enabled triggers, those of different levels too."""
    names = [t.name for t in menu.enabled]
    assert result.overlap.shape == result.overlap_error.shape == (len(names), len(names))
    for (i, s), (j, t) in itertools.product(enumerate(names), enumerate(names)):
        assert result.overlap[i, j] == near(truth.hz(lambda f, pair=(s, t): f.overlap[pair]))
        assert result.overlap_error[i, j] == near(truth.error_hz(lambda f, pair=(s, t): f.overlap[pair]))


def compare(menu: ToyMenu, samples: dict[str, Sequence[ToyEvent]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = menu_from(Path(folder), as_toml(menu))
    catalogue = catalogue_of(menu, samples)
    scale = menu.crossing_rate_hz / catalogue.crossing_rate_hz
    truth = Truth(menu, itertools.chain(*samples.values()), scale)
    check_all(rates(emulate([read], catalogue)), menu, truth)


@settings(max_examples=30)
@given(toy_menus(seeds=False), st.integers(0, 2**32))
def test_without_seeds(menu: ToyMenu, seed: int) -> None:
    compare(menu, toy_samples(menu, seed, 200, 30))


@settings(max_examples=30)
@given(toy_menus(), st.integers(0, 2**32))
def test_with_seeds(menu: ToyMenu, seed: int) -> None:
    compare(menu, toy_samples(menu, seed, 200, 30))


@pytest.mark.parametrize("levels", [2, 3])
@settings(max_examples=20)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_with_levels(levels: int, data: st.DataObject, seed: int) -> None:
    menu = data.draw(toy_menus(levels=levels))
    compare(menu, toy_samples(menu, seed, 200, 30))


def test_all_patterns_of_two_levels() -> None:
    names = [t.name for t in TWO_LEVELS.given]
    patterns = itertools.product([False, True], repeat=len(names))
    events = [
        ToyEvent(0.1 * 1.02**i, dict(zip(names, pattern, strict=True))) for i, pattern in enumerate(patterns)
    ]
    compare(TWO_LEVELS, {"all": events})
