"""What differs is what a loop over the events finds."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st
from toys import menu_from
from trigemu_validation import DecisionCheck, check_decisions
from trigemu_validation.decisions import SHOWN

from trigemu import Catalogue, Collection as Objects, TrigemuError
from trigemu.api import BoolArray, ReadEvents, Sample, Schema, Source
from trigemu.base.mapping import Engine
from trigemu.samples.events import Need
from trigemu.samples.sample import CatalogueTable, SampleTable

MENU = """
[[trigger]]
name = "J20"
stored = "3"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
prescale = 50

[[trigger]]
name = "MU"
enabled = false
kind = "combination"
legs = [{ object = "muon", pt = { min = 5.0 }, quality = { any_of = [12] } }]

[[trigger]]
name = "NOT_MU"
stored = "70"
kind = "logic"
expression = "not MU"

[[trigger]]
name = "seeded"
stored = "511"
kind = "threshold"
observable = "n_jet"
above = 1.0
seed = "J20"
"""
DECISIONS = {"J20": "3", "NOT_MU": "70", "seeded": "511"}

Event = tuple[list[int], list[tuple[int, int]]]


def toy_events(seed: int, n: int) -> list[Event]:
    """pT of jets, pT and quality of muons, in steps of 0.5 GeV."""
    rng = random.Random(seed)
    return [
        (
            sorted((rng.randrange(1, 80) for _ in range(rng.randrange(4))), reverse=True),
            sorted(
                ((rng.randrange(1, 30), rng.choice((4, 12))) for _ in range(rng.randrange(3))), reverse=True
            ),
        )
        for _ in range(n)
    ]


def fired(event: Event) -> dict[str, bool]:
    jets, muons = event
    j20 = any(pt > 40 for pt in jets)
    return {
        "J20": j20,
        "NOT_MU": not any(pt >= 10 and quality == 12 for pt, quality in muons),
        "seeded": j20 and len(jets) > 1,
    }


@dataclass
class Recorded(Source):
    """Events in memory with recorded decisions: by name, the events with each."""

    events: Sequence[Event] = ()
    decisions: Mapping[str, Collection[int]] | None = None
    neighbours: Literal["none", "line", "orbit"] = "line"

    @property
    def entries(self) -> int:
        return len(self.events)

    @property
    def schema(self) -> Schema:
        objects = frozenset({"pt", "eta", "phi"})
        return Schema({"jet": objects, "muon": objects | {"quality"}}, frozenset())

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(self.decisions or ())

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        assert self.decisions
        return {name: np.array([i in self.decisions[name] for i in range(start, stop)]) for name in names}

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        jets = [[(pt, 0) for pt in of] for of, _ in self.events[start:stop]]
        muons = [of for _, of in self.events[start:stop]]
        collections = {}
        requested = {name for name, _ in needs}
        for name, objects in (("jet", jets), ("muon", muons)):
            if name not in requested:
                continue
            offsets = np.cumsum([0, *map(len, objects)])
            pt, quality = (np.array([one[k] for event in objects for one in event], float) for k in range(2))
            columns = {
                "pt": (pt / 2).astype("f4"),
                "eta": 0 * pt,
                "phi": 0 * pt,
                "quality": quality.astype(int),
            }
            chosen = self.schema.collections[name]
            collections[name] = Objects(offsets, {c: columns[c] for c in columns if c in chosen})
        numbers = np.arange(start, stop, dtype=np.uint64)
        return ReadEvents(np.ones(stop - start), numbers, numbers, collections, {})


def recorded(events: Sequence[Event], flips: Sequence[tuple[int, str]] = (), name: str = "v") -> Recorded:
    """Events with the right decisions, but for the flipped ones (event, trigger)."""
    decisions = {
        DECISIONS[of]: {i for i, event in enumerate(events) if fired(event)[of] != ((i, of) in flips)}
        for of in DECISIONS
    }
    return Recorded(name, events, decisions | {"1": (), "2": (), "4": ()})


def catalogue_of(*files: Recorded) -> Catalogue:
    """A sample for each file, with its name."""
    tables = [SampleTable(name=f.path, role="background", files=(f.path,), rate_hz=1.0) for f in files]
    samples = [
        Sample(number, table, (file,), 1.0, float(file.entries))
        for number, (table, file) in enumerate(zip(tables, files, strict=True))
    ]
    return Catalogue(CatalogueTable(name="c", convention="crossing"), tuple(samples), Path("c.toml"), "")


def counts(result: DecisionCheck) -> dict[str, tuple[int, int, int]]:
    return {t.name: (t.agree, t.only_emulated, t.only_stored) for t in result.triggers if t.skipped is None}


def test_decisions_before_prescales_agree(tmp_path: Path) -> None:
    events = toy_events(1, 200)
    result = check_decisions(menu_from(tmp_path, MENU), catalogue_of(recorded(events)))
    assert (result.crossings, result.differ) == (200, 0)
    assert counts(result) == dict.fromkeys(DECISIONS, (200, 0, 0))
    assert {name for event in events for name, on in fired(event).items() if on} == set(DECISIONS)


@given(
    st.sets(st.tuples(st.integers(0, 59), st.sampled_from(sorted(DECISIONS)))),
    st.integers(0, 3),
    st.sampled_from([7, 60]),
)
def test_every_flipped_bit_is_a_difference(
    tmp_path_factory: pytest.TempPathFactory, flips: set[tuple[int, str]], seed: int, chunk: int
) -> None:
    folder = tmp_path_factory.mktemp("check")
    events = toy_events(seed, 60)
    catalogue = catalogue_of(recorded(events, sorted(flips)))
    result = check_decisions(menu_from(folder, MENU), catalogue, executor=Engine(chunk_events=chunk))
    for trigger in result.triggers:
        of = sorted(event for event, name in flips if name == trigger.name)
        emulated = sum(fired(events[event])[trigger.name] for event in of)
        expected = (60 - len(of), emulated, len(of) - emulated)
        assert (trigger.agree, trigger.only_emulated, trigger.only_stored) == expected
        assert [difference.entry for difference in trigger.first] == of[:SHOWN]
        for difference in trigger.first:
            assert difference.emulated == fired(events[difference.entry])[trigger.name]


def test_the_objects_of_a_difference_are_those_that_the_trigger_looks_at(tmp_path: Path) -> None:
    events = toy_events(5, 30)
    result = check_decisions(menu_from(tmp_path, MENU), catalogue_of(recorded(events, [(17, "NOT_MU")])))
    ((difference,),) = (trigger.first for trigger in result.triggers if trigger.first)
    assert (difference.sample, difference.path) == ("v", "v")
    (collection,) = difference.events.collections.values()
    assert set(collection.columns) == {"pt", "eta", "phi", "quality"}
    expected = sorted((pt / 2, quality) for pt, quality in events[17][1])
    output = zip(collection.columns["pt"].tolist(), collection.columns["quality"].tolist(), strict=True)
    assert sorted(output) == expected


def test_all_samples_of_a_catalogue_are_checked(tmp_path: Path) -> None:
    files = (
        recorded(toy_events(1, 40), [(3, "J20")], "a"),
        recorded(toy_events(2, 50), [(49, "J20"), (0, "seeded")], "b"),
    )
    result = check_decisions(
        menu_from(tmp_path, MENU), catalogue_of(*files), executor=Engine(chunk_events=16)
    )
    assert result.crossings == 90
    assert [trigger.differ for trigger in result.triggers] == [2, 0, 1]
    first = result.triggers[0].first
    assert [(difference.sample, difference.entry) for difference in first] == [("a", 3), ("b", 49)]


@pytest.mark.parametrize("inject", [1, 7, 360])
def test_injected_differences_are_all_found(tmp_path: Path, inject: int) -> None:
    catalogue, steps = catalogue_of(recorded(toy_events(3, 120))), list[int]()
    menu, engine = menu_from(tmp_path, MENU), Engine(chunk_events=50, progress=steps.append)
    result = check_decisions(menu, catalogue, inject=inject, executor=engine)
    assert sum(steps) == 120
    with pytest.raises(TrigemuError, match="361 decisions to flip: only 360 decisions are checked"):
        check_decisions(menu, catalogue, inject=361)
    assert (result.injected, result.found, result.differ) == (inject, inject, inject)
    again = check_decisions(menu, catalogue, inject=inject)
    assert counts(again) == counts(result)


def test_an_injection_into_a_difference_is_found_too(tmp_path: Path) -> None:
    events = toy_events(3, 10)
    flips = [(event, name) for event in range(10) for name in DECISIONS]
    result = check_decisions(menu_from(tmp_path, MENU), catalogue_of(recorded(events, flips)), inject=4)
    assert (result.found, result.differ) == (4, 26)


def test_what_cannot_be_checked_is_skipped_with_the_reason(tmp_path: Path) -> None:
    further = """
[[trigger]]
name = "unknown"
kind = "threshold"
observable = "n_jet"
above = 1.0

[[trigger]]
name = "dice"
stored = "1"
kind = "random"
rate_hz = 10.0

[[trigger]]
name = "with_dice"
stored = "1"
kind = "logic"
expression = "dice and J20"

[[trigger]]
name = "open"
stored = "2"
kind = "threshold"
observable = "ht"
total_rate_hz = 10.0

[[trigger]]
name = "lacking"
stored = "2"
kind = "threshold"
observable = "jet[0].btag + photon[0].pt"
above = 1.0
"""
    result = check_decisions(menu_from(tmp_path, MENU + further), catalogue_of(recorded(toy_events(3, 20))))
    reasons = {trigger.name: trigger.skipped for trigger in result.triggers if trigger.skipped}
    assert list(reasons) == ["unknown", "dice", "with_dice", "open", "lacking"]
    assert reasons["unknown"] == "sample 'v' has no stored decision 'unknown'"
    assert reasons["dice"] == reasons["with_dice"] == "it is random"
    assert reasons["open"] == "the threshold of 'open' is not known: run trigemu calibrate first"
    assert "column 'jet.btag'" in str(reasons["lacking"])
    assert set(counts(result)) == set(DECISIONS)


NEIGHBOUR = """
[[trigger]]
name = "J20_before"
stored = "4"
kind = "combination"
legs = [{ object = "jet", crossing = -1, pt = { min = 20.0 } }]
"""


def test_neighbouring_crossings_are_shown_too(tmp_path: Path) -> None:
    file = recorded([([41, 40], []), ([7], []), ([39], [])])
    result = check_decisions(
        menu_from(tmp_path, MENU + NEIGHBOUR), catalogue_of(file), executor=Engine(chunk_events=1)
    )
    (difference,) = result.triggers[-1].first
    assert (difference.entry, difference.emulated, difference.events.core) == (1, True, slice(1, 2))
    assert difference.events.collections["jet"].columns["pt"].tolist() == [20.5, 20.0, 3.5, 19.5]


@given(st.integers(1, 9), st.integers(1, 2), st.sampled_from([1, 4, 60]), st.booleans(), st.integers(0, 3))
def test_crossings_at_the_ends_are_not_compared(
    tmp_path_factory: pytest.TempPathFactory, n: int, margin: int, chunk: int, stored: bool, inject: int
) -> None:
    """As a loop counts them; a flip is never one of them, and always found."""
    folder = tmp_path_factory.mktemp("ends")
    events = toy_events(n, n)
    file = Recorded("v", events, {"4": range(n) if stored else ()})
    menu = menu_from(folder, NEIGHBOUR.replace("-1", f"-{margin}"))
    catalogue, engine = catalogue_of(file), Engine(chunk_events=chunk)
    inside = range(margin, n - margin)
    if not inside:
        with pytest.raises(TrigemuError, match=f"crossings up to {margin} before and after"):
            check_decisions(menu, catalogue, executor=engine)
        return
    fires = [any(pt >= 40 for pt in events[i - margin][0]) for i in inside]
    result = check_decisions(menu, catalogue, executor=engine)
    (trigger,) = result.triggers
    assert (trigger.margin, trigger.not_compared) == (margin, n - len(inside))
    assert trigger.agree == fires.count(stored)
    assert trigger.differ == len(inside) - trigger.agree
    assert [d.entry for d in trigger.first] == [
        i for i, on in zip(inside, fires, strict=True) if on != stored
    ][:SHOWN]
    if inject <= len(inside):
        again = check_decisions(menu, catalogue, inject=inject, executor=engine)
        assert (again.found, again.triggers[0].not_compared) == (inject, trigger.not_compared)


def test_files_have_ends_each_and_orbits_none(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, NEIGHBOUR)
    files = [Recorded(name, toy_events(1, 5), {"4": ()}) for name in ("a", "b")]
    (trigger,) = check_decisions(menu, catalogue_of(*files)).triggers
    assert (trigger.not_compared, trigger.agree + trigger.differ) == (4, 6)
    orbit = Recorded("o", [([], [])] * 3564, {"4": ()}, "orbit")
    (trigger,) = check_decisions(menu, catalogue_of(orbit)).triggers
    assert (trigger.not_compared, trigger.agree) == (0, 3564)


def test_a_sample_without_neighbours_is_the_reason(tmp_path: Path) -> None:
    file = replace(recorded(toy_events(3, 3)), neighbours="none")
    result = check_decisions(menu_from(tmp_path, MENU + NEIGHBOUR), catalogue_of(file))
    assert "neighbouring crossings" in str(result.triggers[-1].skipped)
    assert set(counts(result)) == set(DECISIONS)


def test_a_menu_of_which_nothing_can_be_checked_is_refused(tmp_path: Path) -> None:
    menu = menu_from(
        tmp_path, '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "n_jet"\nabove = 1.0\n'
    )
    with pytest.raises(
        TrigemuError, match=r"menu\.toml: no trigger can be checked; 'J': sample 'v' has no stored"
    ):
        check_decisions(menu, catalogue_of(recorded(toy_events(3, 5))))


THRESHOLDS = "".join(
    f"""
[[trigger]]
name = "J{pt}"
stored = "{number}"
kind = "threshold"
observable = "jet[0].pt"
above = {pt}
"""
    for number, pt in enumerate(range(10, 30, 4))
)


@pytest.mark.parametrize("chunk", [7, 200])
def test_a_file_that_numbers_its_bits_otherwise(tmp_path: Path, chunk: int) -> None:
    """The bits from 2 on are those of the trigger before; bit 1 is of nothing else."""
    events = toy_events(1, 200)
    bits = {
        str(number + (number > 0)): {i for i, (jets, _) in enumerate(events) if jets and jets[0] > 2 * pt}
        for number, pt in enumerate(range(10, 30, 4))
    }
    catalogue = catalogue_of(Recorded("v", events, bits | {"1": range(0, 200, 3)}))
    menu, engine = menu_from(tmp_path, THRESHOLDS), Engine(chunk_events=chunk)
    result = check_decisions(menu, catalogue, executor=engine)
    assert [trigger.equals for trigger in result.triggers] == [None, "2", "3", "4", "5"]
    assert [trigger.differ > 0 for trigger in result.triggers] == [False, True, True, True, True]
    matched = check_decisions(menu, catalogue, match_bits=True, executor=engine)
    assert [(trigger.agree, trigger.differ) for trigger in matched.triggers] == [(200, 0)] * 5
    assert [trigger.equals for trigger in matched.elsewhere] == ["2", "3", "4", "5"]
    injected = check_decisions(menu, catalogue, inject=3, executor=engine)
    assert (injected.found, injected.elsewhere) == (3, ())
    with pytest.raises(TrigemuError, match="without match_bits"):
        check_decisions(menu, catalogue, inject=3, match_bits=True)
