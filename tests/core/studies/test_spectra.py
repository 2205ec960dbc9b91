from __future__ import annotations

import math
from itertools import pairwise

import pytest
from toys import memory_catalogue, toy_events

from trigemu.base.mapping import Engine
from trigemu.studies.bins import Spectrum, sample_spectra

SAMPLES = {"a": toy_events(1, 300), "b": toy_events(2, 100)}


@pytest.fixture(scope="module")
def found() -> dict[str, Spectrum]:
    return {s.quantity.observable: s for s in sample_spectra(memory_catalogue(SAMPLES))}


def test_what_a_sample_lacks_is_left_out(found: dict[str, Spectrum]) -> None:
    assert "n_interaction" not in found
    assert "electron[0].pt" not in found
    assert {"jet[0].pt", "n_jet", "ht", "met", "weight"} <= set(found)


def test_spectra_equal_a_brute_force(found: dict[str, Spectrum]) -> None:
    values = {
        "jet[0].pt": lambda e: e["jet"][0]["pt"] if e["jet"] else math.nan,
        "n_photon": lambda e: len(e["photon"]),
        "ht": lambda e: sum(j["pt"] for j in e["jet"]),
        "met": lambda e: e["met"],
    }
    for name, value in values.items():
        edges = found[name].quantity.edges
        for sample, events in SAMPLES.items():
            for i, (low, high) in enumerate(pairwise(edges)):
                last = i == len(edges) - 2
                inside = [e["weight"] for e in events if low <= value(e) and (value(e) < high or last)]
                assert found[name].sum_w[sample][i] == pytest.approx(math.fsum(inside), rel=1e-9, abs=1e-9)
                squares = math.fsum(w * w for w in inside)
                assert found[name].variance[sample][i] == pytest.approx(squares, rel=1e-9, abs=1e-9)


def test_events_of_one_interaction_fluctuate_together() -> None:
    """The variance of a bin is that of the sums over its events of one parent."""
    events = [event | {"parent": number % 40} for number, event in enumerate(SAMPLES["a"])]
    catalogue = memory_catalogue({"a": events})
    found = {s.quantity.observable: s for s in sample_spectra(catalogue)}["n_photon"]
    for i in range(6):
        inside = [e for e in events if len(e["photon"]) == i or (i == 5 and len(e["photon"]) > 5)]
        sums = [math.fsum(e["weight"] for e in inside if e["parent"] == p) for p in range(40)]
        assert found.variance["a"][i] == pytest.approx(math.fsum(x * x for x in sums))
    alone = {s.quantity.observable: s for s in sample_spectra(catalogue.with_errors("events"))}["n_photon"]
    assert alone.variance["a"][0] < found.variance["a"][0]


def test_progress_counts_every_event() -> None:
    catalogue, done = memory_catalogue(SAMPLES), list[int]()
    sample_spectra(catalogue, executor=Engine(progress=done.append))
    assert sum(done) == sum(sample.entries for sample in catalogue.samples) > 0
