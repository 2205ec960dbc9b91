"""The explorer page in a browser: a small menu, and what a user does and reads."""

from __future__ import annotations

import json
import time
from pathlib import Path

import chromium

MENU = """
[menu]
name = "{name}"

[[trigger]]
name = "J"    # jets
kind = "threshold"
observable = "jet[0].pt"
above = 30.0
unit = "GeV"
group = "jets"

[[trigger]]
name = "<b>&G"
kind = "threshold"
observable = "photon[0].pt"
above = 12
prescale = 2

[[trigger]]
name = "MU"
kind = "combination"
legs = [{{ object = "muon" }}]
enabled = false
"""


def opened(
    tab: chromium.Page,
    file: Path,
    address: str = "",
    width: int = 1280,
    dark: bool = False,
    height: int = 900,
) -> None:
    tab.complaints.clear()
    tab.open(file, width, dark, height)
    for _ in range(100):
        if tab.value("!!window.trigemuExplorer"):
            break
        time.sleep(0.05)
    if address:
        tab.value(f"location.hash = {address!r}; new Promise((r) => setTimeout(r, 50))")
    tab.value("trigemuExplorer.settled()")


def labelled(label: str) -> str:
    """A script for the element of a label."""
    return f"document.querySelector({json.dumps(f'[aria-label={json.dumps(label)}]')})"


def typed(tab: chromium.Page, label: str, value: str, event: str = "change") -> None:
    """Give a field a value, as a user who leaves it."""
    tab.value(
        f"(() => {{ const field = {labelled(label)}; field.value = {value!r}; "
        f"field.dispatchEvent(new Event({event!r}, {{ bubbles: true }})); }})()"
    )
    tab.value("trigemuExplorer.settled()")


def click(tab: chromium.Page, selector: str) -> None:
    tab.value(f"document.querySelector({selector!r}).click()")
    tab.value("trigemuExplorer.settled()")


def cell(tab: chromium.Page, row: int, label: str) -> str:
    result = tab.value(
        f"document.querySelectorAll('.triggers tbody tr')[{row}]"
        f".querySelector('[data-label=\"{label}\"]').textContent"
    )
    assert isinstance(result, str)
    return result
