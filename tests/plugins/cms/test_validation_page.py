"""What docs/validation measures, against loops over events, and its data files."""

from __future__ import annotations

import importlib
import math
import tomllib
from types import ModuleType
from typing import Any

import awkward as ak
import numpy as np
import pytest
from project import ROOT
from toys import even_events

import trigemu
from trigemu.api import samples_of

FOLDER = ROOT / "docs" / "validation"


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("measure")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("page")


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text("utf-8"))


@pytest.fixture(scope="module")
def events() -> ak.Array:
    return ak.Array([{"muon": event["muon"], "weight": event["weight"]} for event in even_events(5, 300)])


def measured(measure: ModuleType, events: ak.Array, *quantities: Any) -> list[tuple[Any, Any]]:
    catalogue = samples_of(trigemu.events_from_awkward(events))
    (name,) = (sample.name for sample in catalogue.samples)
    return [one.sum([name]) for one in measure.measure(catalogue, quantities)]


def test_objects_within_eta_are_counted_in_bins(measure: ModuleType, events: ak.Array) -> None:
    edges = np.array([5.0, 15.0, 40.0])
    quantity = measure.Quantity("x", "x", "GeV", edges, *measure.objects("muon", "pt", (0.5, 2.0)))
    ((hz, error),) = measured(measure, events, quantity)
    for b, (low, high) in enumerate(((5.0, 15.0), (15.0, 40.0))):
        counts = [
            sum(
                low <= np.float32(muon.pt) < high and 0.5 <= abs(np.float32(muon.eta)) < 2.0
                for muon in event.muon
            )
            for event in events
        ]
        assert hz[b] == pytest.approx(sum(n * event.weight for n, event in zip(counts, events, strict=True)))
        squares = sum((n * event.weight) ** 2 for n, event in zip(counts, events, strict=True))
        assert error[b] == pytest.approx(math.sqrt(squares))


def test_rates_above_thresholds_and_of_the_larger_of_two(measure: ModuleType, events: ak.Array) -> None:
    edges = np.array([2.0, 20.0, 45.0])
    of = measure.observable("muon[1].pt", "abs(muon[0].eta)")
    ((hz, error),) = measured(measure, events, measure.Quantity("x", "x", "GeV", edges, *of, above=True))
    for b, threshold in enumerate(edges):
        remaining = [
            event.weight
            for event in events
            if max(
                [np.float32(muon.pt) for muon in event.muon[1:2]]
                + [abs(np.float32(muon.eta)) for muon in event.muon[:1]],
                default=0.0,
            )
            > threshold
        ]
        assert hz[b] == pytest.approx(sum(remaining))
        assert error[b] == pytest.approx(math.sqrt(sum(weight**2 for weight in remaining)))


def test_pairs_of_opposite_charge(measure: ModuleType, events: ak.Array) -> None:
    edges = np.array([10.0, 60.0])
    of = measure.pairs("muon", 5.0, 2.5)
    ((hz, _),) = measured(measure, events, measure.Quantity("x", "x", "GeV", edges, *of))
    expected = 0.0
    for event in events:
        remaining = [muon for muon in event.muon if muon.pt > 5 and abs(muon.eta) < 2.5]
        for i, a in enumerate(remaining):
            for b in remaining[i + 1 :]:
                if a.charge * b.charge > 0:
                    continue
                e = a.pt * math.cosh(a.eta) + b.pt * math.cosh(b.eta)
                x = a.pt * math.cos(a.phi) + b.pt * math.cos(b.phi)
                y = a.pt * math.sin(a.phi) + b.pt * math.sin(b.phi)
                z = a.pt * math.sinh(a.eta) + b.pt * math.sinh(b.eta)
                expected += event.weight * (10 <= math.sqrt(max(e * e - x * x - y * y - z * z, 0)) < 60)
    assert expected > 0
    assert hz[0] == pytest.approx(expected)


def test_events_of_one_interaction_are_summed_before_they_are_squared(measure: ModuleType) -> None:
    array = ak.Array(
        [{"met": 30.0, "weight": 2.0}, {"met": 35.0, "weight": 3.0}, {"met": 31.0, "weight": 5.0}]
    )
    parents = np.array([7, 7, 9])
    for sums in (measure._in_bins, measure._above):
        hz, variance = sums(parents, np.zeros(3, int), np.asarray(array.weight), 2)
        assert hz[0] == 10.0
        assert variance[0] == 5.0**2 + 5.0**2


def test_published_counts_are_scaled_linearly_in_luminosity(page: ModuleType) -> None:
    counts = {"crossings": 1000, "pileup": 40.0, "pileup_cross_section_mb": 80.0}
    level1 = page.Level1({**counts, "seeds": [{"name": "A", "fired": 25, "prescale": 4}]}, 40e6, 1e34)
    # 40 interactions of 80 mb are 5e26 /cm² a crossing, 2e34 /cm²/s at 40 MHz.
    assert level1.luminosity_cm2s == pytest.approx(2e34)
    assert level1.rate("A") == pytest.approx((0.1 * 40e6 / 2, 0.02 * 40e6 / 2))


def test_every_trigger_has_an_entry_and_every_number_a_source() -> None:
    published, names = read("published.toml"), read("published_triggers.toml")["trigger"]
    menu = trigemu.read_menu(ROOT / "menus" / "full.toml")
    assert [one["name"] for one in names] == [trigger.name for trigger in menu.triggers]
    seeds = {seed["name"] for seed in published["level1"]["seeds"]}
    emulated = {one["name"] for one in read("level1.toml")["trigger"]}
    assert seeds <= emulated
    for one in names:
        assert one.get("none_found") or one.get("seeds") or one.get("source")
        assert set(one.get("seeds", ())) <= seeds
        assert "rate_hz" not in one or one["source"]
    for one in (*published["differential"], *published["total"], published["level1"]):
        assert one["source"]
