"""Thresholds from budgets against a search over all thresholds in plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import counters_twin
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from likeness import alike
from toy_menus import as_tree
from toys import evaluation_half, even_events, is_evaluation, memory_catalogue, menu_from

from trigemu import Catalogue, Menu, TrigemuError, emulate, rates_of
from trigemu.base.errors import SampleError
from trigemu.emulation import budgets as module
from trigemu.emulation.budgets import solve_budgets, threshold_for
from trigemu.menus.menu import Solution

Event = dict[str, Any]


# ---- one score: threshold_for
def above(score: Sequence[float], rate: Sequence[float], threshold: float) -> float:
    return math.fsum(r for s, r in zip(score, rate, strict=True) if s > threshold)


def possible_thresholds(score: Sequence[float]) -> list[float]:
    """One below each distinct score: at the next one, which does not pass."""
    falling = sorted(set(score), reverse=True)
    return [*falling[1:], -math.inf]


SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, min_value=-1e308),
    st.sampled_from([5e-324, -5e-324, 0.0, -0.0, 1.0, math.nextafter(1.0, 2.0), 1e308, math.inf]),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(SCORES, st.floats(0, 10)), min_size=1, max_size=30), st.floats(0.01, 1.0))
def test_no_cut_between_distinct_scores_comes_nearer(events: list[tuple[float, float]], part: float) -> None:
    score, rate = zip(*events, strict=True)
    budget = part * math.fsum(rate)
    rates_there = [above(score, rate, threshold) for threshold in possible_thresholds(score)]
    assume(budget > 0)
    reached = next(r for r in [*rates_there, math.inf] if r >= budget * (1 - 1e-12))
    first = next(r for r in rates_there if r > 0)
    if budget < first / 2 * (1 - 1e-9):  # nothing comes nearer than the first score that counts
        with pytest.raises(ValueError, match=f"alone gives {first:.6g} Hz".replace("+", r"\+")):
            threshold_for(np.array(score), np.array(rate), budget)
        return
    assume(budget > first / 2 * (1 + 1e-9))
    solution = threshold_for(np.array(score), np.array(rate), budget)
    found = above(score, rate, solution.threshold)
    nearest = min(abs(r - budget) for r in rates_there)
    assert abs(found - budget) <= nearest * (1 + 1e-9) + 1e-9 * reached
    assert found > 0
    assert solution.threshold not in score or solution.threshold < max(score)
    assert math.isfinite(solution.threshold)


@given(
    st.lists(st.tuples(st.integers(-3, 9).map(float), st.floats(0.1, 10)), min_size=3, max_size=30),
    st.floats(0.1, 1.0),
    st.integers(-3, 6),
)
def test_without_the_lower_scores_a_cut_is_the_same_or_refused(
    events: list[tuple[float, float]], part: float, known_above: int
) -> None:
    """It is refused only where the budget is within the error of what the known scores give."""
    score, rate = map(np.array, zip(*events, strict=True))
    budget = part * float(rate.sum())
    assume(budget > max(above(score, rate, threshold) for threshold in possible_thresholds(score)[:1]))
    expected, known = threshold_for(score, rate, budget), score > known_above
    try:
        found = threshold_for(score[known], rate[known], budget, known_above=known_above)
    except ValueError:
        passing = rate[score > expected.threshold]
        sigma = math.sqrt((passing**2).sum())
        steps = [float(rate[score == value].sum()) for value in score]
        assert float(rate[known].sum()) - budget <= sigma + 2 * max(steps)
        return
    assert found == expected


def test_a_tie_is_the_rate_at_the_score_on_which_the_budget_is_reached() -> None:
    score, rate = np.array([5.0, 4, 4, 4, 3]), np.array([10.0, 1, 2, 3, 7])
    for budget, threshold in ((12.9, 4.5), (13.1, 3.5), (16.0, 3.5)):
        found = threshold_for(score, rate, budget)
        assert (found.threshold, found.tie_hz) == (threshold, 6.0)
    assert threshold_for(score, rate, 9.0).tie_hz == 0.0  # one event there: no tie
    assert threshold_for(score, rate, 22.0).tie_hz == 0.0
    # One event that counts is none.
    assert threshold_for(np.array([5.0, 4, 4, 3]), np.array([1.0, 2, 0, 4]), 3.0).tie_hz == 0.0


def test_a_coarse_tie_is_told(tmp_path: Path) -> None:
    """Where more than a hundredth of the budget sits on one score."""
    catalogue = memory_catalogue({"a": even_events(1, 220)})
    toys = [Toy("A", "n_jet", budget=("unique", 45.0)), Toy("B", "met", budget=("total", 45.0))]
    told = rates_of(emulate([menu_from(tmp_path, toml(toys))], catalogue)).warnings
    (warning,) = (text for text in told if "share the score" in text)
    assert warning.startswith("'A': events of ")
    assert "share the score at which unique_rate_hz = 45 is reached" in warning


@pytest.mark.parametrize(
    ("hz", "tie_hz", "told"), [(91, 0, 0), (109, 0, 0), (89, 0, 1), (111, 0, 1), (89, 30, 1)]
)
def test_a_budget_missed_by_more_than_a_tenth_is_told(
    tmp_path: Path, hz: float, tie_hz: float, told: int
) -> None:
    menu = menu_from(tmp_path, toml([Toy("A", "met", budget=("total", 100.0))]))
    warnings = [*module.ties(menu.solved({"A": Solution(1.0, 0.1, tie_hz, hz)}))]
    assert len(warnings) == told
    single = f"closer to total_rate_hz = 100 than {hz} Hz, since a single event"
    assert any(single in text for text in warnings) == (told and not tie_hz)


def moved(score: np.ndarray, rate: np.ndarray, nearest: float) -> float:
    """Half of the way between the thresholds at which the rate is one σ less and more."""
    falling = sorted(set(score.tolist()), reverse=True)
    thresholds = [(a + b) / 2 for a, b in pairwise(falling)] + [math.nextafter(falling[-1], -math.inf)]
    totals = [math.fsum(rate[score > threshold]) for threshold in thresholds]
    sigma = math.sqrt(math.fsum(rate[score > nearest] ** 2))
    centre = math.fsum(rate[score > nearest])
    low = next(c for c, t in zip(thresholds, totals, strict=True) if t >= centre - sigma)
    high = next((c for c, t in zip(thresholds, totals, strict=True) if t >= centre + sigma), thresholds[-1])
    return (low - high) / 2


@pytest.mark.parametrize("part", [0.002, 0.1, 0.5, 0.98, 1.0])
def test_the_error_of_a_cut_is_how_far_it_moves_with_the_rate(part: float) -> None:
    rng = np.random.default_rng(8)
    score, rate = rng.normal(size=300), rng.lognormal(0, 1, 300)
    solution = threshold_for(score, rate, part * rate.sum() * (1 - 1e-12))
    assert solution.error == pytest.approx(moved(score, rate, solution.threshold), rel=1e-9)


def test_the_error_of_a_cut_is_that_of_a_poisson_bootstrap() -> None:
    rng = np.random.default_rng(4)
    score, rate = rng.exponential(size=4000), rng.lognormal(0, 0.8, 4000)
    budget = 0.1 * rate.sum()
    thresholds = [threshold_for(score, rate * rng.poisson(1.0, 4000), budget).threshold for _ in range(150)]
    assert threshold_for(score, rate, budget).error == pytest.approx(np.std(thresholds), rel=0.25)


@given(st.integers(0, 2**32), st.integers(2, 60), st.floats(0.2, 0.9))
def test_events_of_one_interaction_fluctuate_together(seed: int, n: int, part: float) -> None:
    """Events that are split into two of one parent are still one; the others are not."""
    rng = np.random.default_rng(seed)
    score, rate = rng.normal(size=n), rng.exponential(size=n)
    budget = math.fsum(rate[np.argsort(-score)][: 1 + int(part * n)])
    whole = threshold_for(score, rate, budget)
    twice = np.repeat(score, 2), np.repeat(rate / 2, 2)
    found = threshold_for(*twice, budget, np.repeat(np.arange(n), 2))
    assert found.threshold == pytest.approx(whole.threshold)
    assert found.error == pytest.approx(whole.error)
    alone = threshold_for(*twice, budget, np.arange(2 * n))
    assert alone == threshold_for(*twice, budget)


# ---- menus: solve
@dataclass
class Toy:
    """A trigger on a score. budget: (quantity, Hz)."""

    name: str
    score: str
    threshold: float = 0.0
    budget: tuple[str, float] | None = None
    prescale: float = 1.0
    coherent: str | None = None
    seed: str | None = None
    requires: bool = False
    more: str = field(default="", repr=False)

    def toml(self) -> str:
        keys: dict[str, Any] = {"name": self.name, "kind": "threshold", "observable": self.score}
        keys |= {f"{self.budget[0]}_rate_hz": self.budget[1]} if self.budget else {"above": self.threshold}
        keys |= {"prescale": self.prescale} | ({"requires": "n_muon >= 1"} if self.requires else {})
        keys |= {k: getattr(self, k) for k in ("coherent", "seed") if getattr(self, k)}
        lines = (f"{k} = '{v}'" if isinstance(v, str) else f"{k} = {v}" for k, v in keys.items())
        return "[[trigger]]\n" + "\n".join(lines) + f"\n{self.more}\n"


SCORE_OF: dict[str, Callable[[Event], float]] = {
    "met": lambda e: e["met"],
    "ht": lambda e: math.fsum(j["pt"] for j in e["jet"]),
    "jet[0].pt": lambda e: e["jet"][0]["pt"] if e["jet"] else -math.inf,
    "n_jet": lambda e: len(e["jet"]),
    "photon[0].eta": lambda e: e["photon"][0]["eta"] if e["photon"] else -math.inf,
}


def toml(toys: Sequence[Toy], head: str = "") -> str:
    return head + "".join(toy.toml() for toy in toys)


def score(toy: Toy, event: Event) -> float:
    return -math.inf if toy.requires and not event["muon"] else SCORE_OF[toy.score](event)


def fraction(
    event: Event, toys: Sequence[Toy], thresholds: dict[str, float], of: Toy, quantity: str
) -> float:
    fired = {t.name: score(t, event) > thresholds[t.name] for t in toys}
    made = (
        counters_twin.Toy(t.name, t.prescale, coherent=t.coherent, seed=as_tree(t.seed) if t.seed else None)
        for t in toys
    )
    found = counters_twin.contributions(counters_twin.ToyMenu(tuple(made)), fired)
    return float(found.total[of.name] if quantity == "total" else found.unique[of.name])


def rates_by_threshold(
    events: Sequence[Event], toys: Sequence[Toy], thresholds: dict[str, float], of: Toy
) -> list[tuple[float, float]]:
    """(score, rate) for each distinct score, falling: what passes from that score on."""
    assert of.budget
    open_ = thresholds | {of.name: -math.inf}
    each = [
        (score(of, e), e["weight"] * fraction(e, toys, open_, of, of.budget[0]))
        for e in events
        if score(of, e) > -math.inf
    ]
    return [(at, math.fsum(r for s, r in each if s >= at)) for at in sorted({s for s, _ in each})[::-1]]


def check_solved(menu: Menu, toys: Sequence[Toy], events: Sequence[Event]) -> None:
    """Each budgeted trigger, given the thresholds of the others, is as near to its budget as can be."""
    thresholds = {t.name: menu.trigger(t.name).description.threshold for t in toys}  # type: ignore[union-attr]
    for toy in (t for t in toys if t.budget):
        assert toy.budget
        options = rates_by_threshold(events, toys, thresholds, toy)
        passing = [(s, r) for s, r in options if s > thresholds[toy.name]]
        slack = 1e-9 * options[-1][1]
        assert passing, toy
        assert abs(passing[-1][1] - toy.budget[1]) <= min(abs(r - toy.budget[1]) for _, r in options) + slack


def solved(folder: Path, toys: Sequence[Toy], catalogue: Catalogue, **how: Any) -> Menu:
    (menu,) = solve_budgets([menu_from(folder, toml(toys, how.pop("head", "")))], catalogue, **how)
    return menu


PLAIN = [
    Toy("J", "jet[0].pt", 35.0, prescale=2.0, coherent="c"),
    Toy("G", "photon[0].eta", 1.0),
    Toy("LOW", "jet[0].pt", 10.0, prescale=1.5),
]
BUDGETS = {
    "one": [Toy("A", "met", budget=("unique", 60.0))],
    "two": [Toy("A", "met", budget=("unique", 40.0)), Toy("B", "ht", budget=("unique", 30.0))],
    "three": [
        Toy("A", "n_jet", budget=("unique", 20.0), coherent="c"),
        Toy("B", "ht", budget=("unique", 25.0), requires=True, prescale=2.0),
        Toy("C", "met", budget=("total", 50.0), seed="LOW"),
    ],
}


def test_a_solved_rate_is_what_the_menu_then_gives(tmp_path: Path) -> None:
    toys = [*PLAIN, *BUDGETS["three"]]
    menu = menu_from(tmp_path, toml(toys))
    result = rates_of(emulate([menu], memory_catalogue({"a": even_events(5, 2000)})), menu)
    for toy, trigger in zip(toys, result.triggers, strict=True):
        if toy.budget:
            rate = getattr(trigger, toy.budget[0])
            solution = result.menu.trigger(toy.name).solution
            assert solution
            step = solution.tie_hz if toy.score == "n_jet" else 2 * 2.0 * 2000 / 980
            assert abs(rate.hz - toy.budget[1]) <= step, toy
            assert trigger.threshold_error > 0
            assert solution.threshold == trigger.threshold
        else:
            assert trigger.threshold_error is None


@st.composite
def competitors(draw: st.DrawFn) -> list[Toy]:
    made = list(PLAIN)
    for name in "ABC"[: draw(st.integers(1, 3))]:
        quantity = draw(st.sampled_from(["unique", "unique", "total"]))
        toy = Toy(
            name,
            draw(st.sampled_from(sorted(SCORE_OF))),
            budget=(quantity, draw(st.integers(3, 14)) * 1.01),
            prescale=draw(st.sampled_from([1.0, 1.0, 1.25, 2.0])),
            coherent=draw(st.sampled_from([None, None, "c"])),
            seed=draw(st.sampled_from([None, None, "LOW", "not LOW"])),
            requires=draw(st.booleans()),
        )
        made.insert(draw(st.integers(0, len(made))), toy)
    return made


EVENTS = even_events(1, 220)
HALF = evaluation_half(EVENTS)


@settings(max_examples=40)
@given(competitors(), st.randoms(use_true_random=False))
def test_several_budgets_settle_wherever_they_stand(
    tmp_path_factory: pytest.TempPathFactory, toys: list[Toy], rng: random.Random
) -> None:
    """On the highest thresholds that keep to all budgets, which is one solution, whatever the order; of two
    samples."""
    samples = {"a": EVENTS[:140], "b": EVENTS[140:]}
    half = [event for part in samples.values() for event in evaluation_half(part)]
    folder, catalogue = tmp_path_factory.mktemp("menu"), memory_catalogue(samples)
    shuffled = rng.sample(toys, len(toys))
    menu, again = (_solved_or_none(folder, order, catalogue) for order in (toys, shuffled))
    assert bool(menu) == bool(again)
    if menu and again:
        check_solved(menu, toys, half)
        assert alike(*({t.name: t.solution for t in one.triggers} for one in (menu, again)))


def _solved_or_none(folder: Path, toys: Sequence[Toy], catalogue: Catalogue) -> Menu | None:
    try:
        return solved(folder, toys, catalogue)
    except TrigemuError as error:
        if "cannot be met" in str(error):
            return None
        raise


def test_solving_again_changes_nothing(tmp_path: Path) -> None:
    catalogue = memory_catalogue({"a": EVENTS})
    menu = solved(tmp_path, [*PLAIN, *BUDGETS["two"]], catalogue)
    assert not menu.budgeted
    assert solve_budgets([menu], catalogue) == (menu,)
    assert rates_of(emulate([menu], catalogue)).half is not None


def test_one_that_is_switched_off_stays_unsolved(tmp_path: Path) -> None:
    """And its budget takes nothing from the others."""
    catalogue = memory_catalogue({"a": EVENTS})
    off = Toy("B", "met", budget=("unique", 1e12), more="enabled = false")
    menu = solved(tmp_path, [*PLAIN, *BUDGETS["one"], off], catalogue)
    assert menu.trigger("B").solution is None
    alone = solved(tmp_path, [*PLAIN, *BUDGETS["one"]], catalogue)
    assert menu.trigger("A").solution == alone.trigger("A").solution


def test_a_menu_of_more_than_64_triggers(tmp_path: Path) -> None:
    """The bits of budgeted triggers then stand in words of their own."""
    many = [Toy(f"T{i}", "jet[0].pt", 40.0 + i) for i in range(70)]
    toys = [*many[:30], *BUDGETS["two"], *many[30:]]
    menu = solved(tmp_path, toys, memory_catalogue({"a": EVENTS}))
    check_solved(menu, toys, HALF)


def test_budgets_are_in_hz_of_the_menu(tmp_path: Path) -> None:
    """Half of the crossings and half of the budget: the same threshold."""
    crossings, interactions = (memory_catalogue({"a": EVENTS}, kind) for kind in ("crossing", "luminosity"))
    halved = "[menu]\ncrossing_rate_hz = 20e6\n"

    def solution(hz: float, catalogue: Catalogue, head: str = "") -> Any:
        toys = [*PLAIN, Toy("A", "met", budget=("unique", hz))]
        return solved(tmp_path, toys, catalogue, head=head).trigger("A").solution

    full = solution(40.0, crossings)
    assert solution(20.0, crossings, halved).threshold == full.threshold
    assert solution(40.0, interactions, halved) == full


# ---- what cannot be
def test_a_budget_above_all_names_what_can_be(tmp_path: Path) -> None:
    toys = [*PLAIN, Toy("A", "met", budget=("unique", 1e9))]
    everything = rates_by_threshold(HALF, toys, {t.name: t.threshold for t in toys}, toys[-1])[-1][1]
    with pytest.raises(TrigemuError) as error:
        solved(tmp_path, toys, memory_catalogue({"a": EVENTS}))
    line = toml(PLAIN).count("\n") + 1
    assert str(error.value) == (
        f"{tmp_path / 'menu.toml'}:{line}: trigger 'A': unique_rate_hz = 1e+09: cannot be met: all events "
        f"with a score give {everything:.6g} Hz"
    )


def test_an_event_that_outweighs_the_budget(tmp_path: Path) -> None:
    """Half of it rounds to nothing; with more it is taken."""
    events = [dict(e, met=float(i)) for i, e in enumerate(EVENTS)]
    heaviest = evaluation_half(events)[-1]["weight"]
    catalogue = memory_catalogue({"a": events})
    with pytest.raises(TrigemuError, match=rf"cannot be met: the highest .* alone gives {heaviest:.6g} Hz"):
        solved(tmp_path, [Toy("A", "met", budget=("total", 0.49 * heaviest))], catalogue)
    menu = solved(tmp_path, [Toy("A", "met", budget=("total", 0.51 * heaviest))], catalogue)
    result = rates_of(emulate([menu], catalogue)).triggers[0].total
    assert (result.events, result.hz) == (1, pytest.approx(heaviest))


def test_events_that_others_take_do_not_make_a_budget_of_nothing(tmp_path: Path) -> None:
    """The highest scores add nothing: the first that does is too heavy all the same."""
    events = [dict(e, met=float(i)) for i, e in enumerate(EVENTS)]
    toys = [Toy("ALL", "met", 100.0), Toy("A", "met", budget=("unique", 1e-3))]
    with pytest.raises(TrigemuError, match="cannot be met: the highest score with a rate alone gives"):
        solved(tmp_path, toys, memory_catalogue({"a": events}))


def test_all_that_there_is_can_be_asked_for() -> None:
    """As a message prints it, with six digits."""
    for part in range(1, 40):
        everything = math.fsum(e["weight"] for e in EVENTS[:part])
        score, rate = np.arange(part), np.array([e["weight"] for e in EVENTS[:part]])
        assert threshold_for(score.astype(float), rate, float(f"{everything:.6g}")).threshold < 0


def test_no_event_is_asked_for(tmp_path: Path) -> None:
    toys = [Toy("A", "met", budget=("total", 1.0), requires=True)]
    events = [e | {"muon": []} for e in EVENTS]
    with pytest.raises(TrigemuError, match=r"'A': total_rate_hz = 1: cannot be met: no event has a score"):
        solved(tmp_path, toys, memory_catalogue({"a": events}))


def test_cuts_that_do_not_settle_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_SWEEPS", 1)
    with pytest.raises(TrigemuError, match=r"menu\.toml: the thresholds of 'A', 'B' do not converge"):
        solved(tmp_path, [*PLAIN, *BUDGETS["two"]], memory_catalogue({"a": EVENTS}))


def test_negative_weights_are_refused_for_budgets_only(tmp_path: Path) -> None:
    events = [e | {"weight": -1e-3 if i == 41 else e["weight"]} for i, e in enumerate(EVENTS)]
    catalogue = memory_catalogue({"a": events})
    with pytest.raises(SampleError, match="sample 'a', event 41: its weight is negative"):
        solved(tmp_path, [*PLAIN, *BUDGETS["one"]], catalogue)
    plain = [*PLAIN, Toy("A", "met", 30.0, more="fitted_on = 'toy'")]
    result = rates_of(emulate([menu_from(tmp_path, toml(plain))], catalogue))
    assert result.half is not None


@pytest.mark.parametrize("fitted", [True, False])
def test_a_sample_without_weight_in_the_half_is_named(tmp_path: Path, fitted: bool) -> None:
    parent = next(number for number in range(100) if not is_evaluation(number))
    few = [e | {"parent": parent} for e in EVENTS[:5]]
    catalogue = memory_catalogue({"a": EVENTS, "few": few})
    toys = [*PLAIN, *BUDGETS["one"]] if not fitted else [Toy("A", "met", 3.0, more="fitted_on = 'toy'")]
    with pytest.raises(SampleError, match="sample 'few': there is no weight in its evaluation half"):
        rates_of(emulate([menu_from(tmp_path, toml(toys))], catalogue))


# ---- a menu with the thresholds written in
