"""Errors of gains from thresholds that budgets found, against thresholds written by hand, and toys."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from menu_variants import write
from toys import memory_catalogue, toy_events

from trigemu import Menu, Profile, efficiencies
from trigemu.studies.intervals import Curve

MET = '[[trigger]]\nname = "MET"\nkind = "threshold"\nobservable = "met"\ntotal_rate_hz = 100.0\n'
JET = MET.replace("MET", "JET").replace('"met"', '"jet[0].pt"').replace("100.0", "150.0")
MUON = '[[trigger]]\nname = "MUON"\nkind = "threshold"\nobservable = "muon[0].pt"\nabove = 40\n'
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
        ([MUON, MUON + MET], ["MET"]),
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
    for _ in range(60):
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
