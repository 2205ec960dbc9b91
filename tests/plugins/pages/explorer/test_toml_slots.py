"""Menu files in pieces: joined they are the file, and a changed value changes its trigger alone."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from project import ROOT
from toy_menus import as_toml, menus
from trigemu_pages.explorer.menu_data import Piece, pieces_of

from trigemu import Menu, TrigemuError, read_menu
from trigemu.api import ScoreKind
from trigemu.menus.prescales import at_column, at_crossing_rate, at_own_column, read_prescales
from trigemu.triggers.logic import Random


def read(text: str) -> Menu:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "menu.toml"
        file.write_bytes(text.encode())
        return replace(read_menu(file), path=Path("menu.toml"))


def joined(pieces: list[Piece], new: dict[tuple[str, str], str] | None = None) -> str:
    """The file with new values, by trigger and key, as the page writes it."""
    changed, text = new or {}, ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            continue
        value = changed.get((piece["trigger"], piece["key"]))
        if value is None:
            text += piece["before"] + piece["value"] if "value" in piece else ""
        elif piece["key"] == "budget":
            fitted = f'\nfitted_on = "{piece["fitted_on"]}"' if "fitted_on" in piece else ""
            text += f"above = {value}{fitted}{piece['after']}"
        else:
            text += piece["before"] + value + piece["after"]
    return text


def decides(menu: Menu) -> list[Any]:
    """All of its triggers but for their lines."""
    return [replace(trigger, place="") for trigger in menu.triggers]


@given(menus(), st.data())
def test_a_changed_value_changes_its_trigger_alone(
    triggers: list[dict[str, Any]], draw: st.DataObject
) -> None:
    text = _restyled(as_toml(triggers, 40e6), draw)
    menu = read(text)
    pieces = pieces_of(text, menu, "toy")
    assert joined(pieces) == text
    at = draw.draw(st.integers(0, len(menu.triggers) - 1))
    trigger = menu.triggers[at]
    expected = {
        "enabled": replace(trigger, enabled=not trigger.enabled),
        "prescale": replace(trigger, prescale=8.0),
    }
    values = {"enabled": str(not trigger.enabled).lower(), "prescale": "8.0"}
    if isinstance(trigger.description, Random):
        factor = trigger.description.own_prescale(40e6)
        expected["prescale"] = replace(trigger, prescale=8.0 * factor)
    if isinstance(trigger.description, ScoreKind):
        values["above"] = "12.25"
        expected["above"] = replace(trigger, description=trigger.description.at(12.25))
    key = draw.draw(st.sampled_from([*values]))
    if key == "enabled" and trigger.enabled and len(menu.enabled) == 1:
        return  # a menu needs a trigger
    result = read(joined(pieces, {(trigger.name, key): values[key]}))
    requested = [*menu.triggers]
    requested[at] = expected[key]
    assert decides(result) == decides(replace(menu, triggers=tuple(requested)))


def _restyled(text: str, draw: st.DataObject) -> str:
    """The same menu in other styles: comments, blanks, quoted keys, missing keys, line ends."""
    lines = []
    for line in text.splitlines():
        key, equals, value = line.partition(" = ")
        style = draw.draw(st.integers(0, 5))
        if key == "prescale" and value == "1.0" and style % 2:
            continue
        if key == "enabled" and value == "true" and style % 2:
            continue
        if not equals or style < 2:
            lines.append(line)
        elif style == 2:
            lines.append(f"  {key}={value} \t# {key} = 5, [[trigger]] above = 3")
        elif style == 3:
            lines += ["# above = 7", f'"{key}" =   {value}', ""]
        else:
            lines.append(f"{line}   ")
    end = draw.draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw.draw(st.sampled_from([end, ""]))


@pytest.mark.parametrize("name", ["full", "two-level", "alpha_t"])
def test_menus_that_come_with_trigemu(name: str) -> None:
    file = ROOT / "menus" / f"{name}.toml"
    text, menu = file.read_text(encoding="utf-8"), read_menu(file)
    pieces = pieces_of(text, menu, "embedded")
    assert joined(pieces) == text
    slots = [piece for piece in pieces if not isinstance(piece, str)]
    for trigger in menu.triggers:
        keys = [slot["key"] for slot in slots if slot["trigger"] == trigger.name]
        has_score = isinstance(trigger.description, ScoreKind)
        own = ("budget" if trigger.budget else "above",) if has_score else ()
        assert sorted(keys) == sorted(("prescale", "enabled", *own))


BUDGET = """# a budget
[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
unique_rate_hz = 1350.0    # of the menu
"""


def test_a_threshold_replaces_a_budget() -> None:
    pieces = pieces_of(BUDGET, read(BUDGET), "toy")
    text = joined(pieces, {("J", "budget"): "41.5"})
    assert text == BUDGET.replace("unique_rate_hz = 1350.0", 'above = 41.5\nfitted_on = "toy"')
    (trigger,) = read(text).triggers
    assert (trigger.budget, trigger.fitted_on) == (None, "toy")


COLUMNS = """
[menu]
prescale_columns = ["a", "b"]
column = "b"

[[trigger]]
name = "J"
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
prescale = 7
prescales = [2, 3]         # by luminosity

[[trigger]]
name = "M"
kind = "threshold"
observable = "met"
above = 20.0
prescales = [2, 0]
"""


def test_a_menu_at_a_column_has_its_prescales_alone() -> None:
    """A changed prescale would have no effect beside `prescales`."""
    menu = at_own_column(read(COLUMNS))
    pieces = pieces_of(COLUMNS, menu, "toy")
    alone = read(joined(pieces))
    assert alone.columns.names == ()
    assert [(t.prescale, t.enabled) for t in alone.triggers] == [(3.0, True), (1.0, False)]
    changed = read(joined(pieces, {("J", "prescale"): "5.0", ("M", "enabled"): "true"}))
    assert [(t.prescale, t.enabled) for t in changed.triggers] == [(5.0, True), (1.0, True)]


def test_a_menu_at_a_column_of_a_file_and_another_crossing_rate(tmp_path: Path) -> None:
    """Which the file of the menu does not have."""
    (tmp_path / "p.csv").write_text("name,x\nJ,2.5\nM,0\nR,4\n")
    text = COLUMNS + '\n[[trigger]]\nname = "R"\nkind = "random"\nrate_hz = 5\n'
    menu = at_column(read_prescales(at_crossing_rate(read(text), 30e6), tmp_path / "p.csv"), "x")
    alone = read(joined(pieces_of(text, menu, "toy")))
    assert (alone.crossing_rate_hz, alone.columns.names) == (30e6, ())
    assert [t.enabled for t in alone.triggers] == [True, False, True]
    assert [t.prescale for t in alone.triggers if t.enabled] == [2.5, 4 * 30e6 / 5]


APART = BUDGET + '\n[sums.ht]\nof = ["jet"]\n' + BUDGET.replace('"J"', '"K"')
INLINE = 'trigger = [{ name = "R", kind = "random", rate_hz = 5 }]\n'


@pytest.mark.parametrize("text", [APART, INLINE])
def test_tables_apart_from_each_other_and_inline_ones_are_refused(text: str) -> None:
    with pytest.raises(TrigemuError, match="write each as a table"):
        pieces_of(text, read(text), "toy")
