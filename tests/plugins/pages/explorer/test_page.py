"""The page in a real browser, from a file and without a network."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import chromium
import pytest
from explorer_page import MENU, cell, click, labelled, opened, typed
from toys import memory_catalogue, menu_from, toy_events
from trigemu_pages import make_explorer

import trigemu
from trigemu import Menu
from trigemu.api import numbers
from trigemu.results import notes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not chromium.PROGRAM, reason="chromium is not installed (Debian: chromium)"),
]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_it_is_shown_without_complaints_and_fits(
    tab: chromium.Page, file: Path, width: int, dark: bool
) -> None:
    """No console message, no request but for the file; nothing is wider than the window."""
    opened(tab, file, width=width, dark=dark)
    assert tab.value("document.documentElement.scrollWidth <= innerWidth")
    assert tab.value("document.querySelectorAll('figure svg').length") == 2
    back = tab.value("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(22, 24, 27)") == dark
    unnamed = "[...document.querySelectorAll('input, select')].some((e) => !e.ariaLabel && !e.labels.length)"
    assert not tab.value(unnamed)
    assert tab.complaints == []


def test_texts_of_a_menu_are_texts_and_other_scripts_do_not_run(tab: chromium.Page, file: Path) -> None:
    opened(tab, file)
    assert tab.value("document.querySelector('h1').textContent") == "toy <script>alert(1)</script>"
    assert tab.value("document.querySelectorAll('h1 *, .name *').length") == 0
    assert tab.value("document.title").startswith("toy <script>")
    assert cell(tab, 2, "threshold") == "Fixed. The kind 'combination' has no score with a single threshold."
    tab.value(
        "{ const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s); }"
    )
    assert tab.value("window.ran === undefined")
    assert tab.value("fetch('https://example.org').then(() => 'sent', () => 'refused')") == "refused"
    tab.complaints.clear()


def test_a_threshold_moves_and_comes_back(tab: chromium.Page, file: Path, menu: Menu) -> None:
    opened(tab, file)
    written = cell(tab, 0, "total")
    typed(tab, "threshold of J", "25", "input")  # the slider's step, not GeV
    typed(tab, "threshold of J in GeV", "50")
    assert tab.value(f"{labelled('threshold of J in GeV')}.value") == "50"
    assert cell(tab, 0, "total") != written
    assert cell(tab, 0, "change of total").startswith("-")
    assert 'name = "J"    # jets' in tab.value("trigemuExplorer.toml('A')")
    assert "above = 50.0" in tab.value("trigemuExplorer.toml('A')")
    changed = menu.path.with_name("changed.toml")  # the digits are those of `trigemu run`
    changed.write_text(tab.value("trigemuExplorer.toml('A')"))
    rates: Any = trigemu.run(changed, memory_catalogue({"a": toy_events(1, 600)}))
    for row, name in enumerate(("J", "<b>&G")):
        assert cell(tab, row, "total") == numbers.format_rate(rates[name].total)
        assert cell(tab, row, "unique") == numbers.format_rate(rates[name].unique)
    tab.value("new Promise((r) => setTimeout(r, 400))")
    assert "J:t50" in tab.value("location.hash")
    tab.value("dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true }))")
    tab.value("dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true }))")
    tab.value("trigemuExplorer.settled()")
    assert cell(tab, 0, "total") == written
    assert tab.value("trigemuExplorer.toml('A')") == menu.path.read_text()
    tab.value("dispatchEvent(new KeyboardEvent('keydown', { key: 'Z', ctrlKey: true, shiftKey: true }))")
    tab.value("dispatchEvent(new KeyboardEvent('keydown', { key: 'Z', ctrlKey: true, shiftKey: true }))")
    tab.value("trigemuExplorer.settled()")
    assert cell(tab, 0, "total") != written
    click(tab, "header button[aria-label='The menu as it is written']")
    assert tab.value("trigemuExplorer.toml('A')") == menu.path.read_text()
    assert tab.complaints == []


def test_switches_and_prescales(tab: chromium.Page, file: Path) -> None:
    opened(tab, file)
    click(tab, "[aria-label='MU is on']")
    assert "Hz" in cell(tab, 2, "total")
    assert "enabled = true" in tab.value("trigemuExplorer.toml('A')")
    typed(tab, "prescale of J", "10")
    assert "prescale = 10.0" in tab.value("trigemuExplorer.toml('A')")
    typed(tab, "prescale of J", "0.5")  # not allowed: the value before comes back
    assert tab.value(f"{labelled('prescale of J')}.value") == "10"


def test_a_rate_is_found_and_kept(tab: chromium.Page, file: Path) -> None:
    opened(tab, file, "A=" + quote("toy <script>alert(1)</script>") + "&pick=J")
    typed(tab, "which rate", "total")
    typed(tab, "rate in Hz", "1e12")
    click(tab, ".scan button:nth-of-type(1)")
    assert "at most" in tab.value("document.querySelector('.scan [role=status]').textContent")
    before = cell(tab, 0, "total")
    typed(tab, "rate in Hz", "2000")
    click(tab, ".scan button:nth-of-type(1)")
    assert cell(tab, 0, "total") != before
    click(tab, ".scan button:nth-of-type(2)")
    assert tab.value(f"{labelled('threshold of J')}.disabled")
    typed(tab, "prescale of <b>&G", "1")
    tab.value("new Promise((r) => setTimeout(r, 400))")
    assert "s2000" in tab.value("location.hash")
    assert tab.complaints == []


def test_two_states(tab: chromium.Page, file: Path) -> None:
    opened(tab, file)
    click(tab, "[aria-label='Keep two states, A and B, side by side']")
    click(tab, "[aria-label='Controls change state B']")
    typed(tab, "threshold of J in GeV", "60")
    assert tab.value("document.querySelector('.differences h2').textContent") == "B − A"
    assert tab.value("document.querySelectorAll('.differences tbody tr').length") > 1
    assert " · B − A: -" in tab.value("document.querySelector('.menu-rate').textContent")
    assert cell(tab, 0, "A: total, unique").count("Hz") == 2
    texts = "[...document.querySelectorAll('.turnon svg text')].map((text) => text.textContent)"
    assert {"A", "B", "J"} <= {*tab.value(texts)}
    a, b = (tab.value(f"trigemuExplorer.toml('{place}')") for place in "AB")
    assert ("above = 30.0" in a, "above = 60.0" in b) == (True, True)
    assert tab.value("trigemuExplorer.csv('B')").startswith(
        "name,kind,group,level,prescale,threshold,total_hz"
    )


def test_an_address_opens_its_state(tab: chromium.Page, file: Path) -> None:
    name = quote("toy <script>alert(1)</script>", safe="")
    opened(tab, file, f"A={name};J:t45,p3;MU:on&budget=5000")
    assert tab.value(f"{labelled('threshold of J in GeV')}.value") == "45"
    assert tab.value(f"{labelled('budget of the menu rate in kHz')}.value") == "5"
    opened(tab, file, "A=none;J:tNaN,p-1&B=;;:&show=Q&%E0%A4%A")  # whatever cannot be read is ignored
    assert tab.value(f"{labelled('threshold of J in GeV')}.value") == "30"
    assert tab.complaints == []


def test_damaged_data_are_reported(tab: chromium.Page, file: Path, tmp_path: Path) -> None:
    text = file.read_text("utf-8")
    start = text.index('id="data">') + 200
    broken = tmp_path / "broken.html"
    broken.write_text(text[:start] + "AAAA" * 20 + text[start + 80 :], "utf-8")
    tab.open(broken, 1280)
    for _ in range(100):
        if message := tab.value("document.querySelector('[role=alert]')?.textContent"):
            break
        time.sleep(0.05)
    assert message.startswith("The page is damaged: ")
    tab.complaints.clear()


@pytest.mark.parametrize("by", ["events", "keys", "keys of the field"])
def test_changes_are_shown_without_a_pointer(tab: chromium.Page, file: Path, by: str) -> None:
    """Whoever moves a slider by a script or by keys sees all numbers change, while nobody waits for them."""
    opened(tab, file)
    field = labelled("threshold of J in GeV" if by == "keys of the field" else "threshold of J")
    if by.startswith("keys"):
        tab.value(f"{field}.focus()")
        for _ in range(3):
            tab.key("ArrowUp")
    else:
        fired = "field.dispatchEvent(new Event('change', { bubbles: true }));"
        tab.value(f"(() => {{ const field = {field}; field.value = Number(field.value) + 3; {fired} }})()")

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


@pytest.mark.parametrize(("signals", "plots"), [(0, 1), (1, 2)])
def test_the_first_screen_has_the_plots(
    tab: chromium.Page, menu: Menu, tmp_path: Path, signals: int, plots: int
) -> None:
    """A scan, and a turn-on where there is a signal."""
    catalogue = memory_catalogue({"a": toy_events(1, 600)}, signals={"s": toy_events(3, 80)})
    file = tmp_path / "toy.html"
    file.write_text(make_explorer([menu], catalogue, "1.0", signals=["s"][:signals]).html, "utf-8")
    opened(tab, file, height=800)
    ends = tab.value(
        "[...document.querySelectorAll('figure svg')].map((s) => s.getBoundingClientRect().bottom)"
    )
    assert len(ends) == plots
    assert max(ends) < 800


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
