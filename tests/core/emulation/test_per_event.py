"""Of each event, the decisions of a menu and what it makes of it, against plain Python, and against the rates
of the same events."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from toy_menus import all_outcomes, any_of, as_toml, decide, menus
from toys import (
    combination,
    evaluation_half,
    is_evaluation,
    memory_catalogue,
    menu_from,
    threshold,
    toy_events,
)

from trigemu import TrigemuError, decisions, event_table, run

BUDGET = (
    threshold("J", "jet[0].pt", None, "total_rate_hz = 300.0")
    + threshold("M", "met", 20.0, 'prescale = 10\nunit = "GeV"')
    + combination("C", '{ object = "muon" }', "enabled = false")
)


@given(menus(), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_events_are_those_of_plain_python(triggers: list[dict[str, Any]], seed: int) -> None:
    """Of menus with seeds, logic, prescales, coherent sets and disabled triggers."""
    events = toy_events(seed, 30)
    samples = {"a": events[:12], "b": events[12:]}
    with tempfile.TemporaryDirectory() as folder:
        menu = menu_from(Path(folder), as_toml(triggers, 40e6))
    on = [t for t in triggers if t["enabled"]]
    catalogue = memory_catalogue(samples, signals={"s": events[5:20]})
    found, result = event_table(menu, catalogue).arrays(), run(menu, catalogue)
    fired = [decisions(menu, catalogue, sample=name) for name in samples]
    assert [list(part) for part in fired] == [[t["name"] for t in on]] * 2
    assert found["sample"].tolist() == [0] * 12 + [1] * 18
    assert found["weight"].tolist() == [event["weight"] for event in events]
    assert found["half"].tolist() == [int(is_evaluation(p)) for p in found["parent"].tolist()]
    counters = all_outcomes(events, triggers, 40e6)
    assert found["acceptance"] == pytest.approx([float(any_of(c, on)) for c in counters], rel=1e-12)
    raw = [decide(event, triggers)[1] for event in events]
    for t in triggers:  # also disabled ones
        for sample, part in (("a", raw[:12]), ("b", raw[12:]), ("s", raw[5:20])):
            assert result.fired(t["name"], sample=sample).tolist() == [one[t["name"]] for one in part]
    for t in on:
        name = t["name"]
        decided = [value for part in fired for value in part[name].tolist()]
        assert found[f"fired_{name}"].tolist() == decided == [one[name] for one in raw]
        expected = [float(any_of(c, [t])) for c in counters]
        assert found[f"acceptance_{name}"] == pytest.approx(expected, rel=1e-12)
    assert not any(f"fired_{t['name']}" in found for t in triggers if not t["enabled"])


def test_sums_are_the_rates_of_a_run(tmp_path: Path) -> None:
    """With a budget, whose trigger is judged on one half; the crossing rate of the menu is another."""
    menu = menu_from(tmp_path, "[menu]\ncrossing_rate_hz = 80e6\n" + BUDGET)
    events = toy_events(1, 400)
    catalogue = memory_catalogue({"a": events[:150], "b": events[150:]}, signals={"s": toy_events(2, 50)})
    table, rates = event_table(menu, catalogue), run(menu, catalogue)
    found = table.arrays()
    assert [column.name for column in table.columns] == [*found]
    for name, weight in (("J", "weight_unseen"), ("M", "weight")):
        total = math.fsum((found[weight] * found[f"acceptance_{name}"]).tolist())
        assert total == pytest.approx(rates[name].total.hz, rel=1e-15)
    without, accepted = found["unfitted_acceptance"], found["acceptance"]
    menu_rate = math.fsum(
        (found["weight"] * without + found["weight_unseen"] * (accepted - without)).tolist()
    )
    assert menu_rate == pytest.approx(rates.rate.hz, rel=1e-15)
    assert np.count_nonzero(found["weight"]) == 400
    assert np.count_nonzero(found["weight_unseen"]) == len(evaluation_half(events[:150])) + len(
        [n for n in range(250) if is_evaluation(int(found["parent"][150 + n]))]
    )
    threshold = rates.menu.trigger("J").description.threshold  # type: ignore[union-attr]
    np.testing.assert_array_equal(found["score_J"] > threshold, found["fired_J"])
    assert "score_C" not in found
    signal = event_table(menu, catalogue, samples=["s"]).arrays()
    assert signal["weight"].tolist() == [event["weight"] for event in toy_events(2, 50)]


def test_only_those_that_fire(tmp_path: Path) -> None:
    menu, catalogue = menu_from(tmp_path, BUDGET), memory_catalogue({"a": toy_events(4, 200)})
    everything = event_table(menu, catalogue).arrays()
    found = event_table(menu, catalogue, fired="M and not J")
    wanted = everything["fired_M"] & ~everything["fired_J"]
    assert 0 < wanted.sum() < 200
    for name, values in found.arrays().items():
        np.testing.assert_array_equal(values, everything[name][wanted])
    array = found.to_awkward()
    assert ak.fields(array) == [*everything]
    assert len(array) == wanted.sum()
    assert {c.name: c.unit for c in found.columns if c.unit} == {
        "weight": "Hz",
        "weight_unseen": "Hz",
        "score_M": "GeV",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fired": "M or K"}, "fired = 'M or K': .*menu.toml has no enabled trigger 'K'"),
        ({"fired": "C"}, "has no enabled trigger 'C'"),
        ({"fired": "M +"}, "M"),
        ({"samples": ["b"]}, "'b'"),
    ],
)
def test_mistakes(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    menu, catalogue = menu_from(tmp_path, BUDGET), memory_catalogue({"a": toy_events(4, 20)})
    with pytest.raises(TrigemuError, match=message):
        event_table(menu, catalogue, **given)
