from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
from project import ROOT
from toys import toy_events, write_root

from trigemu import run
from trigemu.api import Rate
from trigemu.rates.results import TriggerRates
from trigemu.results.notes import Note, legend, notes, notes_of_several

RATE = Rate(10.0, 1.0, 100, 100.0, None)
ZERO = Rate(0.0, 0.0, 0, 0.0, None, contained_in=("J10",))


def trigger(name: str, unique: Rate = RATE, total: Rate = RATE, kind: str = "threshold") -> TriggerRates:
    return TriggerRates(
        name, kind, None, None, 1.0, None, None, {"total": total, "unique": unique, "share": RATE}
    )


def test_only_signs_that_are_shown_are_explained() -> None:
    assert list(legend([trigger("A")])) == []
    (line,) = legend([trigger("A", unique=replace(ZERO, upper_limit_hz=3.0, contained_in=()))])
    assert line.startswith("<: ")
    level = SimpleNamespace(rate=replace(RATE, unseen=("w", "hard"), unseen_hz=5.0))
    (line,) = legend([trigger("A")], [SimpleNamespace(rate=RATE, levels=(level,))])  # type: ignore[list-item]
    assert line.startswith("*: a sample may be missing by chance")
    missing = replace(RATE, unseen=("w", "hard"), unseen_hz=5.0)
    (line,) = legend([trigger("A", unique=missing)])
    assert line.endswith(" Marked: A (up to 5 Hz of w or hard).")
    (line,) = legend([trigger("A", total=replace(RATE, effective_events=4.9))])
    assert line.startswith("?: N_eff below 5: ")
    (line,) = legend([trigger("A", total=replace(RATE, budgeted=True))])
    assert line.startswith("=: a rate budget")


def test_what_triggers_are_contained_in_is_named_once() -> None:
    both = [trigger("J20", ZERO), trigger("J20", ZERO), trigger("jets", ZERO, kind="group")]
    (line,) = legend(both)
    assert line.endswith(": J20 (J10), group jets (J10).")


def test_of_many_contained_triggers_some_are_named() -> None:
    (line,) = legend([trigger(f"T{i}", ZERO) for i in range(30)])
    assert line.endswith("T7 (J10) and 22 more.")


def test_a_trigger_of_two_menus_is_marked_once_by_the_larger() -> None:
    both = [trigger("A", unique=replace(RATE, unseen=("w",), unseen_hz=hz)) for hz in (5.0, 7.0)]
    (line,) = legend(both)
    assert line.endswith(" Marked: A (up to 7 Hz of w).")


def test_notes_of_several_say_which_they_mean() -> None:
    shared, rejections = Note("Sample 'toy'."), [Note(f"Rejection: {n}.", "rejection") for n in (1, 2)]
    listed = {"a": [shared, rejections[0]], "b": [shared, rejections[1]], "c": [shared, rejections[1]]}
    assert list(notes_of_several(listed)) == ["Sample 'toy'.", "a: Rejection: 1.", "b, c: Rejection: 2."]


MENU = ROOT / "menus" / "primary.toml"


def test_what_an_event_counts_as_is_said_of_files_and_arrays(tmp_path: Path) -> None:
    for n in range(2):
        write_root(tmp_path / f"{n}.root", toy_events(n, 20))
    array = ak.Array(toy_events(0, 20))

    def said(samples: Any) -> list[str]:
        rates = run(MENU, samples)
        return [note for note in notes(rates) if note.about == "weights"]

    of_all = "taken as crossings of equal weight that make up the crossing rate."
    one, both = "2 MHz", "1 MHz"
    assert said(tmp_path / "0.root") == [
        f"Each of the 20 events of 0.root counts as {one}: a file given as --samples is {of_all}"
    ]
    assert said([tmp_path / "0.root", tmp_path / "1.root"]) == [
        f"Each of the 40 events of 2 files counts as {both}: files without a catalogue are {of_all}"
    ]
    assert said(array[["jet", "photon"]]) == [
        f"Each of the 20 events counts as {one}: events without weights are {of_all}"
    ]
    assert said(array) == []
