"""The views of the page, in a real browser."""

from __future__ import annotations

import time
from pathlib import Path

import chromium
import pytest
from explorer_page import MENU, cell, click, labelled, opened, typed
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages import make_explorer

import trigemu
from trigemu import Menu
from trigemu.results import notes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not chromium.PROGRAM, reason="chromium is not installed (Debian: chromium)"),
]


@pytest.mark.parametrize("by", ["events", "change", "keys", "keys of the field"])
def test_changes_are_shown_without_a_pointer(tab: chromium.Page, file: Path, by: str) -> None:
    """Whoever moves a slider by a script or by keys sees all numbers change, while nobody waits for them."""
    opened(tab, file)
    field = labelled("threshold of J in GeV" if by == "keys of the field" else "threshold of J")
    if by.startswith("keys"):
        tab.value(f"{field}.focus()")
        for _ in range(3):
            tab.key("ArrowUp")
    else:
        fired = ["input", "change"] if by == "events" else ["change"]
        events = "".join(f"field.dispatchEvent(new Event({name!r}, {{ bubbles: true }}));" for name in fired)
        tab.value(f"(() => {{ const field = {field}; field.value = Number(field.value) + 3; {events} }})()")

    def shown() -> tuple[str, str, str]:
        rate: str = tab.value("document.querySelector('.menu-rate p').textContent")
        return cell(tab, 0, "change of total")[:1], cell(tab, 1, "change of total"), rate[-24:]

    expected = "-", "0", "from the menu as written"
    for _ in range(250):  # each view is painted in a frame of its own
        if shown() == expected:
            break
        time.sleep(0.02)
    assert shown() == expected
    if not by.startswith("keys"):
        click(tab, "[aria-label='Undo (Ctrl+Z)']")
        assert cell(tab, 0, "change of total") == ""


FIXED = '[[trigger]]\nname = "MU"\nkind = "combination"\nlegs = [{ object = "muon" }]\n'


@pytest.mark.parametrize(
    ("fixed", "signals", "plots"), [(False, 1, 2), (False, 0, 2), (True, 1, 1), (True, 0, 1)]
)
def test_the_first_screen_has_a_plot(
    tab: chromium.Page, menu: Menu, tmp_path: Path, fixed: bool, signals: int, plots: int
) -> None:
    """The rates of the triggers where there is no turn-on."""
    shown = menu_from(tmp_path, f'[menu]\nname = "m"\n{FIXED}') if fixed else menu
    catalogue = memory_catalogue({"a": toy_events(1, 600)}, signals={"s": toy_events(3, 80)})
    file = tmp_path / "toy.html"
    file.write_text(make_explorer([shown], catalogue, "1.0", signals=["s"][:signals]).html, "utf-8")
    opened(tab, file, height=800)
    ends = tab.value(
        "[...document.querySelectorAll('figure svg')].map((s) => s.getBoundingClientRect().bottom)"
    )
    assert len(ends) == plots
    assert max(ends) < 800


def test_a_fixed_trigger_says_why(tab: chromium.Page, file: Path) -> None:
    opened(tab, file)
    assert cell(tab, 2, "threshold") == "Fixed. The kind 'combination' has no score with a single threshold."


def test_units_stay_beside_numbers_on_a_phone(tab: chromium.Page, file: Path) -> None:
    """No cell of the tables of rates has more than one line."""
    opened(tab, file, width=400)
    typed(tab, "threshold of J in GeV", "50")
    lines = tab.value(
        "[...document.querySelectorAll('.triggers td > span, .signals td')]"
        ".filter((e) => /[0-9]/.test(e.textContent))"
        ".map((e) => { const r = document.createRange(); r.selectNodeContents(e);"
        " return new Set([...r.getClientRects()].map((b) => Math.round(b.bottom))).size; })"
    )
    assert len(lines) > 10
    assert {*lines} == {1}


def test_rates_that_are_0_by_construction(tab: chromium.Page, tmp_path: Path) -> None:
    """The mark and its line, as `trigemu run` prints them; they go when the reason goes."""
    higher = '[[trigger]]\nname = "J60"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 60.0\n'
    nested = menu_from(tmp_path, MENU.format(name="nested") + higher)
    page = tmp_path / "nested.html"
    catalogue = memory_catalogue({"a": toy_events(1, 600)})
    page.write_text(make_explorer([nested], catalogue, "1.0").html, "utf-8")
    opened(tab, page)
    marks = (
        "document.querySelector('.marks').checkVisibility() && document.querySelector('.marks').textContent"
    )
    assert cell(tab, 3, "unique") == "0"
    assert " ± " in cell(tab, 0, "unique / total")
    assert tab.value(marks) == (
        "0: by construction; those in brackets accept every event that the trigger accepts: J60 (J)."
    )
    assert tab.value(marks) in " ".join(notes.legend(trigemu.run(nested, catalogue).triggers, []))
    typed(tab, "prescale of J", "2")
    assert cell(tab, 3, "unique") != "0"
    assert tab.value(marks) is False
