"""The page in a real browser, from a file and without a network."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import chromium
import pytest
from explorer_page import cell, click, labelled, opened, typed
from toys import memory_catalogue, toy_events

import trigemu
from trigemu import Menu
from trigemu.api import numbers

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


def test_texts_of_a_menu_are_texts(tab: chromium.Page, file: Path) -> None:
    opened(tab, file)
    assert tab.value("document.querySelector('h1').textContent") == "toy <script>alert(1)</script>"
    assert tab.value("document.querySelectorAll('h1 *, .name *').length") == 0
    assert tab.value("document.title").startswith("toy <script>")


def test_nothing_but_its_own_scripts_run(tab: chromium.Page, file: Path) -> None:
    opened(tab, file)
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


def test_what_is_painted_is_what_is_computed(tab: chromium.Page, file: Path, menu: Menu) -> None:
    """The digits of the table are those of `trigemu run` of the downloaded menu."""
    opened(tab, file)
    typed(tab, "threshold of J in GeV", "40")
    changed = menu.path.with_name("changed.toml")
    changed.write_text(tab.value("trigemuExplorer.toml('A')"))
    rates: Any = trigemu.run(changed, memory_catalogue({"a": toy_events(1, 600)}))
    for row, name in enumerate(("J", "<b>&G")):
        assert cell(tab, row, "total") == numbers.format_rate(rates[name].total)
        assert cell(tab, row, "unique") == numbers.format_rate(rates[name].unique)
