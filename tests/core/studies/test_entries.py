"""Entries that are counted in place of events: here each muon, which passes if it is above a pT, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from toys import memory_catalogue, menu_from, toy_events

from trigemu.base.arrays import Words
from trigemu.base.errors import TrigemuError
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, Need
from trigemu.studies.efficiency import efficiencies
from trigemu.studies.intervals import Profile

MUONS = ObjectSelection("muon")


@dataclass(frozen=True)
class Muons:
    above: float
    name: str = "one"
    base: str = "muon"

    def needs(self) -> Iterator[Need]:
        return MUONS.needs()

    def __call__(self, work: Workspace, words: Words) -> tuple[Events, Words]:
        event = np.repeat(np.arange(len(words)), np.diff(work.objects(MUONS).offsets))
        columns = {
            name: work.column(ObjectSelection("muon"), name)
            for name in work.events.collections["muon"].columns
        }
        entries = work.events[event]
        one = {**entries.collections, self.name: Collection(np.arange(len(event) + 1), columns)}
        words = words[event] & (columns["pt"] > self.above).astype(np.uint64)[:, np.newaxis]
        return replace(entries, collections=one), words


TRIGGER = '[[trigger]]\nname = "M"\nkind = "threshold"\nobservable = "n_jet"\nabove = 1\n'


def test_numbers_are_those_of_a_loop_over_muons(tmp_path: Path) -> None:
    """Weights, observables and conditions are those of the muon and of its event."""
    events = toy_events(5, 300)
    catalogue = memory_catalogue({"soft": toy_events(9, 30)}, signals={"yy": events})
    profile = Profile("one[0].eta", (-2.5, 0.0, 1.0, 2.5))
    result = efficiencies(
        menu_from(tmp_path, TRIGGER), catalogue, "yy", profile, "one[0].charge > 0", "n_muon >= 2", "M",
        entries=Muons(20.0),
    )  # fmt: skip
    turnon = result["one[0].eta"]
    for low, high, number, value in zip(
        profile.edges, profile.edges[1:], turnon.events, turnon["menu", "M"].value, strict=False
    ):
        muons = [
            (event["weight"], muon["pt"] > 20.0 and len(event["jet"]) > 1)
            for event in events
            if len(event["muon"]) >= 2
            for muon in event["muon"]
            if muon["charge"] > 0 and low <= muon["eta"] < high
        ]
        assert number == len(muons) > 0
        assert value == pytest.approx(sum(w for w, passes in muons if passes) / sum(w for w, _ in muons))


def test_what_entries_lack_is_named(tmp_path: Path) -> None:
    menu, catalogue = menu_from(tmp_path, TRIGGER), memory_catalogue({"soft": toy_events(9, 30)})
    with pytest.raises(TrigemuError, match="no one of soft is selected by 'n_muon > 90'"):
        efficiencies(
            menu, catalogue, "soft", Profile("met", (0.0, 9.0)), (), "n_muon > 90", entries=Muons(1.0)
        )
    with pytest.raises(TrigemuError, match=r"no column 'muon.isolated'"):
        efficiencies(menu, catalogue, "soft", Profile("one[0].isolated", (0.0, 9.0)), entries=Muons(1.0))
