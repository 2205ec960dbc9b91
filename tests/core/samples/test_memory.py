"""Events in memory: as awkward arrays, and as samples."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toys import COLLECTIONS, events_of, toy_events

from trigemu import Collection, Events, events_from_awkward, make_events
from trigemu.api import SampleError
from trigemu.samples import memory
from trigemu.samples.memory import samples_of

EVENTS = toy_events(5, 60)


def same(one: Events, other: Events) -> None:
    for name in ("weight", "id", "parent"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert set(one.scalars) == set(other.scalars)
    assert set(one.collections) == set(other.collections)
    for name, column in one.scalars.items():
        assert column.dtype == other.scalars[name].dtype
        np.testing.assert_array_equal(column, other.scalars[name])
    for name, collection in one.collections.items():
        theirs = other.collections[name]
        start, begin = collection.offsets[0], theirs.offsets[0]
        np.testing.assert_array_equal(collection.offsets - start, theirs.offsets - begin)
        assert set(collection.columns) == set(theirs.columns)
        for column, values in collection.columns.items():
            assert values.dtype == theirs.columns[column].dtype
            ours = values[start : collection.offsets[-1]]
            np.testing.assert_array_equal(ours, theirs.columns[column][begin : theirs.offsets[-1]])


def test_the_view_holds_what_the_events_are() -> None:
    array = events_of(EVENTS).to_awkward()
    assert array.fields == ["weight", "id", "parent", "met", "met_phi", *sorted(COLLECTIONS)]
    assert array.jet.fields == ["pt", "eta", "phi", "charge"]
    lists = array[["weight", "met", "met_phi", *COLLECTIONS]].to_list()
    assert lists == EVENTS
    assert array.id.to_list() == array.parent.to_list() == list(range(60))


@given(st.integers(0, 59), st.integers(0, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_both_ways_give_the_same_events(start: int, stop: int, seed: int) -> None:
    """Of slices, whose offsets do not begin at 0, and of events that were taken out of order."""
    whole = events_of(EVENTS)
    rows = np.random.default_rng(seed).permutation(60)[: stop // 2]
    for events in (whole[start:stop], whole.take(rows), whole[rows]):
        same(events_from_awkward(events.to_awkward()), events)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=25)
def test_an_array_made_from_records_is_the_events(seed: int, n: int) -> None:
    """Cut, masked and reordered as in a notebook: whatever layout awkward makes of it."""
    events = toy_events(seed, n)
    array = ak.Array(events)
    rng = np.random.default_rng(seed)
    chosen, order = rng.random(n) < 0.7, rng.permutation(n)
    picked = [event for event, keep in zip(events, chosen, strict=True) if keep]
    mixed = {name: array[name][order] for name in array.fields}
    for made, expected in (
        (array[chosen], picked),
        (array[order], [events[i] for i in order]),
        (ak.Array(mixed), [events[i] for i in order]),
        (ak.mask(array, chosen)[chosen], picked),
        (ak.to_packed(array), events),
    ):
        found = events_from_awkward(made).to_awkward()
        assert found[["weight", "met", "met_phi", *COLLECTIONS]].to_list() == expected


def test_flat_columns_are_collections_too() -> None:
    array = ak.Array(EVENTS)
    flat = {
        f"{name.title()}_{c}": array[name][c] for name in COLLECTIONS for c in ("pt", "eta", "phi", "charge")
    }
    flat |= {"MET_pt": array.met, "MET_phi": array.met_phi, "weight": array.weight, "nInteraction": array.met}
    found = events_from_awkward(ak.Array(flat))
    assert set(found.scalars) == {"met", "met_phi", "n_interaction"}
    nested = events_from_awkward(array)
    for name in COLLECTIONS:
        for column, values in nested.collections[name].columns.items():
            np.testing.assert_array_equal(found.collections[name].columns[column], values)
    record = ak.zip({"MET": ak.zip({"pt": array.met, "phi": array.met_phi})}, depth_limit=1)
    assert set(events_from_awkward(record).scalars) == {"met", "met_phi"}


def test_objects_come_in_descending_pt() -> None:
    array = ak.Array(EVENTS)
    upside_down = ak.with_field(array, array.jet[:, ::-1], "jet")
    same(events_from_awkward(upside_down), events_from_awkward(array))


def test_events_without_weights_make_up_the_crossing_rate() -> None:
    events = events_from_awkward(ak.Array(EVENTS)[["jet"]], sample="mine")
    assert math.fsum(events.weight) == pytest.approx(40e6, rel=1e-12)
    assert len(set(events.weight.tolist())) == 1
    assert events.sample == "mine"
    assert events.parent.tolist() == list(range(60))


def test_a_parent_is_the_event_unless_it_is_given() -> None:
    array = ak.Array({"met": [1.0, 2.0], "event": [7, 8]})
    events = events_from_awkward(array)
    assert events.id.tolist() == events.parent.tolist() == [7, 8]
    assert events_from_awkward(ak.with_field(array, [3, 3], "parent")).parent.tolist() == [3, 3]


def test_a_collection_that_no_event_has_is_known() -> None:
    events = events_from_awkward(ak.Array([{"jet": []}, {"jet": []}]))
    columns = events.collections["jet"].columns
    assert {name: len(column) for name, column in columns.items()} == dict.fromkeys(("pt", "eta", "phi"), 0)
    assert events.collections["jet"].offsets.tolist() == [0, 0, 0]
    assert len(events_from_awkward(ak.Array(EVENTS)[:0])) == 0


def jets(**changed: Any) -> ak.Array:
    """Three events of one jet; in the last, some values are others."""
    good = {"pt": 30.0, "eta": 0.1, "phi": 0.2}
    return ak.Array([{"met": 1.0, "jet": [good]}] * 2 + [{"met": 1.0, "jet": [good | changed]}])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (jets(pt=None), "event 2: jet.pt is missing (None)"),
        (jets(eta=math.nan), "event 2: jet.eta is not a number (NaN)"),
        (jets(pt=-3.0), "event 2: jet.pt = -3 is impossible"),
        (jets(eta="far"), "jet.eta is of type union[float64, string]: expected numbers"),
        (ak.Array([{"jet": [{"pt": "high"}]}]), "jet.pt is of type string: expected numbers"),
        (ak.Array([{"met": 1.0}, {"met": None}]), "event 1: met is missing (None)"),
        (ak.Array([{"met": 1.0}, {"met": math.nan}]), "event 1: met is not a number (NaN)"),
        (
            ak.Array([{"met": 1.0, "weight": 1.0}, {"met": 1.0, "weight": math.inf}]),
            "event 1: weight is infinite",
        ),
        (ak.Array([{"jet": [{"pt": 3.0}]}, {"jet": None}]), "event 1: jet is missing (None)"),
        (ak.Array([{"jet": [{"pt": 3.0}]}, {"jet": [None]}]), "event 1: jet is missing (None)"),
        (ak.Array([{"met": 1.0}, None]), "event 1: the array is missing (None)"),
        (ak.Array([{"run": "a"}]), "run is of type string: expected numbers"),
        (ak.Array([{"met": 1 + 2j}]), "met is of type complex128"),
        (ak.Array([{"jet": [[{"pt": 1.0}]]}]), "jet is of type var * {pt: float64}"),
        (ak.Array([{"jet": [1.0]}]), "jet is a list of numbers: expected a name such as Jet_pt"),
        (ak.Array({"jet": np.ones((3, 2))}), "jet is a list of numbers"),
        (
            ak.Array([{"Jet_pt": [1.0], "jet": [{"pt": 1.0}]}]),
            "jet.pt is given twice, as 'Jet_pt' and as 'jet.pt'",
        ),
        (
            ak.Array([{"Jet_pt": [1.0], "Jet_eta": [1.0]}, {"Jet_pt": [2.0, 1.0], "Jet_eta": [1.0]}]),
            "event 1: jet.pt has 2 objects, jet.eta 1",
        ),
        (ak.Array([{"met": 1.0, "id": 1.5}]), "id is of type float64: expected integers"),
        (ak.Array([1, 2]), "the array is of type 2 * int64: expected records"),
        (ak.Array([(1, 2)]), "expected records"),
        (ak.Array([[{"pt": 1.0}]]), "expected records"),
        (ak.Array([]), "the array is of type 0 * unknown: expected records"),
    ],
)
def test_a_mistake_names_field_and_event(array: ak.Array, words: str) -> None:
    with pytest.raises(SampleError) as caught:
        events_from_awkward(array, sample="mine")
    assert str(caught.value).startswith("sample 'mine'")
    assert words in str(caught.value)


def test_a_name_for_two_things_has_no_view() -> None:
    events = make_events(
        "toy", np.ones(1), {"jet": Collection(np.array([0, 1]), {"pt": np.ones(1)})}, {"jet": np.ones(1)}
    )
    with pytest.raises(SampleError, match="'jet' is the name of a collection and a scalar"):
        events.to_awkward()


def test_columns_that_cannot_be_written_are_copied() -> None:
    """Kernels would be compiled again for them."""
    pt = np.array([5.0, 4.0])
    pt.flags.writeable = False
    events = events_from_awkward(ak.Array({"met": pt}))
    assert events.scalars["met"].flags.writeable


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
