"""Sums over a table against sums over its events; errors of events that share interactions, against sums over
the events of each parent in plain Python."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counters_menus import any_menu, menu_with_bits, words_of
from counters_twin import ToyMenu, contributions
from hypothesis import given, settings, strategies as st
from toy_menus import by_parent, related_events
from toys import memory_catalogue, menu_from, threshold, toy_events

from trigemu import emulate, rates_of
from trigemu.counting.patterns import Keys, PatternTable, complete_table, count_patterns, merge_tables
from trigemu.counting.sums import Counted, RateSums, pairs_of
from trigemu.studies.bins import binned_rates
from trigemu.studies.efficiency import efficiencies
from trigemu.studies.exclusive import exclusive_rates
from trigemu.studies.intervals import Profile

FOUR = np.arange(4, dtype=np.uint64)[:, None]


@dataclass(frozen=True)
class ToyEvents:
    """Events, and the table of them. row: int64[n], the entry of each. stratum: of each entry."""

    weight: np.ndarray
    parent: np.ndarray
    row: np.ndarray
    table: PatternTable
    stratum: np.ndarray | None


def drawn_events(seed: int, n: int, shared: bool, strata: bool, words: np.ndarray = FOUR) -> ToyEvents:
    """n events of a few patterns, uint64[…, w], of weights above 0, of which some share a parent."""
    rng = np.random.default_rng(seed)
    words = words[rng.integers(0, len(words), n)]
    stratum = rng.integers(0, 2, n) if strata else np.zeros(n, np.int64)
    parent = rng.integers(0, 1 + n // 2, n) if shared else np.arange(n)
    weight, ids = rng.exponential(1.0, n), np.arange(n, dtype=np.uint64)
    made_from = (parent.astype(np.uint64), ids)
    keys = Keys(stratum=stratum)
    table = complete_table([count_patterns(0, words, weight, keys, made_from=made_from if shared else None)])
    keys_of = (
        zip(of.tolist(), map(bytes, of_words), strict=True)
        for of, of_words in ((table.stratum, table.words), (stratum, words))
    )
    rows, events = keys_of
    at = {key: row for row, key in enumerate(rows)}
    row = np.array([at[key] for key in events], np.int64)
    return ToyEvents(weight, parent, row, table, table.stratum if strata else None)


def sums_of_events(events: ToyEvents, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ w f and its variance, float64[…], from f of each entry, float64[m, …].

    With strata, an event counts with f minus the accepted share of its stratum.
    """
    weight = events.weight.reshape(-1, *[1] * (fractions.ndim - 1))
    x = weight * fractions[events.row]
    hz = x.sum(axis=0)
    if events.stratum is not None:
        stratum = events.stratum[events.row]
        for number in np.unique(stratum):
            of = stratum == number
            x[of] -= weight[of] * (x[of].sum(axis=0) / weight[of].sum())
    groups = [x[events.parent == number].sum(axis=0) for number in np.unique(events.parent)]
    return hz, np.sum(np.square(groups), axis=0)


EVENTS = st.builds(drawn_events, st.integers(0, 2**32), st.integers(1, 40), st.booleans(), st.booleans())


def counted(of: ToyEvents, unseen: float = 1.0, everything: float = 1.0) -> Counted:
    return Counted(of.table, (), (), (), (), np.full(len(of.table), unseen), everything, of.stratum)


def drawn_fractions(seed: int, m: int, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((m, columns)) * (rng.random((m, columns)) < 0.7)


@given(EVENTS, st.integers(0, 2**32), st.sampled_from([1.0, 0.3]), st.sampled_from([1.0, 3.5]))
def test_sums_are_those_of_the_events(of: ToyEvents, seed: int, everything: float, factor: float) -> None:
    """In any blocks. Strata and shared interactions together too, and fractions above 1."""
    m = len(of.table)
    fractions = factor * drawn_fractions(seed, m)
    sums = RateSums(counted(of, factor, everything), 3)
    cut = seed % (m + 1)
    sums.add(slice(0, cut), fractions[:cut])
    sums.add(slice(cut, m), fractions[cut:])
    hz, variance = sums_of_events(of, fractions)
    found = sums.result()
    assert found[0] == pytest.approx(everything * hz, rel=1e-12)
    assert found[1] == pytest.approx(everything**2 * variance, rel=1e-9, abs=1e-12)


def test_where_all_or_nothing_of_a_stratum_is_accepted_there_is_no_error() -> None:
    of = drawn_events(1, 40, shared=True, strata=True)
    sums = RateSums(counted(of), 1)
    sums.add(slice(0, len(of.table)), (of.table.stratum == 1).astype(np.float64)[:, None])
    hz, variance = sums.result()
    assert hz[0] > 1
    assert variance[0] < 1e-12


@settings(max_examples=40)
@given(any_menu, st.integers(0, 2**32), st.integers(1, 40), st.data())
def test_pairs_are_those_of_the_events(toy: ToyMenu, seed: int, n: int, data: st.DataObject) -> None:
    """Of a menu with itself, in one list or in two; with and without seeds, strata, shared interactions and
    fitted triggers."""
    menu, bits = menu_with_bits(toy)
    shared, strata, same, halves = (data.draw(st.booleans()) for _ in range(4))
    rng, t = np.random.default_rng(seed), len(menu.enabled)
    given = [{one.name: bool(rng.random() < 0.7) for one in toy.given} for _ in range(4)]
    of = drawn_events(seed, n, shared, strata, words=words_of(given))
    m = len(of.table)
    fitted = (rng.random(t) < 0.4) & halves
    unseen = np.where(rng.random(m) < 0.5, 0.0, 2.5) if halves else np.ones(m)
    judged = frozenset(one.name for one, apart in zip(menu.enabled, fitted, strict=True) if apart)
    times = 1 if same else 2
    known_part = (judged,) * times, (frozenset[str](),) * times
    found = pairs_of(
        Counted(of.table, (menu,) * times, (bits,) * times, *known_part, unseen, 0.3, of.stratum)
    )
    names = [one.name for one in toy.enabled]
    known = {
        words.tobytes(): contributions(toy, one).overlap
        for words, one in zip(words_of(given), given, strict=True)
    }
    joint = np.array(
        [[[float(known[words.tobytes()][a, b]) for b in names] for a in names] for words in of.table.words]
    ).reshape(m, t, t)
    hz, variance = sums_of_events(
        of, joint * np.where(np.logical_or.outer(fitted, fitted), unseen[:, None, None], 1.0)
    )
    assert found[0] == pytest.approx(0.3 * hz, rel=1e-11, abs=1e-14)
    assert found[1] == pytest.approx(0.09 * variance, rel=1e-8, abs=1e-12)
    if not halves:  # two triggers that never accept together have no rate at all
        assert ((found[0] > 0) == joint.any(axis=0)).all()


def test_what_is_the_same_in_all_events_does_not_vary() -> None:
    """Columns with a constant part keep only the rest, and what rounding leaves counts as 0."""
    of, constant = drawn_events(1, 40, shared=True, strata=False), np.array([0.1, 0.25, 0.0])
    m = len(of.table)
    fractions = np.tile(constant, (m, 1))
    fractions[::2, 0] += 1e-16
    fractions[::2, 1:] = 0.5, 1.0
    sums = RateSums(counted(of), 3, constant)
    sums.add(slice(0, m), fractions)
    hz, variance = sums.result()
    expected_hz, squares = sums_of_events(of, fractions)
    assert hz == pytest.approx(expected_hz, rel=1e-12)
    assert sums.squares[:3] == pytest.approx(squares, rel=1e-9)
    fractions[:, 0], fractions[1::2, 1:], fractions[::2, 1] = 0.0, 0.0, 0.25
    assert variance == pytest.approx(sums_of_events(of, fractions)[1], rel=1e-9)


def menu(folder: Path, name: str = "one", jet: float = 30.0, met: float = 20.0) -> Any:
    text = f'[menu]\nname = "{name}"\n'
    text += threshold("J", "jet[0].pt", jet, 'prescale = 3\ngroup = "x"')
    text += threshold("M", "met", met, 'seed = "J or G"\ngroup = "x"')
    return menu_from(folder, text + threshold("G", "photon[0].pt", 12, "prescale = 2.5"))


@pytest.fixture
def catalogue() -> Any:
    return memory_catalogue({"a": related_events(1, 200, 60), "b": related_events(2, 100, 60)})


def test_events_as_independent(tmp_path: Path, catalogue: Any) -> None:
    """Of either kind the rates are the same; the errors here are smaller."""
    known = rates_of(emulate([menu(tmp_path)], catalogue))
    alone = rates_of(emulate([menu(tmp_path)], catalogue.with_errors("events")))
    events = [e for s in catalogue.samples for e in s.sources[0].events]
    fired = [max((j["pt"] for j in e["jet"]), default=0) > 30 for e in events]
    error = math.sqrt(sum((e["weight"] * f / 3) ** 2 for e, f in zip(events, fired, strict=True)))
    assert alone.triggers[0].total.error_hz == pytest.approx(error, rel=1e-12)
    for a, b in zip(known.triggers, alone.triggers, strict=True):
        assert a.total.hz == b.total.hz
        assert a.total.error_hz > 1.1 * b.total.error_hz
        assert a.total.effective_events < b.total.effective_events / 1.2


def test_exclusive_rates_and_rates_in_bins(tmp_path: Path, catalogue: Any) -> None:
    one = menu(tmp_path)
    found = exclusive_rates(emulate([one], catalogue))
    alone = exclusive_rates(emulate([one], catalogue.with_errors("events")))
    assert any(a.error_hz > 1.2 * b.error_hz for a, b in zip(found.largest, alone.largest, strict=True))
    whole = binned_rates(one, "n_jet", (0.0, 100.0), catalogue)
    (only,) = whole.bins
    events = [e for s in catalogue.samples for e in s.sources[0].events]
    weights = [e["weight"] for e in events]
    fired = [(max((j["pt"] for j in e["jet"]), default=0) > 30) / 3 for e in events]
    mean = sum(w * f for w, f in zip(weights, fired, strict=True)) / sum(weights)
    error = by_parent(
        [e["parent"] for e in events], [w * (f - mean) for w, f in zip(weights, fired, strict=True)]
    )
    assert only.if_all[0].error_hz == pytest.approx(error, rel=1e-9)


def test_efficiencies(tmp_path: Path) -> None:
    """Var(ε) gains the products of w (a − ε); where all pass, the effective number is that of the parents."""
    signal = related_events(5, 300, 80)
    catalogue = memory_catalogue({"soft": toy_events(1, 20)}, signals={"yy": signal})
    edges = (0.0, 20.0, 1000.0)
    (turnon,) = efficiencies(
        [menu(tmp_path)], catalogue, ["yy"], [Profile("met", edges)], triggers=["J"]
    ).turnons
    (alone,) = efficiencies(
        [menu(tmp_path)], catalogue.with_errors("events"), ["yy"], [Profile("met", edges)], triggers=["J"]
    ).turnons
    inside = [e for e in signal if e["met"] < 20]
    weights, parents = [e["weight"] for e in inside], [e["parent"] for e in inside]
    a = [(max((j["pt"] for j in e["jet"]), default=0) > 30) / 3 for e in inside]
    total = sum(weights)
    mean = sum(w * x for w, x in zip(weights, a, strict=True)) / total
    residual = [w * (x - mean) for w, x in zip(weights, a, strict=True)]
    own = sum(w * w * ((1 - mean) ** 2 * x + mean**2 * (1 - x)) for w, x in zip(weights, a, strict=True))
    variance = (own + by_parent(parents, residual) ** 2 - sum(x * x for x in residual)) / total**2
    n = mean * (1 - mean) / variance
    centre, shrink = mean + 1 / (2 * n), 1 + 1 / n
    width = math.sqrt(mean * (1 - mean) / n + 1 / (4 * n * n))
    curve = next(c for c in turnon.curves if c.trigger == "J")
    assert curve.low[0] == pytest.approx((centre - width) / shrink, rel=1e-9)
    assert curve.high[0] == pytest.approx((centre + width) / shrink, rel=1e-9)
    assert turnon.effective_events[0] == pytest.approx(total**2 / by_parent(parents, weights) ** 2, rel=1e-9)
    assert turnon.effective_events[0] < alone.effective_events[0]


@given(st.integers(0, 2**32), st.integers(1, 200), st.data())
def test_tables_list_the_same_events_however_they_are_cut(seed: int, n: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 6, (n, 1)).astype(np.uint64)
    parent, id = rng.integers(0, n, n).astype(np.uint64), np.arange(n, dtype=np.uint64)
    weight, keys = rng.normal(size=n), Keys(rng.integers(0, 2, n))
    whole = complete_table([count_patterns(0, words, weight, keys, made_from=(parent, id))])
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=4))), n]
    parts = [
        count_patterns(0, words[a:b], weight[a:b], keys.take(slice(a, b)), made_from=(parent[a:b], id[a:b]))
        for a, b in pairwise(edges)
    ]
    cut = complete_table([merge_tables(parts[:2]), *parts[2:]])
    times = np.bincount(parent.astype(np.int64), minlength=n)
    assert len(whole.shared) == times[times > 1].sum()
    for name in ("entry", "parent", "id", "weight"):
        assert cut.shared[name].tolist() == whole.shared[name].tolist()
    for entry, event in zip(whole.shared["entry"], whole.shared["id"], strict=True):
        assert whole.words[entry, 0] == words[event, 0]
        assert whole.half[entry] == keys.half[event]
    some = whole.take(np.flatnonzero(whole.words[:, 0] % 2 == 1))
    kept = [event for event in whole.shared["id"] if words[event, 0] % 2 == 1]
    assert some.shared["id"].tolist() == kept


def test_events_in_which_nothing_fired_are_not_listed_where_they_cannot_enter() -> None:
    words = np.array([[0], [1], [0], [1]], np.uint64)
    made_from = np.zeros(4, np.uint64), np.arange(4, dtype=np.uint64)
    some, every = (
        complete_table([count_patterns(0, words, np.ones(4), made_from=made_from, count_rejected=u)])
        for u in (False, True)
    )
    assert some.shared["id"].tolist() == [1, 3]
    assert every.shared["id"].tolist() == [0, 1, 2, 3]
