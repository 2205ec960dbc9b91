"""Ranges of any length are decided as all events at once, by the program or as arrays."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from stream_toys import CONDITION, NUMBER, OBJECTS, events_of
from toys import menu_from
from trigemu_latency import ARRAYS_FROM, Stream
from trigemu_latency.stream import stream as streams

from trigemu import Events, decide, make_plan
from trigemu.api import Compiled, Plan
from trigemu.emulation.plan import PlannedTrigger

EVENTS = events_of(5, ARRAYS_FROM + 200)
#: Combinations, one of which looks at the crossing before.
FURTHER = """
[[trigger]]
name = "PAIR"
kind = "combination"
legs = [{ object = "jet", pt = { min = 8.0 } }, { object = "muon", pt = { min = 5.0 } }]
pairs = [{ legs = [0, 1], dr = { min = 0.4 }, mass = { min = 10.0 } }]

[[trigger]]
name = "BEFORE"
kind = "combination"
legs = [{ object = "clean" }, { object = "muon", crossing = -1 }]
pairs = [{ legs = [0, 1], dphi = { max = 2.0 } }]
"""


@dataclass(frozen=True)
class Odd(Compiled):
    """A plugin's trigger without a form for single events."""

    threshold: float | None = None

    def evaluate(self, work: Any) -> Any:
        return work.events.id % np.uint64(2) == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("menus")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(NUMBER, CONDITION), min_size=1, max_size=3),
    st.lists(st.integers(0, len(EVENTS)), max_size=4),
    st.booleans(),
)
def test_ranges_of_any_length(
    folder: Path, observables: list[tuple[str, str]], at: list[int], odd: bool
) -> None:
    heads = (
        f'[[trigger]]\nname = "T{n}"\nkind = "threshold"\nobservable = "{observable}"\n'
        f'above = 1\nrequires = "{requires}"\n'
        for n, (observable, requires) in enumerate(observables)
    )
    menu = menu_from(folder, OBJECTS + "".join(heads) + FURTHER)
    plan = make_plan([menu])
    if odd:
        last = plan.slots[-1]
        plan = dataclasses.replace(plan, slots=(*plan.slots, PlannedTrigger(Odd(), last.trigger)))
    expected = decide(EVENTS, plan)
    stream = Stream(plan, EVENTS)
    bounds = [0, *sorted(at), len(EVENTS)]
    ranges = [stream.decide_many(a, b) for a, b in pairwise(bounds)]
    words = np.concatenate(ranges)
    np.testing.assert_array_equal(words, expected)


def plan_and_sizes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *others: Compiled
) -> tuple[Plan, list[tuple[int, int]]]:
    """A plan with some slots at its front, and a list of the (slots, events) that `decide` decides from now
    on."""
    plan = make_plan([menu_from(folder, OBJECTS + FURTHER)])
    front = tuple(PlannedTrigger(compiled, plan.slots[0].trigger) for compiled in others)
    sizes: list[tuple[int, int]] = []

    def counted(events: Events, plan: Plan) -> np.ndarray:
        sizes.append((len(plan.slots), len(events)))
        return decide(events, plan)

    monkeypatch.setattr(streams, "decide", counted)
    return dataclasses.replace(plan, slots=(*front, *plan.slots)), sizes


def test_many_events_are_decided_as_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the crossing before and after, where there is one."""
    plan, sizes = plan_and_sizes(tmp_path, monkeypatch)
    stream, expected = Stream(plan, EVENTS), decide(EVENTS, plan)
    for start, stop in ((0, 0), (7, 8), (3, ARRAYS_FROM + 2)):
        np.testing.assert_array_equal(stream.decide_many(start, stop), expected[start:stop])
    assert sizes == []
    for start in (0, 3):
        np.testing.assert_array_equal(
            stream.decide_many(start, start + ARRAYS_FROM), expected[start : start + ARRAYS_FROM]
        )
    assert sizes == [(2, ARRAYS_FROM + 1), (2, ARRAYS_FROM + 2)]
    with pytest.raises(IndexError, match=f"events 0 to {len(EVENTS) + 1} of {len(EVENTS)}"):
        stream.decide_many(0, len(EVENTS) + 1)


def test_slots_without_a_form_take_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, sizes = plan_and_sizes(tmp_path, monkeypatch, Odd())
    words = Stream(plan, EVENTS).decide_many(20, 90)
    np.testing.assert_array_equal(words, decide(EVENTS, plan)[20:90])
    assert sizes == [(1, 70)]
