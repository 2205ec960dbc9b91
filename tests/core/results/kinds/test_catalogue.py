"""The samples of a catalogue, printed."""

from __future__ import annotations

from dataclasses import replace

from toys import memory_catalogue, toy_events

from trigemu.samples.catalogue import LeftOut


def test_a_sample_without_a_rate_has_none() -> None:
    catalogue = memory_catalogue({"a": toy_events(1, 20)}, signals={"s": toy_events(2, 5)})
    rows = catalogue.to_dict()["samples"]
    assert [(r["name"], r["role"], r["events"]) for r in rows] == [
        ("a", "background", 20),
        ("s", "signal", 5),
    ]
    assert rows[0]["rate_hz"] == catalogue["a"].rate_hz
    assert rows[1]["rate_hz"] is None
    assert [line.split()[:5] for line in str(catalogue).splitlines()[2:]] == [
        ["a", "background", "nanoaod", "1", "20"], ["s", "signal", "nanoaod", "1", "5"]
    ]  # fmt: skip


def test_files_that_are_left_out_are_told() -> None:
    catalogue = memory_catalogue({"a": toy_events(1, 20)})
    lacking = replace(catalogue, left_out=(LeftOut("a", "b.root", "is damaged", 5),))
    assert "Warning: 1 of 2 files cannot be read and are left out, about 20 %" in str(lacking)
    document = lacking.to_dict()["left_out"]
    assert document["share_of_events"] == 0.2
    assert document["files"][0]["file"] == "b.root"
