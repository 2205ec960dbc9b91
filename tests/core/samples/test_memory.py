from __future__ import annotations

import math
import pickle
from dataclasses import replace

import awkward as ak
import numpy as np
import pytest
from toys import toy_events

from trigemu import Collection, events_from_awkward, make_events
from trigemu.api import SampleError
from trigemu.samples import memory
from trigemu.samples.memory import samples_of


def test_weights_are_rates() -> None:
    events = toy_events(3, 50)
    catalogue = samples_of(events_from_awkward(ak.Array(events), sample="mine"))
    (sample,) = catalogue.samples
    assert (sample.name, catalogue.table.name, catalogue.table.convention) == ("mine", "mine", "crossing")
    assert sample.hz_per_weight == 1.0
    assert sample.rate_hz == math.fsum(event["weight"] for event in events)
    read = sample.read(0, 10, 20, [("jet", "eta"), ("", "met")])
    assert read.weight.tolist() == [event["weight"] for event in events[10:20]]
    assert set(read.collections["jet"].columns) == {"pt", "eta"}
    assert set(read.scalars) == {"met"}


def test_without_weights_all_crossings_are_made_up() -> None:
    (sample,) = samples_of(ak.Array(toy_events(3, 50))[["jet", "met"]]).samples
    assert not sample.weighted
    assert sample.rate_hz == 40e6
    assert math.fsum(sample.read(0, 0, 50, []).weight) == pytest.approx(40e6, rel=1e-12)


def test_pieces_are_whole_and_hold_their_own_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "CHUNK_EVENTS", 7)
    events = events_from_awkward(ak.Array(toy_events(4, 50)))
    (sample,) = samples_of(events).samples
    assert [source.entries for source in sample.sources] == [7] * 7 + [1]
    assert sample.sources[1].path == "events[7:14]"
    assert (
        sum(len(pickle.dumps(source)) for source in sample.sources) < 2 * len(pickle.dumps(events)) + 20_000
    )
    jets = events.collections["jet"]
    at = 0
    for number, source in enumerate(sample.sources):
        read = sample.read(number, 0, source.entries, [("jet", "pt")])
        start, stop = jets.offsets[at], jets.offsets[at + len(read)]
        np.testing.assert_array_equal(read.collections["jet"].columns["pt"], jets.columns["pt"][start:stop])
        np.testing.assert_array_equal(read.id, events.id[at : at + len(read)])
        assert len(pickle.loads(pickle.dumps(source)).events) == len(read)
        at += len(read)
    assert at == 50


def test_shared_parents_are_known() -> None:
    array = ak.Array(toy_events(6, 20))
    assert not samples_of(array).samples[0].has_parents
    assert samples_of(ak.with_field(array, np.arange(20) // 2, "parent")).samples[0].has_parents


def test_a_digest_knows_every_value() -> None:
    events = events_from_awkward(ak.Array(toy_events(6, 20)))
    digest = samples_of(events).samples[0].sources[0].identity
    assert digest == samples_of(events.to_awkward()).samples[0].sources[0].identity
    met = events.scalars["met"].copy()
    met[3] += 1
    changed = (
        replace(events, weight=events.weight * 2),
        replace(events, scalars={**events.scalars, "met": met}),
        replace(events, collections={**events.collections, "muon": events.collections["jet"]}),
        events[:19],
    )
    assert len({digest, *(samples_of(other).samples[0].sources[0].identity for other in changed)}) == 5


def test_neighbouring_crossings_are_left_out() -> None:
    events = events_from_awkward(ak.Array(toy_events(6, 20)))
    (sample,) = samples_of(events.around(5, 10, 2)).samples
    assert sample.entries == 5
    assert sample.read(0, 0, 5, []).id.tolist() == [5, 6, 7, 8, 9]
    assert not sample.has_neighbours


def test_integers_are_stored_decisions() -> None:
    events = make_events(
        "x", np.ones(3), {}, {"J30": np.array([True, False, True]), "met": np.ones(3), "n": np.arange(3)}
    )
    (source,) = samples_of(events).samples[0].sources
    assert set(source.stored) == {"J30", "n"}
    assert source.read_stored(1, 3, ["J30"])["J30"].tolist() == [False, True]


def test_what_adds_up_to_no_rate() -> None:
    empty = make_events("x", np.ones(0), {"jet": Collection(np.zeros(1, np.int64), {"pt": np.ones(0)})})
    with pytest.raises(SampleError, match="sample 'x' has no events"):
        samples_of(empty)
    for weight in (np.zeros(3), np.array([1.0, -2.0, 0.5])):
        with pytest.raises(SampleError, match=r"sample 'x': its weights add up to (0|-0\.5) Hz"):
            samples_of(make_events("x", weight, {}))
