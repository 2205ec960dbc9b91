"""Events, values that no reconstructed object has, and the hash that splits samples: stable for ever, since
models are fitted on one half."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from toys import columns, is_evaluation, toy_events
from trigemu_decade.training.regression import is_quarter

from trigemu import Collection, Events, TrigemuError, make_events
from trigemu.api import SampleError, collection_of
from trigemu.samples.events import native
from trigemu.samples.split import EVALUATION, HALF_NAMES, TRAINING, half_of


def make(**changes: Any) -> Events:
    read = columns(toy_events(1, 30))
    arguments = {"weight": read.weight, "collections": read.collections, "scalars": read.scalars}
    return make_events("toy", **(arguments | changes), first=1000)


def test_what_is_whole_is_taken() -> None:
    events = make()
    assert len(events) == 30
    assert events.id.tolist() == list(range(1000, 1030))
    assert set(events.collections) == {"jet", "photon", "muon"}


def test_a_range_that_ends_before_it_starts_is_empty() -> None:
    for empty in (make()[5:2], make()[30:], make()[40:50], make()[0:0]):
        assert len(empty) == 0
        assert [len(collection) for collection in empty.collections.values()] == [0, 0, 0]


@pytest.mark.parametrize("column", ["pt", "eta"])
def test_nan_in_a_column_names_the_event(column: str) -> None:
    read = columns(toy_events(1, 30))
    jets = read.collections["jet"]
    event = int(np.flatnonzero(np.diff(jets.offsets))[-1])
    values = jets.columns[column].copy()
    values[jets.offsets[event]] = np.nan
    broken = Collection(jets.offsets, dict(jets.columns) | {column: values})
    with pytest.raises(TrigemuError, match=rf"event {1000 + event}: jet\.{column} is not a number"):
        make(collections={"jet": broken})


def test_objects_descend_in_pt() -> None:
    offsets = np.array([0, 1, 3])
    jets = Collection(offsets, {"pt": np.array([50.0, 20.0, 30.0])})
    with pytest.raises(TrigemuError, match=r"event 1: jet\.pt objects are not in descending pT"):
        make_events("toy", np.ones(2), {"jet": jets})


def at(row: int, value: float) -> np.ndarray:
    """Ones for 30 events, but for one of them."""
    return np.where(np.arange(30) == row, value, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"weight": at(7, bad)}, "sample 'toy', event 1007: weight") for bad in (np.nan, np.inf, -np.inf)),
        ({"weight": at(3, 1e15)}, r"event 1003: the weight 1e\+15 Hz is above"),
        ({"scalars": {"met": at(11, np.nan)}}, "event 1011: met is not a number"),
        ({"weight": np.ones(29)}, "jet has 30 events, the weights have 29"),
        ({"scalars": {"met": np.ones(3)}}, "met has 3 events"),
        (
            {"weight": np.ones(1), "collections": {"jet": Collection(np.array([0, 5]), {"pt": np.ones(4)})}},
            r"jet\.pt has 4 objects, its events 5",
        ),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        make(**({"scalars": {}} | changes))


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (">f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("?", "i4"), ("u1", "i4"), ("i2", "i4"),
        ("u2", "i4"), ("i4", "i4"), ("u4", "i8"), ("i8", "i8"), (">i8", "i8"), (">u8", "u8"),
    ],
)  # fmt: skip
def test_columns_have_one_of_five_types(given: str, made: str) -> None:
    column = native(np.array([0, 1, 1], given))
    assert column.dtype == np.dtype(made)
    assert column.tolist() == [0, 1, 1]


def objects(events: Events, name: str, column: str) -> list[list[float]]:
    c = events.collections[name]
    return [c.columns[column][a:b].tolist() for a, b in pairwise(c.offsets)]


@pytest.mark.parametrize("rows", [[], [3], [29, 0, 7, 7], list(range(30)), list(range(29, -1, -1))])
@pytest.mark.parametrize("view", [slice(None), slice(10, 25)])
def test_taken_rows_are_what_they_were(rows: list[int], view: slice) -> None:
    """In the order asked for, also from a view, and all of them count."""
    whole = replace(make()[view], core=slice(2, 5))
    rows = [row for row in rows if row < len(whole)]
    taken = whole.take(np.array(rows, np.int64))
    assert taken.sample == whole.sample
    assert taken.core == slice(None)
    for name in ("weight", "id", "parent"):
        assert getattr(taken, name).tolist() == [getattr(whole, name)[row] for row in rows]
    assert taken.scalars["met"].tolist() == [whole.scalars["met"][row] for row in rows]
    for name, column in (("jet", "pt"), ("muon", "charge"), ("photon", "eta")):
        before = objects(whole, name, column)
        assert objects(taken, name, column) == [before[row] for row in rows]
        assert taken.collections[name].columns[column].dtype == whole.collections[name].columns[column].dtype
        assert taken.collections[name].offsets[0] == 0


def test_a_part_copies_what_is_asked_for() -> None:
    events, rows = make(), np.array([3, 9, 20])
    part, taken = events[rows], events.take(rows)
    assert set(part.collections) == set(events.collections)
    assert set(part.scalars) == set(events.scalars)
    jets = part.collections["jet"]
    assert part.collections["jet"] is jets
    assert jets.columns["pt"] is jets.columns["pt"]
    assert set(jets.columns) == set(events.collections["jet"].columns)
    assert objects(part, "jet", "pt") == objects(taken, "jet", "pt")
    assert part.scalars["met"].tolist() == taken.scalars["met"].tolist()
    assert isinstance(taken.collections["jet"].columns, dict)  # a copy keeps no hold of the others
    with pytest.raises(KeyError):
        part.collections["jetty"]


# ---- limits
IMPOSSIBLE = [
    ("jet", "pt", 0.0, "pt = 0 is impossible: expected finite and above 0"),
    ("tau", "pt", -3.0, "pt = -3 is impossible"),
    ("jet", "pt", np.inf, "pt = inf is impossible"),
    ("muon", "eta", 20.5, "eta = 20.5 is impossible: expected from -20 to 20"),
    ("photon", "eta", -np.inf, "eta = -inf is impossible"),
    ("electron", "phi", 6.4, "phi = 6.4 is impossible"),
    ("jet", "phi", np.nan, r"phi is not a number \(NaN\)"),
]


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize(("name", "column", "value", "message"), IMPOSSIBLE)
def test_values_that_no_object_has(name: str, column: str, value: float, message: str, kind: str) -> None:
    columns = {key: np.ones(3, kind) for key in ("pt", "eta", "phi", "charge")}
    columns[column][2] = value
    made = {name: Collection(np.array([0, 0, 2, 3]), columns)}
    with pytest.raises(SampleError, match=rf"sample 'a', event 12: {name}\.{message}"):
        make_events("a", np.ones(3), made, first=10, physical=True)
    other = {"genpart": made[name]}
    for collections, physical in ((made, False), (other, True)):
        if value == value and not (column == "pt" and value == np.inf):
            make_events("a", np.ones(3), collections, physical=physical)


@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_values_at_the_limits_are_possible(kind: str) -> None:
    columns = {"pt": [3e38, 1e-38], "eta": [-20, 20], "phi": [-6.28, 6.28]}
    arrays = {name: np.array([1, 1] if kind == "i4" else values, kind) for name, values in columns.items()}
    made = {"jet": Collection(np.array([0, 2]), arrays)}
    make_events("a", np.ones(1), made, {"met": np.zeros(1, kind)}, physical=True)


@pytest.mark.parametrize(("name", "value"), [("met", -1.0), ("met", np.inf), ("met_phi", 7.0)])
def test_missing_momenta_that_no_event_has(name: str, value: float) -> None:
    with pytest.raises(SampleError, match=rf"sample 'a', event 1: {name} "):
        make_events("a", np.ones(2), {}, {name: np.array([1.0, value])}, physical=True)


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [-1, 0, 2, 3], [0, 3, 3, 2]])
def test_offsets_that_fall(offsets: list[int]) -> None:
    with pytest.raises(SampleError, match=r"sample 'a', event \d: jet is damaged: its objects go from row"):
        make_events("a", np.ones(3), {"jet": Collection(np.array(offsets), {"pt": np.ones(3, "f4")})})
    with pytest.raises(SampleError, match="the numbers of objects of pt are damaged"):
        collection_of({"pt": (np.array(offsets), np.ones(3, "f4"))})


def test_offsets_beyond_the_data() -> None:
    with pytest.raises(SampleError, match="damaged"):
        collection_of({"pt": (np.array([0, 10**6]), np.ones(3, "f4"))})


PARENTS = st.lists(st.integers(0, 2**64 - 1), max_size=20)


@given(PARENTS)
def test_the_half_is_that_of_whole_numbers(parents: list[int]) -> None:
    halves = half_of(np.array(parents, np.uint64))
    assert halves.dtype == np.int64
    assert halves.tolist() == [EVALUATION if is_evaluation(p) else TRAINING for p in parents]


def test_published_values() -> None:
    """SplitMix64 from state 0 begins with E220A839…, 6E789E6A…, 06C45D18…, F88BB8A8…."""
    step = 0x9E3779B97F4A7C15
    states = np.array([i * step % 2**64 for i in range(4)], np.uint64)
    assert half_of(states).tolist() == [1, 0, 0, 1]
    assert is_quarter(states).tolist() == [False, False, True, False]
    assert HALF_NAMES[EVALUATION] == "evaluation"


@pytest.mark.parametrize(
    "parents", [np.arange(100_000), np.arange(100_000) * 2**20, 7 + np.arange(10**5) * 1024]
)
def test_halves_and_quarters_are_even_and_know_nothing_of_each_other(parents: np.ndarray) -> None:
    half, quarter = half_of(parents.astype(np.uint64)), is_quarter(parents.astype(np.uint64))
    assert half.mean() == pytest.approx(0.5, abs=0.008)
    for number in (TRAINING, EVALUATION):
        assert quarter[half == number].mean() == pytest.approx(0.25, abs=0.01)
    assert np.mean(half[1:] == half[:-1]) == pytest.approx(0.5, abs=0.008)
