"""All rates against a brute-force evaluation in plain Python, event by event."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st
from likeness import alike
from toy_menus import (
    as_toml,
    by_parent,
    constant_parts,
    fitted_in,
    has_halves,
    judged,
    menus,
    pt,
    two_samples,
)
from toys import (
    evaluation_half,
    even_events,
    factors,
    is_evaluation,
    memory_catalogue,
    menu_from,
    threshold,
    toy_events,
    trigger,
)

from trigemu import TrigemuError, emulate, rates_of, read_menu
from trigemu.api import MenuRates, Rate
from trigemu.rates.menu_rates import column_rates


def close(measured: float, expected: float, scale: float) -> bool:
    return math.isclose(measured, expected, rel_tol=1e-9, abs_tol=1e-12 * scale)


def cancelling(parents: list[int]) -> float:
    """Sums over the events of a parent lose digits."""
    return 1.0 if len({*parents}) == len(parents) else 1e3


Entries = list[tuple[str, float, float]]


def unseen(rate: Rate, entries: Entries, accepted: Entries) -> set[str]:
    """Samples without an event, of which one would change the rate by more than the error and a tenth, and
    fewer than three would be there if they passed like the others. entries: without what is the same in all
    events. accepted: the same events in the whole menu."""
    found = set()
    for sample in {s for s, _, _ in entries}:
        own = [(w, f > 0) for s, w, f in accepted if s == sample]
        weights = [w for w, a in own if a] or [w for w, _ in own]
        one = math.fsum(w * w for w in weights) / math.fsum(weights) * max(abs(f) for _, _, f in entries)
        others = math.fsum(w for s, w, _ in entries if s != sample)
        like_others = math.fsum(w * f for _, w, f in entries) * math.fsum(w for w, _ in own) / others
        if (
            all(f == 0 for s, _, f in entries if s == sample)
            and one > max(rate.error_hz, abs(rate.hz) / 10)
            and like_others < 3 * one
        ):
            found.add(sample)
    return found


def check_rate(
    rate: Rate,
    entries: Entries,
    limit: float | None,
    accepted: Entries,
    parents: list[int],
    resolution: float = 0.0,
    constant: float = 0.0,
) -> None:
    """entries: from exact fractions, so that 0 is 0. resolution: of a difference of probabilities. constant:
    the fraction that is the same in all events."""
    total = sum(abs(w) for _, w, _ in entries)
    seen = [w * f if abs(f) > resolution else 0.0 for _, w, f in entries]
    number = sum(abs(f) > resolution for _, _, f in entries)
    assert close(rate.hz, math.fsum(seen), total)
    varying = [(s, w, f - constant) for s, w, f in entries]
    error = by_parent(parents, [w * f for _, w, f in varying]) if number else 0.0  # a rate of 0 has a limit
    assert close(rate.error_hz, error, total * cancelling(parents))
    assert rate.is_uncertain == (rate.error_hz > 0 and 0 < rate.effective_events < 5)
    assert number <= rate.events <= sum(f != 0 for _, _, f in entries) or (resolution and not rate.events)
    if rate.events != number:
        assert resolution
    elif number:
        assert rate.upper_limit_hz is None
        assert math.isclose(
            rate.effective_events, math.fsum(seen) ** 2 / by_parent(parents, seen) ** 2, rel_tol=1e-9
        )
        assert set(rate.unseen) == unseen(rate, varying, accepted)
    elif rate.contained_in:
        assert rate.upper_limit_hz is None
    else:
        assert limit is not None
        assert rate.upper_limit_hz == pytest.approx(1.14 * limit)


@settings(max_examples=40)
@given(
    *(menus(), st.integers(0, 2**32), st.sampled_from([40e6, 20e6]), st.booleans()),
    st.none() | st.integers(1, 30),
)
def test_all_rates_equal_a_brute_force(
    triggers: list[dict[str, Any]], seed: int, rate: float, fitted: bool, shared: int | None
) -> None:
    """On all events; what a fitted trigger accepts, and what it changes, on one half, scaled to all of it.
    shared: the parents of all events, of both samples; else each event is one."""
    samples = two_samples(seed, shared)
    assume(has_halves(samples) or not fitted)
    every = [e for part in samples.values() for e in part]
    parents = [e.get("parent", number) for number, e in enumerate(every)]
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, rate, fitted))
    result = rates_of(emulate([menu], memory_catalogue(samples)))
    names = {t.name for t in result.triggers} & (fitted_in(triggers) if fitted else set())
    assert set(result.half.triggers if result.half else ()) == names
    ones = {name: factors(part) if fitted else [1.0] * len(part) for name, part in samples.items()}
    expected = judged(samples, triggers, rate / 40e6, rate, ones)
    known = constant_parts([t for t in triggers if t["name"] not in names], rate)
    accepted = [(s, w, f - known["menu"]) for s, w, f in expected["menu"]]
    weights = [w for _, w, _ in accepted]
    factor = [k for of in ones.values() for k in of]
    own_prescale = {
        t["name"]: t["prescale"] * (rate / 1000 if t["kind"] == "random" else 1) for t in triggers
    }

    def largest(members: list[str]) -> float:
        """The largest weight × acceptance that an event of some triggers could have had."""
        of = {False: max(weights), True: max(w * k for w, k in zip(weights, factor, strict=True))}
        return max(of[name in names] / own_prescale[name] for name in members)

    most = largest([t.name for t in result.triggers])
    check_rate(result.rate, expected["menu"], most, accepted, parents, constant=known["menu"])
    for t in (*result.triggers, *result.groups):
        name = f"group {t.name}" if t.kind == "group" else t.name
        limit = largest(
            [u.name for u in result.triggers if u.group == t.name] if t.kind == "group" else [t.name]
        )
        own = max((w * abs(f) for _, w, f in expected[f"total {name}"] if f), default=limit)
        of = {quantity: known.get(f"{quantity} {name}", 0.0) for quantity in ("total", "unique", "share")}
        if not t.unique.contained_in:
            check_rate(t.total, expected[f"total {name}"], limit, accepted, parents, constant=of["total"])
            check_rate(t.share, expected[f"share {name}"], limit, accepted, parents, constant=of["share"])
        resolution = 1e-15 if t.kind == "group" else 0.0
        check_rate(t.unique, expected[f"unique {name}"], own, accepted, parents, resolution, of["unique"])
    check_overlap(result, expected, known, parents)


def check_overlap(
    result: MenuRates, expected: dict[str, Entries], known: dict[str, float], parents: list[int]
) -> None:
    names = [t.name for t in result.triggers]
    for i, s in enumerate(names):
        for j, t in enumerate(names):
            entries = expected[f"overlap {s} {t}"]
            total = sum(w for _, w, _ in entries)
            assert close(result.overlap[i, j], math.fsum(w * f for _, w, f in entries), total)
            constant = known.get(f"overlap {s} {t}", 0.0)
            error = by_parent(parents, [w * (f - constant) for _, w, f in entries])
            assert close(result.overlap_error[i, j], error, total * cancelling(parents))


FITTED = threshold("A", "met", 20, 'fitted_on = "toy"')


def test_a_half_stands_for_all_of_each_sample(tmp_path: Path) -> None:
    """Here every event passes: the rate is that of all, from the events of the half."""
    samples = {"a": even_events(1, 70), "b": toy_events(2, 50), "c": even_events(3, 11)}
    menu = menu_from(tmp_path, threshold("A", "n_jet", -1, 'fitted_on = "toy"'))
    result = rates_of(emulate([menu], memory_catalogue(samples)))
    assert result.half is not None
    assert result.half.number == 1
    halves = {name: evaluation_half(events) for name, events in samples.items()}
    for scale, (name, events) in zip(result.half.scales, samples.items(), strict=True):
        assert scale == pytest.approx(halves[name][0]["weight"] / original(halves[name][0], events))
    assert result.rate.hz == pytest.approx(sum(e["weight"] for part in samples.values() for e in part))
    assert result.rate.events == sum(map(len, halves.values()))


def original(event: dict[str, Any], events: list[dict[str, Any]]) -> float:
    return next(e["weight"] for e in events if e["met"] == event["met"])  # type: ignore[no-any-return]


def test_events_of_one_interaction_stay_together(tmp_path: Path) -> None:
    """They are in one half, whatever their numbers."""
    events = [e | {"parent": i // 10} for i, e in enumerate(even_events(1, 200))]
    result = rates_of(emulate([menu_from(tmp_path, FITTED)], memory_catalogue({"a": events})))
    half = evaluation_half(events)
    assert len(half) % 10 == 0
    expected = sum(e["weight"] for e in half if e["met"] > 20)
    assert result.triggers[0].total.hz == pytest.approx(expected)


@pytest.mark.parametrize("weights", [[-3.0, 2.0], [0.0, 0.0]])
def test_a_half_whose_weights_add_up_to_nothing_stands_for_nothing(
    tmp_path: Path, weights: list[float]
) -> None:
    parents = sorted(range(1, 5), key=is_evaluation)
    assert [is_evaluation(parent) for parent in parents] == [False, False, True, True]
    events = even_events(1, 4)
    for event, parent, weight in zip(events, parents, [5.0, 5.0, *weights], strict=True):
        event |= {"parent": parent, "weight": weight}
    with pytest.raises(TrigemuError, match="'a': there is no weight in its evaluation half"):
        rates_of(emulate([menu_from(tmp_path, FITTED)], memory_catalogue({"a": events})))


def test_random_takes_its_rate_and_needs_crossings(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, trigger("R", "random", "rate_hz = 500"))
    events = toy_events(3, 20)
    for event in events:
        event["weight"] = 2e6
    result = rates_of(emulate([menu], memory_catalogue({"a": events})))
    assert result.triggers[0].total.hz == pytest.approx(500.0)
    assert not result.warnings
    interactions = memory_catalogue({"a": events}, convention="luminosity")
    with pytest.raises(TrigemuError, match=r"'R'.*accepts crossings"):
        rates_of(emulate([menu], interactions))


def test_a_luminosity_sample_warns_above_one_percent_of_the_crossings(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, threshold("A", "n_jet", -1))
    events = toy_events(5, 10)
    for weight, warns in ((30_000.0, False), (50_000.0, True)):
        for event in events:
            event["weight"] = weight
        result = rates_of(emulate([menu], memory_catalogue({"a": events}, "luminosity")))
        assert bool(result.warnings) is warns


@pytest.mark.parametrize("n", [64, 300])
def test_menus_of_many_triggers(tmp_path: Path, n: int) -> None:
    """Thresholds that rise one by one: each unique rate but the first is zero, totals fall."""
    text = "".join(threshold(f"T{i}", "jet[0].pt", i / 4) for i in range(n))
    events = toy_events(7, 200)
    result = rates_of(emulate([menu_from(tmp_path, text)], memory_catalogue({"a": events})))
    for i, found in enumerate(result.triggers):
        passing = [e["weight"] for e in events if pt(e, "jet", 0) > i / 4]
        assert alike(found.total.hz, math.fsum(passing))
        assert alike(found.total.events, len(passing))
        assert i == 0 or found.unique.events == 0
    assert result.rate.hz == result.triggers[0].total.hz


def test_a_disabled_seed_counts_by_its_raw_decision(tmp_path: Path) -> None:
    """Also one with a prescale or a seed of its own; one that a column switches off accepts nothing."""
    text = '[menu]\nprescale_columns = ["on", "off"]\n' + threshold("X", "met", 20, "prescale = 3")
    text += threshold("A", "n_jet", -1, 'enabled = false\nprescale = 7\nseed = "X"\nprescales = [5, 0]')
    text += threshold("B", "n_jet", -1, 'seed = "A"')
    events = toy_events(1, 30)
    expected = math.fsum(e["weight"] for e in events if e["met"] > 20)
    columns = column_rates(menu_from(tmp_path, text), ["on", "off"], memory_catalogue({"a": events}))
    assert columns["on"].triggers[1].total.hz == pytest.approx(expected)
    assert columns["off"].triggers[1].total.events == 0
    assert "all seeds of 'B' are switched off in this column of prescales" in columns["off"].warnings


@pytest.mark.parametrize(
    ("decide", "message"),
    [("1 / 0", "ZeroDivisionError"), ("[True] * n", r"gave list, expected an array bool\[")],
)
def test_a_bit_kind_that_fails_is_named(tmp_path: Path, decide: str, message: str) -> None:
    (tmp_path / "broken.py").write_text(
        "from trigemu.triggers.base import BitKind\n"
        f"class Broken(BitKind, frozen=True):\n    def decide(self, raw, n): return {decide}\n"
        'KINDS = {"broken": Broken}\n'
    )
    text = '[menu]\nplugins = ["broken"]\n[[trigger]]\nname = "B"\nkind = "broken"\n'
    (tmp_path / "menu.toml").write_text(text)
    menu = read_menu(tmp_path / "menu.toml", [tmp_path])
    with pytest.raises(TrigemuError, match=rf"menu\.toml:3: trigger 'B' \(kind 'broken'\) .*{message}"):
        rates_of(emulate([menu], memory_catalogue({"a": toy_events(1, 10)})))
