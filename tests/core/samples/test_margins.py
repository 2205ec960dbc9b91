"""Neighbouring crossings of a range, against the same of a list."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import given, strategies as st
from toys import columns, memory_catalogue, toy_events

from trigemu import Events, make_events
from trigemu.samples.sample import join_events

EVENTS = toy_events(8, 30)


def read(start: int, stop: int) -> Events:
    read = columns(EVENTS[start:stop], start)
    return make_events("toy", read.weight, read.collections, read.scalars, id=read.id, first=start)


@given(
    st.sampled_from(["none", "line", "orbit"]),
    st.integers(1, 30),
    st.integers(0, 29),
    st.integers(1, 30),
    st.integers(0, 3),
)
def test_as_in_a_list(
    neighbours: Literal["none", "line", "orbit"], entries: int, start: int, length: int, margin: int
) -> None:
    start = min(start, entries - 1)
    stop = min(entries, start + length)
    (sample,) = memory_catalogue({"a": EVENTS[:entries]}).samples
    sample.sources[0].neighbours = neighbours  # type: ignore[misc]
    events = sample.read(0, start, stop, [("", "met")], margin)
    assert events.id[events.core].tolist() == list(range(start, stop))
    wanted = range(start - margin, stop + margin)
    expected = {
        "none": list(range(start, stop)),
        "line": [row for row in wanted if 0 <= row < entries],
        "orbit": [row % entries for row in wanted],
    }
    assert events.id.tolist() == expected[neighbours]


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 6)), min_size=1, max_size=4))
def test_joined_events_are_those_of_the_parts(ranges: list[tuple[int, int]]) -> None:
    """Of views too, whose objects begin in the middle of their columns."""
    whole = read(0, 30)
    parts = [whole[first : first + length] for first, length in ranges]
    rows = [row for first, length in ranges for row in range(first, min(30, first + length))]
    made = join_events(parts, slice(1, 2))
    assert made.core == slice(1, 2)
    expected = whole.take(np.array(rows, np.int64))
    for name in ("weight", "id", "parent"):
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
    np.testing.assert_array_equal(made.scalars["met"], expected.scalars["met"])
    for name, collection in expected.collections.items():
        found = made.collections[name]
        for row in range(len(rows)):
            mine = slice(*found.offsets[row : row + 2])
            theirs = slice(*collection.offsets[row : row + 2])
            for column in collection.columns:
                np.testing.assert_array_equal(found.columns[column][mine], collection.columns[column][theirs])
