"""Intervals of efficiencies, and errors of gains: those of weights of both signs, of entries that are counted
in place of events, and of thresholds that budgets found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from menu_variants import write
from toys import memory_catalogue, menu_from, threshold, toy_events

from trigemu import Menu, Profile, efficiencies
from trigemu.base.arrays import BoolArray, FloatArray, Words
from trigemu.base.errors import TrigemuError
from trigemu.counting.patterns import Keys, count_patterns
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, Need
from trigemu.studies.intervals import Curve, Sums


def signed_curve(passes: BoolArray, weight: FloatArray, fraction: float = 1.0) -> Curve:
    """Of some toys with as many events each; each toy is a bin. fraction: of an event that passes."""
    toys, n = weight.shape
    words = np.stack([passes.ravel(), weight.ravel() < 0], axis=1).astype(np.uint64)
    table = count_patterns(0, words, weight.ravel(), Keys(bin=np.repeat(np.arange(toys), n)))
    accepted = table.words[:, 0] * fraction
    sums = Sums(table, Profile("x", tuple(range(toys + 1))))
    return sums.curve("toy", None, accepted, np.zeros(len(table)))


@pytest.mark.parametrize("negative", [0.05, 0.2])
def test_intervals_of_weights_of_both_signs_cover_two_thirds(negative: float) -> None:
    """And hold the value, which is outside of 0 to 1 in some toys."""
    rng = np.random.default_rng(3)
    outside, covered = [], []
    for truth in (0.02, 0.1, 0.5, 0.95):
        passes = rng.random((800, 200)) < truth
        signs = np.where(rng.random((800, 200)) < negative, -1.0, 1.0)
        curve = signed_curve(passes, signs * rng.lognormal(0, 0.3, (800, 200)))
        assert ((curve.low <= curve.value) & (curve.value <= curve.high)).all()
        outside.append(((curve.value < 0) | (curve.value > 1)).mean())
        covered.append(((curve.low <= truth) & (truth <= curve.high)).mean())
    assert outside[0] > 0
    assert 0.63 < min(covered) < max(covered) < 0.73


@pytest.mark.parametrize(
    ("weights", "value", "variance"),
    [
        ((1.0, -0.5, 2.0), 0.5 / 2.5, (0.8**2 * 1.25 + 0.2**2 * 4) / 2.5**2),
        ((3.0, 1.0, -1.0), 4 / 3, ((1 / 3) ** 2 * 10 + (4 / 3) ** 2) / 9),
        ((-1.0, 0.0, 2.0), -1.0, 4 * 1.0 + 1 * 4),
        ((1.0, -1.0, 2.0), 0.0, 2 / 4),
    ],
)
def test_an_interval_outside_of_0_to_1_is_one_standard_deviation(
    weights: tuple[float, ...], value: float, variance: float
) -> None:
    """The first two of three events pass."""
    curve = signed_curve(np.array([[True, True, False]]), np.array([weights]))
    assert curve.value[0] == pytest.approx(value)
    assert curve.low[0] == pytest.approx(value - math.sqrt(variance))
    assert curve.high[0] == pytest.approx(value + math.sqrt(variance))


@pytest.mark.parametrize("weights", [(-1.0, -1.0, -1.0), (-1.0, -3.0, -2.0)])
def test_negative_weights_alone_are_like_positive_ones(weights: tuple[float, ...]) -> None:
    passes = np.array([[True, True, False]])
    curve, other = signed_curve(passes, np.array([weights])), signed_curve(passes, -np.array([weights]))
    assert (curve.value, curve.low, curve.high) == (other.value, other.low, other.high)
    assert curve.gain_error == other.gain_error > 0


def test_weights_that_add_up_to_nothing_have_no_efficiency() -> None:
    curve = signed_curve(np.array([[True, False, False]]), np.array([[1.0, -3.0, 2.0]]))
    assert all(math.isnan(number[0]) for number in (curve.value, curve.low, curve.high, curve.gain))


def test_a_fraction_that_is_1_but_for_rounding_is_1() -> None:
    passes, weight = np.array([[True, True]]), np.array([[12.3, 130.5]])
    exact, rounded = (signed_curve(passes, weight, one) for one in (1.0, float(np.nextafter(1.0, 0.0))))
    assert (rounded.value, rounded.low, rounded.high) == (exact.value, exact.low, exact.high)
    assert 0.5 < exact.low[0] < 0.6


MUONS = ObjectSelection("muon")


@dataclass(frozen=True)
class Muons:
    above: float
    name: str = "one"
    base: str = "muon"

    def needs(self) -> Iterator[Need]:
        return MUONS.needs()

    def __call__(self, work: Workspace, words: Words) -> tuple[Events, Words]:
        event = np.repeat(np.arange(len(words)), np.diff(work.objects(MUONS).offsets))
        columns = {
            name: work.column(ObjectSelection("muon"), name)
            for name in work.events.collections["muon"].columns
        }
        entries = work.events[event]
        one = {**entries.collections, self.name: Collection(np.arange(len(event) + 1), columns)}
        words = words[event] & (columns["pt"] > self.above).astype(np.uint64)[:, np.newaxis]
        return replace(entries, collections=one), words


TRIGGER = threshold("M", "n_jet", 1)


def test_numbers_are_those_of_a_loop_over_muons(tmp_path: Path) -> None:
    """Weights, observables and conditions are those of the muon and of its event."""
    events = toy_events(5, 300)
    catalogue = memory_catalogue({"soft": toy_events(9, 30)}, signals={"yy": events})
    profile = Profile("one[0].eta", (-2.5, 0.0, 1.0, 2.5))
    result = efficiencies(
        menu_from(tmp_path, TRIGGER), catalogue, "yy", profile, "one[0].charge > 0", "n_muon >= 2", "M",
        entries=Muons(20.0),
    )  # fmt: skip
    turnon = result["one[0].eta"]
    for low, high, number, value in zip(
        profile.edges, profile.edges[1:], turnon.events, turnon["menu", "M"].value, strict=False
    ):
        muons = [
            (event["weight"], muon["pt"] > 20.0 and len(event["jet"]) > 1)
            for event in events
            if len(event["muon"]) >= 2
            for muon in event["muon"]
            if muon["charge"] > 0 and low <= muon["eta"] < high
        ]
        assert number == len(muons) > 0
        assert value == pytest.approx(sum(w for w, passes in muons if passes) / sum(w for w, _ in muons))


def test_what_entries_lack_is_named(tmp_path: Path) -> None:
    menu, catalogue = menu_from(tmp_path, TRIGGER), memory_catalogue({"soft": toy_events(9, 30)})
    with pytest.raises(TrigemuError, match="no one of soft is selected by 'n_muon > 90'"):
        efficiencies(
            menu, catalogue, "soft", Profile("met", (0.0, 9.0)), (), "n_muon > 90", entries=Muons(1.0)
        )
    with pytest.raises(TrigemuError, match=r"no column 'muon.isolated'"):
        efficiencies(menu, catalogue, "soft", Profile("one[0].isolated", (0.0, 9.0)), entries=Muons(1.0))


MET = threshold("MET", "met", None, "total_rate_hz = 100.0")
JET = threshold("JET", "jet[0].pt", None, "total_rate_hz = 150.0")
MUON = threshold("MUON", "muon[0].pt", 40)
PROFILE = Profile("met", (0.0, 20.0, 60.0, 1000.0))


@pytest.fixture
def background() -> list[dict[str, Any]]:
    return [event | {"weight": 1.0} for event in toy_events(5, 800)]


def measured(menus: list[Menu], catalogue: Any, **more: Any) -> dict[tuple[str, str | None], Curve]:
    found = efficiencies(menus, catalogue, "yy", PROFILE, **more)
    return {(curve.menu, curve.trigger): curve for curve in found.turnons[0].curves}


def gains(curve: Curve) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([*curve.gain, curve.overall.gain])


def by_hand(folder: Path, texts: list[str], menus: list[Menu], moved: dict[str, float]) -> list[Menu]:
    """The menus with the thresholds that were found, moved by some errors."""
    made = []
    for number, (text, menu) in enumerate(zip(texts, menus, strict=True)):
        for trigger in menu.triggers:
            if trigger.budget and trigger.solution:
                threshold = trigger.solution.threshold + moved.get(trigger.name, 0.0) * trigger.solution.error
                text = text.replace(f"{trigger.budget.key} = {trigger.budget.hz}", f"above = {threshold!r}")
        made.append(write(folder, f"{number}", text))
    return made


@pytest.mark.parametrize(
    ("texts", "apart"),
    [
        ([MUON, MUON + MET + JET], ["MET", "JET"]),
        ([MET, JET], ["MET", "JET"]),
        ([MET + MUON, MET.replace("total", "unique") + MUON], ["MET"]),
        ([MET.replace("total", "unique") + MUON, MET.replace("total", "unique") + JET], ["MET", "JET"]),
        ([MUON + MET + "prescale = 3\n", MUON + JET], ["MET", "JET"]),
    ],
)
def test_they_are_half_the_change_from_one_error_below_to_one_above(
    tmp_path: Path, background: list[dict[str, Any]], texts: list[str], apart: list[str]
) -> None:
    """Triggers with one score and one budget move together, all others are added in quadrature."""
    catalogue = memory_catalogue({"soft": background}, signals={"yy": toy_events(3, 400)})
    menus = [write(tmp_path, f"{i}", text) for i, text in enumerate(texts)]
    found = efficiencies(menus, catalogue, "yy", PROFILE, triggers=apart)
    asked = {"triggers": apart}
    there = measured(by_hand(tmp_path, texts, list(found.menus), {}), catalogue, **asked)
    total = {of: np.zeros(4) for of in there}
    separate = texts[1] == MET.replace("total", "unique") + MUON  # two budgets on one score
    for name in apart:
        for places in [(0,), (1,)] if separate else [(0, 1)]:
            ends = []
            for sign in (-1.0, 1.0):
                still = by_hand(tmp_path, texts, list(found.menus), {})
                here = by_hand(tmp_path, texts, list(found.menus), {name: sign})
                mixed = [here[i] if i in places else still[i] for i in (0, 1)]
                ends.append(measured(mixed, catalogue, **asked))
            for of, curve in ends[1].items():
                total[of] += ((gains(curve) - gains(ends[0][of])) / 2) ** 2
    assert any(shift.any() for shift in total.values())
    for curve in found.turnons[0].curves:
        of = curve.menu, curve.trigger
        threshold = [*curve.gain_threshold_error, curve.overall.gain_threshold_error]
        assert threshold == pytest.approx(np.sqrt(total[of]), rel=1e-9, abs=1e-12)
        events = [*there[of].gain_error, there[of].overall.gain_error]
        assert [*curve.gain_error, curve.overall.gain_error] == pytest.approx(np.hypot(events, threshold))
        assert curve.value.tolist() == pytest.approx(there[of].value.tolist())
        assert curve.low.tolist() == pytest.approx(there[of].low.tolist())


def test_a_menu_with_a_budget_gains_nothing_over_itself(
    tmp_path: Path, background: list[dict[str, Any]]
) -> None:
    catalogue = memory_catalogue({"soft": background}, signals={"yy": toy_events(3, 100)})
    for curve in measured([write(tmp_path, n, MET + JET) for n in "ab"], catalogue).values():
        assert (curve.overall.gain, curve.overall.gain_error) == (0.0, 0.0)


def test_they_are_the_spread_over_toys(tmp_path: Path) -> None:
    """Of fresh backgrounds with one signal, and the whole error that of fresh signals too."""
    rng = np.random.default_rng(7)
    empty = toy_events(1, 1)[0] | {"jet": [], "photon": [], "muon": [], "weight": 1.0}

    def events(mean: float, n: int) -> list[dict[str, Any]]:
        return [empty | {"met": float(met)} for met in rng.exponential(mean, n).astype(np.float32)]

    n, signal, of_samples = 3000, events(40.0, 6000), []
    menus = [write(tmp_path, "a", MUON), write(tmp_path, "b", MUON + MET.replace("100.0", "900.0"))]
    for _ in range(25):
        catalogue = memory_catalogue({"soft": events(20.0, n)}, signals={"yy": signal})
        whole = measured(menus, catalogue)["b", None].overall
        of_samples.append((whole.gain_threshold_error, whole.gain_error))
    fixed, fresh = [], []
    values = np.array([event["met"] for event in signal])
    for _ in range(2000):
        half = np.sort(rng.exponential(20.0, rng.poisson(n / 2)))[::-1]
        threshold = half[450 - 1]  # of 900 Hz, scaled from half of the sample to all of it
        fixed.append(np.mean(values > threshold))
        fresh.append(np.mean(rng.exponential(40.0, len(values)) > threshold))
    threshold, error = np.mean(of_samples, axis=0)
    assert threshold == pytest.approx(np.std(fixed), rel=0.1)
    assert error == pytest.approx(np.std(fresh), rel=0.1)
    assert threshold > 1.2 * math.sqrt(error**2 - threshold**2)  # neither part is small
