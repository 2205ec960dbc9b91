"""Decisions by name, against plain Python event by event."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from project import ROOT
from toy_menus import as_toml, decide, menus
from toys import (
    evaluation_half,
    is_evaluation,
    memory_catalogue,
    menu_from,
    toy_events,
    write_root,
)

from trigemu import (
    TrigemuError,
    decisions,
    events_from_awkward,
    make_plan,
    run,
    solve_budgets,
)
from trigemu.api import SampleError

MENUS = ROOT / "menus"
BUDGET = """
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
total_rate_hz = 300.0
group = "jets"

[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 20.0
prescale = 10
seed = "T"

[[trigger]]
name = "T"
kind = "threshold"
observable = "n_jet"
above = 1.5
prescale = 3
"""


@given(menus(), st.integers(0, 2**32 - 1))
@settings(max_examples=12)
def test_decisions_are_those_of_plain_python(triggers: list[dict[str, Any]], seed: int) -> None:
    """Of menus with seeds, logic, prescales, coherent sets and disabled triggers."""
    events = toy_events(seed, 30)
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6))
    found = decisions(menu, ak.Array(events))
    assert list(found) == [t["name"] for t in triggers if t["enabled"]]
    truth = [decide(event, triggers)[1] for event in events]
    for name, fired in found.items():
        assert fired.dtype == np.bool_
        assert fired.tolist() == [raw[name] for raw in truth]
    catalogue = memory_catalogue({"a": events[:10], "b": events[10:]}, signals={"s": events[5:20]})
    result = run(menu, catalogue)
    for t in triggers:  # also disabled ones
        for sample, part in (("a", truth[:10]), ("b", truth[10:]), ("s", truth[5:20])):
            assert result.fired(t["name"], sample=sample).tolist() == [raw[t["name"]] for raw in part]


def test_budgets_are_those_of_the_run(tmp_path: Path) -> None:
    menu = menu_from(tmp_path, BUDGET)
    events = toy_events(1, 300)
    result = run(menu, memory_catalogue({"a": events}))
    threshold = result.menu.trigger("J").description.threshold  # type: ignore[union-attr]
    truth = [bool(e["jet"]) and e["jet"][0]["pt"] > threshold for e in events]
    assert result.fired("J").tolist() == truth
    met = [e["met"] > 20 and len(e["jet"]) > 1 for e in events]
    assert result.fired("M").tolist() == met
    half = [fires for i, fires in enumerate(truth) if is_evaluation(i)]
    assert result.half is not None
    assert sum(half) == result.triggers[0].total.events
    assert len(half) == len(evaluation_half(events))
    again = decisions(result.menu, ak.Array(events))
    assert [again[name].tolist() for name in ("J", "M")] == [truth, met]
    (solved,) = solve_budgets(menu, memory_catalogue({"a": events}))
    assert decisions(solved, ak.Array(events))["J"].tolist() == truth
    words = r"menu\.toml:2: trigger 'J': its threshold follows from total_rate_hz = 300"
    with pytest.raises(TrigemuError, match=words):
        decisions(menu, ak.Array(events))


def test_events_arrays_and_files_give_the_same(tmp_path: Path) -> None:
    events = toy_events(8, 60)
    for n in range(2):
        write_root(tmp_path / f"{n}.root", events[30 * n : 30 * n + 30])
    menu = menu_from(tmp_path, BUDGET.replace("total_rate_hz = 300.0", "above = 30.0"))
    array = ak.Array(events)
    expected = {name: fired.tolist() for name, fired in decisions(menu, array).items()}
    assert any(expected["M"])
    files = [tmp_path / "0.root", tmp_path / "1.root"]
    for samples in (
        events_from_awkward(array),
        files,
        str(tmp_path / "*.root"),
        memory_catalogue({"a": events}),
    ):
        found = decisions(tmp_path / "menu.toml", samples)
        assert {name: fired.tolist() for name, fired in found.items()} == expected
    assert decisions(menu, tmp_path / "1.root")["J"].tolist() == expected["J"][30:]
    result = run(menu, files)
    assert result.fired("M").tolist() == result.fired("M", sample="0").tolist() == expected["M"]


def test_weights_do_not_matter() -> None:
    array = ak.Array(toy_events(8, 60))
    weightless = ak.with_field(array, np.zeros(60), "weight")
    for made in (weightless, array[["jet", "photon", "met"]]):
        found = decisions(MENUS / "primary.toml", made)
        expected = decisions(MENUS / "primary.toml", array)
        assert all((found[name] == fired).all() for name, fired in expected.items())


def test_no_events_have_no_decisions() -> None:
    found = decisions(MENUS / "primary.toml", ak.Array(toy_events(8, 5))[:0])
    assert {name: fired.shape for name, fired in found.items()} == {"J100": (0,), "G30": (0,)}


def test_long_arrays_are_decided_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    array = ak.Array(toy_events(8, 60))
    whole = decisions(MENUS / "primary.toml", array)
    monkeypatch.setattr("trigemu.emulation.loop.CHUNK_EVENTS", 7)
    for name, fired in decisions(MENUS / "primary.toml", array).items():
        np.testing.assert_array_equal(fired, whole[name])


def test_which_sample_has_to_be_said() -> None:
    result = run(MENUS / "primary.toml", memory_catalogue({"a": toy_events(1, 5), "b": toy_events(2, 9)}))
    assert len(result.fired("J100", sample="b")) == 9
    with pytest.raises(SampleError, match=r"several samples: name one as sample=… \('a', 'b'\)"):
        result.fired("J100")
    with pytest.raises(SampleError, match="unknown sample 'c'"):
        result.fired("J100", sample="c")
    assert len(decisions(MENUS / "primary.toml", result.catalogue, sample="a")["G30"]) == 5


def test_which_trigger_is_known() -> None:
    result = run(MENUS / "primary.toml", memory_catalogue({"a": toy_events(1, 5)}))
    with pytest.raises(TrigemuError, match="unknown trigger 'J10'; did you mean 'J100'"):
        result.fired("J10")
    with pytest.raises(TrigemuError, match="'jets' is a group: name one of its triggers, J100"):
        result.fired("jets")


def test_a_missing_column_names_the_trigger() -> None:
    with pytest.raises(SampleError, match=r"full\.toml:\d+: trigger '.*': sample 'events' has no"):
        decisions(MENUS / "full.toml", ak.Array(toy_events(1, 50)))


def test_neighbouring_crossings(tmp_path: Path) -> None:
    text = """
[[trigger]]
name = "before"
kind = "combination"
legs = [{ object = "jet" }, { object = "jet", crossing = -1 }]
"""
    menu = menu_from(tmp_path, text)
    events = toy_events(5, 40)
    made = events_from_awkward(ak.Array(events))
    (compiled,) = make_plan(menu).slots
    assert compiled.compiled.margin == 1
    found = decisions(menu, made.around(10, 30, 1))["before"]
    assert found.tolist() == [bool(events[i]["jet"] and events[i - 1]["jet"]) for i in range(10, 30)]
    with pytest.raises(SampleError, match="it reads neighbouring crossings"):
        decisions(menu, made)
