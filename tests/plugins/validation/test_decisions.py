"""What differs is what a loop over the events finds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from toys import Memory, menu_from, threshold, toy_events
from trigemu_validation import DecisionCheck, check_decisions
from trigemu_validation.decisions import SHOWN

from trigemu import Catalogue, TrigemuError
from trigemu.api import BoolArray, ReadEvents, Sample
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
legs = [{ object = "muon", pt = { min = 10.0 }, charge = { any_of = [1] } }]

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
Event = dict[str, Any]


def event(*pt: float) -> Event:
    """One with jets of these pT, and nothing else."""
    jets = [{"pt": value, "eta": 0.0, "phi": 0.0, "charge": 1} for value in pt]
    return {"weight": 1.0, "met": 0.0, "met_phi": 0.0, "jet": jets, "photon": [], "muon": []}


def fired(event: Event) -> dict[str, bool]:
    jets, muons = event["jet"], event["muon"]
    j20 = any(jet["pt"] > 20 for jet in jets)
    not_mu = not any(muon["pt"] >= 10 and muon["charge"] == 1 for muon in muons)
    return {"J20": j20, "NOT_MU": not_mu, "seeded": j20 and len(jets) > 1}


@dataclass
class Recorded(Memory):
    """Events in memory with recorded decisions: by name, the events with each."""

    decisions: Mapping[str, Collection[int]] = field(default_factory=dict)
    neighbours: str = "line"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stored = tuple(self.decisions)

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> Mapping[str, BoolArray]:
        return {name: np.array([i in self.decisions[name] for i in range(start, stop)]) for name in names}

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        read = super().read(start, stop, needs)
        wanted = {name for name, _ in needs} & {*read.collections}
        return replace(read, collections={name: read.collections[name] for name in wanted})


def recorded(events: Sequence[Event], flips: Sequence[tuple[int, str]] = (), name: str = "v") -> Recorded:
    """Events with the right decisions, but for the flipped ones (event, trigger)."""
    decisions = {
        DECISIONS[of]: {i for i, event in enumerate(events) if fired(event)[of] != ((i, of) in flips)}
        for of in DECISIONS
    }
    return Recorded(events, name, decisions=decisions | {"1": (), "2": (), "4": ()})


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
    assert set(collection.columns) == {"pt", "eta", "phi", "charge"}
    expected = sorted((muon["pt"], muon["charge"]) for muon in events[17]["muon"])
    output = zip(collection.columns["pt"].tolist(), collection.columns["charge"].tolist(), strict=True)
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


def test_what_cannot_be_checked_is_skipped_with_the_reason(tmp_path: Path) -> None:
    further = (
        threshold("unknown", "n_jet", 1.0)
        + '[[trigger]]\nname = "dice"\nstored = "1"\nkind = "random"\nrate_hz = 10.0\n'
        + '[[trigger]]\nname = "with_dice"\nstored = "1"\nkind = "logic"\nexpression = "dice and J20"\n'
        + threshold("open", "ht", None, 'stored = "2"\ntotal_rate_hz = 10.0')
        + threshold("lacking", "jet[0].btag + photon[0].pt", 1.0, 'stored = "2"')
    )
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
    file = recorded([event(20.5, 20.0), event(3.5), event(19.5)])
    result = check_decisions(
        menu_from(tmp_path, MENU + NEIGHBOUR), catalogue_of(file), executor=Engine(chunk_events=1)
    )
    (difference,) = result.triggers[-1].first
    assert (difference.entry, difference.emulated, difference.events.core) == (1, True, slice(1, 2))
    assert difference.events.collections["jet"].columns["pt"].tolist() == [20.5, 20.0, 3.5, 19.5]


@given(st.integers(1, 9), st.integers(1, 2), st.sampled_from([1, 4, 60]), st.booleans())
def test_crossings_at_the_ends_are_not_compared(
    tmp_path_factory: pytest.TempPathFactory, n: int, margin: int, chunk: int, stored: bool
) -> None:
    """As a loop counts them."""
    folder = tmp_path_factory.mktemp("ends")
    events = toy_events(n, n)
    file = Recorded(events, "v", decisions={"4": range(n) if stored else ()})
    menu = menu_from(folder, NEIGHBOUR.replace("-1", f"-{margin}"))
    catalogue, engine = catalogue_of(file), Engine(chunk_events=chunk)
    inside = range(margin, n - margin)
    if not inside:
        with pytest.raises(TrigemuError, match=f"crossings up to {margin} before and after"):
            check_decisions(menu, catalogue, executor=engine)
        return
    fires = [any(jet["pt"] >= 20 for jet in events[i - margin]["jet"]) for i in inside]
    result = check_decisions(menu, catalogue, executor=engine)
    (trigger,) = result.triggers
    assert (trigger.margin, trigger.not_compared) == (margin, n - len(inside))
    assert trigger.agree == fires.count(stored)
    assert trigger.differ == len(inside) - trigger.agree
    assert [d.entry for d in trigger.first] == [
        i for i, on in zip(inside, fires, strict=True) if on != stored
    ][:SHOWN]


def test_files_have_ends_each_and_orbits_none(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, NEIGHBOUR)
    files = [Recorded(toy_events(1, 5), name, decisions={"4": ()}) for name in ("a", "b")]
    (trigger,) = check_decisions(menu, catalogue_of(*files)).triggers
    assert (trigger.not_compared, trigger.agree + trigger.differ) == (4, 6)
    orbit = Recorded([event()] * 3564, "o", decisions={"4": ()}, neighbours="orbit")
    (trigger,) = check_decisions(menu, catalogue_of(orbit)).triggers
    assert (trigger.not_compared, trigger.agree) == (0, 3564)


def test_a_sample_without_neighbours_is_the_reason(tmp_path: Path) -> None:
    file = replace(recorded(toy_events(3, 3)), neighbours="none")
    result = check_decisions(menu_from(tmp_path, MENU + NEIGHBOUR), catalogue_of(file))
    assert "neighbouring crossings" in str(result.triggers[-1].skipped)
    assert set(counts(result)) == set(DECISIONS)


def test_a_menu_of_which_nothing_can_be_checked_is_refused(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, threshold("J", "n_jet", 1.0))
    with pytest.raises(
        TrigemuError, match=r"menu\.toml: no trigger can be checked; 'J': sample 'v' has no stored"
    ):
        check_decisions(menu, catalogue_of(recorded(toy_events(3, 5))))
