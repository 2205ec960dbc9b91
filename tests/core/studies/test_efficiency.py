"""Efficiencies against plain Python, event by event; intervals against what they promise."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from menu_variants import write
from toy_menus import all_outcomes, any_of, as_toml, menus
from toys import evaluation_half, is_evaluation, logic, memory_catalogue, threshold, toy_events

from trigemu import TrigemuError
from trigemu.counting.patterns import Keys, count_patterns
from trigemu.results.efficiency import EfficienciesView
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.efficiency import MAX_CATEGORIES, Efficiencies, Turnon, efficiencies
from trigemu.studies.intervals import Curve, Profile, Sums

Triggers = list[dict[str, Any]]
#: Of an observable, what it is of an event; None where it has no value.
OBSERVABLES: dict[str, Any] = {
    "jet[0].pt": lambda e: e["jet"][0]["pt"] if e["jet"] else None,
    "n_jet": lambda e: len(e["jet"]),
    "met": lambda e: e["met"],
    "photon[0].eta": lambda e: e["photon"][0]["eta"] if e["photon"] else None,
}
EDGES = {
    "jet[0].pt": (5.0, 20.0, 40.0, 200.0),
    "n_jet": (0.0, 1.0, 2.0, 6.0),
    "met": (0.0, 5.0, 60.0, 60.5),
    "photon[0].eta": (-1.0, 0.0, 1.0),
}
CATEGORIES: dict[str, Any] = {
    "n_jet == 0": lambda e: len(e["jet"]) == 0,
    "n_jet > 1": lambda e: len(e["jet"]) > 1,
    "met > 10": lambda e: e["met"] > 10,
}


def signal(events: Sequence[dict[str, Any]], **more: Any) -> Catalogue:
    return memory_catalogue({"soft": toy_events(9, 30)}, signals={"yy": events}, **more)


@settings(max_examples=25)
@given(
    st.lists(menus(), min_size=1, max_size=3),
    st.integers(0, 2**32),
    st.sampled_from(sorted(OBSERVABLES)),
    st.lists(st.sampled_from(sorted(CATEGORIES)), unique=True, max_size=3),
    st.sampled_from([None, "", "n_muon >= 1"]),
    st.booleans(),
)
def test_all_numbers_equal_a_brute_force(
    texts: list[Triggers],
    seed: int,
    observable: str,
    categories: list[str],
    require: str | None,
    fitted: bool,
) -> None:
    """Also of menus that were fitted, but not on the signal."""
    events = toy_events(seed, 80)
    catalogue = signal(events, require="met > 2")
    with tempfile.TemporaryDirectory() as folder:
        read = [write(Path(folder), f"M{i}", as_toml(t, 40e6, fitted)) for i, t in enumerate(texts)]
    used = [e for e in events if (len(e["muon"]) > 0 if require else e["met"] > 2 or require == "")]
    inside = [[e for e in used if CATEGORIES[c](e)] for c in categories] or [used]
    value, edges = OBSERVABLES[observable], EDGES[observable]
    triggers = ["T0", "T1"]
    asked = (
        efficiencies,
        (read, catalogue, ["yy"], [Profile(observable, edges)], categories, require, triggers),
    )
    seen = [e for part in inside for e in part if value(e) is not None and edges[0] <= value(e) < edges[-1]]
    if not all(inside) or not seen or not any(t["name"] == "T1" and t["enabled"] for m in texts for t in m):
        with pytest.raises(TrigemuError):
            asked[0](*asked[1])
        return
    result = asked[0](*asked[1])
    assert result.require == {None: "met > 2"}.get(require, require)
    assert [t.category for t in result.turnons] == (categories or ["all"])
    for turnon, part in zip(result.turnons, inside, strict=True):
        assert turnon.selected == len(part)
        check(turnon, part, texts, value, edges)


def check(
    turnon: Turnon, events: Triggers, texts: list[Triggers], value: Any, edges: Sequence[float]
) -> None:
    """Each curve in each bin, and as a whole."""
    of_menus = [fractions(t, events) for t in texts]
    names = [(f"M{i}", n) for i, of in enumerate(of_menus) for n in of if n in (None, "T0", "T1")]
    assert [(c.menu, c.trigger) for c in turnon.curves] == sorted(
        names, key=lambda n: (n[0], [None, *[t["name"] for t in texts[int(n[0][1])]]].index(n[1]))
    )
    for curve in turnon.curves:
        own = of_menus[int(curve.menu[1])][curve.trigger]
        reference = of_menus[0].get(curve.trigger, [0.0] * len(events))
        for i, (low, high) in enumerate(pairwise(edges)):
            rows = [k for k, e in enumerate(events) if value(e) is not None and low <= value(e) < high]
            assert turnon.events[i] == len(rows)
            measured = [getattr(curve, name)[i] for name in ("value", "low", "high", "gain", "gain_error")]
            compare(
                [events[k]["weight"] for k in rows],
                [own[k] for k in rows],
                [reference[k] for k in rows],
                measured,
            )
        whole = curve.overall
        measured = [whole.value, whole.low, whole.high, whole.gain, whole.gain_error]
        compare([e["weight"] for e in events], own, reference, measured)


def fractions(triggers: Triggers, events: Triggers) -> dict[str | None, list[float]]:
    """Of the menu (None) and of its triggers, what is accepted of each event."""
    on = [t for t in triggers if t["enabled"]]
    counters = all_outcomes(events, triggers, 40e6)
    found: dict[str | None, list[float]] = {None: [any_of(c, on) for c in counters]}
    return found | {t["name"]: [any_of(c, [t]) for c in counters] for t in on}


def compare(w: list[float], a: list[float], r: list[float], measured: list[float]) -> None:
    if not w:
        assert all(math.isnan(number) for number in measured)
        return
    total = math.fsum(w)
    epsilon = math.fsum(x * y for x, y in zip(w, a, strict=True)) / total
    passed = math.fsum(x * x * y for x, y in zip(w, a, strict=True))
    failed = math.fsum(x * x * (1 - y) for x, y in zip(w, a, strict=True))
    variance = ((1 - epsilon) ** 2 * passed + epsilon**2 * failed) / total**2
    n = total**2 / math.fsum(x * x for x in w)
    lost = math.fsum(x * (1 - y) for x, y in zip(w, a, strict=True)) / total
    if epsilon * lost > 0:
        n = epsilon * lost / variance
    root = math.sqrt(epsilon * (1 - epsilon) / n + 1 / (4 * n * n))
    low, high = ((epsilon + 1 / (2 * n) + s * root) / (1 + 1 / n) for s in (-1, 1))
    gain = math.fsum(x * (y - z) for x, y, z in zip(w, a, r, strict=True)) / total
    error = math.sqrt(math.fsum((x * (y - z - gain)) ** 2 for x, y, z in zip(w, a, r, strict=True))) / total
    assert measured[:4] == pytest.approx([epsilon, low, high, gain], rel=1e-7, abs=1e-9)
    assert measured[4] == pytest.approx(error, rel=1e-5, abs=1e-7)
    assert 0 <= measured[1] <= measured[0] + 1e-12
    assert measured[0] - 1e-12 <= measured[2] <= 1


# ---- intervals


@pytest.mark.parametrize(("of_passing", "of_failing"), [(0.8, 0.3), (0.3, 0.8), (1.0, 0.2), (0.5, 0.5)])
def test_intervals_cover_two_thirds(of_passing: float, of_failing: float) -> None:
    """Weights that go with passing, heavier by a factor and broader or narrower; n_eff ≥ 30."""
    mean = np.mean([coverage(e, of_passing, of_failing) for e in np.arange(0.05, 0.951, 0.05)])
    assert 0.62 < mean < 0.74


def coverage(passing: float, of_passing: float, of_failing: float, toys: int = 600, n: int = 120) -> float:
    """How often the interval of n events holds the truth; each toy is a bin."""
    rng = np.random.default_rng(int(1000 * passing))
    passes = rng.random((toys, n)) < passing
    factor = 1.5 if of_passing > of_failing else 0.7
    heavy, light = (rng.lognormal(0, sigma, (toys, n)) for sigma in (of_passing, of_failing))
    weight = np.where(passes, factor * heavy, light)
    mean = factor * passing * math.exp(of_passing**2 / 2)
    truth = mean / (mean + (1 - passing) * math.exp(of_failing**2 / 2))
    table = count_patterns(
        0, passes.reshape(-1, 1).astype(np.uint64), weight.ravel(), Keys(bin=np.repeat(np.arange(toys), n))
    )
    accepted = (table.words[:, 0] & np.uint64(1)).astype(float)
    sums = Sums(table, Profile("x", tuple(range(toys + 1))))
    curve = sums.curve("toy", None, accepted, accepted)
    value = curve.value
    variance = ((1 - value) ** 2 * (weight**2 * passes).sum(1) + value**2 * (weight**2 * ~passes).sum(1)) / (
        weight.sum(1) ** 2
    )
    enough = value * (1 - value) >= 30 * variance
    assert enough.mean() > 0.5
    covered = (curve.low <= truth) & (truth <= curve.high)
    return float(covered[enough].mean())


def test_negative_weights_are_warned_of(tmp_path: Path) -> None:
    """Also in one of several categories alone; the numbers are those of weights with their signs."""
    events = toy_events(4, 60)
    for event in events[::4]:
        event["weight"] *= -1
    menu, catalogue = [write(tmp_path, "a", MENU)], signal(events)
    result = efficiencies(menu, catalogue, ["yy"], [PT], ["n_jet >= 0", "n_jet > 1"])
    whole = result.turnons[0].curves[0].overall
    passing = math.fsum(e["weight"] for e in events if e["jet"] and e["jet"][0]["pt"] > 30)
    assert whole.value == pytest.approx(passing / math.fsum(e["weight"] for e in events))
    assert whole.low < whole.value < whole.high
    assert [t.selected for t in result.turnons] == [60, sum(len(e["jet"]) > 1 for e in events)]
    (warning,) = result.warnings
    negative = -math.fsum(e["weight"] for e in events[::4])
    share = negative / math.fsum(abs(e["weight"]) for e in events)
    assert warning.startswith(f"{100 * share:.2g} % of the weight of 'yy' is negative")
    assert result.to_dict()["warnings"] == [warning]
    assert f"Warning: {warning}." in EfficienciesView().page(result).notes
    assert efficiencies(menu, signal(toy_events(4, 60)), ["yy"], [PT]).warnings == ()


def test_one_sided_cuts_on_signed_differences_are_warned_of(tmp_path: Path) -> None:
    menu, catalogue = [write(tmp_path, "a", MENU)], signal(toy_events(4, 60))
    signed = "dphi(jet[0], jet[1]) > 0.5"
    for categories, require in (([signed], None), ([], signed)):
        (warning,) = efficiencies(menu, catalogue, ["yy"], [PT], categories, require=require).warnings
        assert signed in warning
    profile = Profile("dphi(jet[0], jet[1])", (-3.0, 0.0, 3.0))
    assert efficiencies(menu, catalogue, ["yy"], [profile], [f"abs({signed[:-6]}) > 0.5"]).warnings == ()


# ---- what counts


MENU = threshold("J", "jet[0].pt", 30)
PT = Profile("jet[0].pt", (5.0, 30.0, 60.0, 1000.0))


def curves(result: Efficiencies) -> list[Curve]:
    return [curve for turnon in result.turnons for curve in turnon.curves]


def test_a_bin_without_events_has_no_efficiency(tmp_path: Path) -> None:
    profile = Profile("n_jet", (0, 1, 50, 60))
    result = efficiencies([write(tmp_path, "a", MENU)], signal(toy_events(1, 100)), ["yy"], [profile])
    (curve,) = curves(result)
    for values in (curve.value, curve.low, curve.high, curve.gain, curve.gain_error):
        assert np.isnan(values).tolist() == [False, False, True]
    bins = result.to_dict()["turnons"][0]["curves"][0]
    assert bins["efficiency"][2] is bins["gain_error"][2] is None


def test_several_samples_are_one(tmp_path: Path) -> None:
    """Each once, whatever their order."""
    first, second = toy_events(1, 60), toy_events(2, 60)
    apart = memory_catalogue({"soft": toy_events(9, 9)}, signals={"x": first, "y": second})
    menu = [write(tmp_path, "a", MENU)]
    one = efficiencies(menu, signal([*first, *second]), ["yy"], [PT])
    for names in (["x", "y"], ["y", "x", "y"]):
        both = efficiencies(menu, apart, names, [PT])
        assert curves(both)[0].value.tolist() == pytest.approx(curves(one)[0].value.tolist())
        assert (both.turnons[0].samples, both.turnons[0].heading) == (
            tuple(dict.fromkeys(names)),
            " + ".join(dict.fromkeys(names)),
        )


def test_of_a_background_that_something_was_fitted_to_one_half_counts(tmp_path: Path) -> None:
    events = toy_events(5, 300)
    catalogue = memory_catalogue({"soft": events})
    fitted = write(tmp_path, "a", threshold("J", "jet[0].pt", 30, 'fitted_on = "toy"'))
    result = efficiencies([fitted], catalogue, ["soft"], [PT])
    assert result.halved == ("soft",)
    assert result.turnons[0].selected == sum(map(is_evaluation, range(300)))
    half = evaluation_half(events)
    passing = math.fsum(e["weight"] for e in half if e["jet"] and e["jet"][0]["pt"] > 30)
    expected = passing / math.fsum(e["weight"] for e in half)
    assert curves(result)[0].overall.value == pytest.approx(expected)
    plain = efficiencies([write(tmp_path, "b", MENU)], catalogue, ["soft"], [PT])
    assert (plain.halved, plain.turnons[0].selected) == ((), 300)


def test_samples_that_are_measured_apart(tmp_path: Path) -> None:
    """Each as if it were the only one; a category in which a sample has no event is left out."""
    signals = {"one": toy_events(3, 80), "two": toy_events(4, 60)}
    for event in signals["two"]:
        event["jet"] = event["jet"][:1]
    catalogue = memory_catalogue({"soft": toy_events(1, 9)}, signals=signals)
    menus = [write(tmp_path, "a", MENU), write(tmp_path, "b", MENU.replace("30", "50"))]
    categories = ["n_jet >= 0", "n_jet >= 2"]
    found = efficiencies(menus, catalogue, ["one", "two"], [PT], categories, apart=True)
    every = [(turnon.sample, turnon.category) for turnon in found.turnons]
    assert every == [("one", categories[0]), ("one", categories[1]), ("two", categories[0])]
    for name, category in every:
        alone = efficiencies(menus, catalogue, [str(name)], [PT], [category])
        (turnon,) = (t for t in found.turnons if (t.sample, t.category) == (name, category))
        assert turnon.selected == alone.turnons[0].selected
        for a, b in zip(turnon.curves, alone.turnons[0].curves, strict=True):
            numbers = [[getattr(c.overall, f.name) for f in fields(c.overall)] for c in (a, b)]
            assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)  # the same patterns in another order
            np.testing.assert_allclose(a.value, b.value, rtol=1e-12)
    two = found[PT.observable, categories[0], "two"]
    assert (two.sample, two.samples, two.heading) == ("two", ("two",), "two, n_jet >= 0")


def test_names_mean_what_the_scope_says(tmp_path: Path) -> None:
    """By default what they mean in the first menu."""
    soft = MENU + '[objects.jet]\nfrom = "jet"\npt = { min = 40.0 }\n'
    read = [write(tmp_path, "a", soft), write(tmp_path, "b", MENU)]
    events = toy_events(3, 100)
    profile = [Profile("n_jet", (0.0, 1.0, 10.0))]
    there = efficiencies(read, signal(events), ["yy"], profile)
    hard = sum(any(jet["pt"] >= 40 for jet in event["jet"]) for event in events)
    assert there.turnons[0].events.tolist() == [100 - hard, hard]
    own = efficiencies(read, signal(events), ["yy"], profile, scope=read[1].scope)
    some = sum(bool(event["jet"]) for event in events)
    assert own.turnons[0].events.tolist() == [100 - some, some]


def test_a_trigger_that_only_one_menu_has(tmp_path: Path) -> None:
    """Also one that costs no event loop; its gain is over nothing."""
    read = [write(tmp_path, "a", MENU), write(tmp_path, "b", MENU + logic("L", "not J"))]
    found = curves(efficiencies(read, signal(toy_events(3, 100)), ["yy"], [PT], triggers=["L"]))
    assert [(curve.menu, curve.trigger) for curve in found] == [("a", None), ("b", None), ("b", "L")]
    assert found[2].gain.tolist() == found[2].value.tolist()
    assert found[1].overall.value == 1.0


# ---- what cannot be had


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"samples": ["yyy"]}, r"unknown sample 'yyy'; did you mean 'yy'\?"),
        ({"triggers": ["JJ"]}, r"no menu has an enabled trigger 'JJ'; did you mean 'J'\?"),
        ({"triggers": ["OFF"]}, "no menu has an enabled trigger 'OFF'"),
        ({"profiles": [Profile("jet[0].ptt", (0.0, 1.0))]}, "no column 'jet.ptt'; did you mean 'pt'"),
        ({"profiles": [Profile("jte[0].pt", (0.0, 1.0))]}, "no collection 'jte'; did you mean 'jet'"),
        ({"profiles": [Profile("jet[0].pt", (1e6, 2e6))]}, "has no value from 1e.06 to 2e.06"),
        ({"categories": ["n_jet > 99"]}, "no event is in the category 'n_jet > 99'"),
        ({"categories": ["n_jet"]}, "'n_jet': "),
        ({"categories": ["n_jet > 0", "n_jet == 0"], "profiles": [Profile("tau[0].pt", (0.0, 1.0))]},
         "sample 'yy' has no collection 'tau'"),
        ({"categories": ["n_jet == 0"]}, r"'jet\[0\]\.pt' has no value from 5 to 1000"),
        ({"require": "n_jet > 99"}, "no event of yy is selected by 'n_jet > 99'"),
        ({"require": "taus > 1"}, "sample 'yy' has no observable 'taus'"),
        ({"profiles": []}, "at least one menu, one sample and one observable"),
        ({"samples": []}, "at least one menu, one sample and one observable"),
        ({"menus": []}, "at least one menu, one sample and one observable"),
        ({"profiles": [Profile("met", (1.0,))]}, "'met': expected at least two ascending bin edges"),
        ({"profiles": [Profile("met", (1.0, 1.0))]}, "'met': expected at least two ascending"),
        ({"categories": [f"n_jet > {i}" for i in range(MAX_CATEGORIES + 1)]}, "17 categories: at most 16"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_named(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    menu = write(tmp_path, "a", MENU + threshold("OFF", "jet[0].pt", 30, "enabled = false"))
    usual = {"menus": [menu], "catalogue": signal(toy_events(1, 60)), "samples": ["yy"], "profiles": [PT]}
    with pytest.raises(TrigemuError, match=message):
        efficiencies(**usual | asked)
