"""One result of each kind, from names that are hostile to terminals, pages and formulas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toys import memory_catalogue, menu_from, toy_events

import trigemu
import trigemu_latency
from trigemu_latency.timing import clock
from trigemu_validation.decisions import Checked

HOSTILE = 'J<i>&"\x1b[2J$x$\u202e'
MENU = f"""
[menu]
name = "m<b>\\u001b[1m"
prescale_columns = ["low<", "high"]

[[trigger]]
name = {json.dumps(HOSTILE)}
kind = "threshold"
observable = "jet[0].pt"
above = 20.0
group = "g\\n&"
prescales = [1, 2]

[[trigger]]
name = "MET"
kind = "threshold"
observable = "met"
above = 20.0
prescale = 3.5

[[trigger]]
name = "ALSO"
kind = "threshold"
observable = "jet[0].pt"
above = 25.0
group = "MET"

[[trigger]]
name = "NEVER"
kind = "threshold"
observable = "met"
above = 1e6
"""
CATEGORY = "n_jet > 1"


def results_in(folder: Path) -> dict[str, Any]:
    """Class → a result of it; that of decisions is made by hand."""
    samples = {"a<": toy_events(1, 300), "b&": [e | {"weight": e["weight"] / 1e3} for e in toy_events(2, 40)]}
    catalogue = memory_catalogue(samples, name="<toy>", signals={"s\x1b": toy_events(3, 200)})
    menu = menu_from(folder, MENU)
    other = menu_from(folder, MENU.replace("m<b>", "other").replace("= 20.0", "= 22.0"))
    emulation = trigemu.emulate([menu], catalogue)
    rates = trigemu.rates_of(emulation)
    profiles = [trigemu.Profile("jet[0].pt", (5.0, 30.0, 60.0, 1e4, 2e4), "leading <pT>", "GeV")]
    found = trigemu.efficiencies([menu, other], catalogue, ["s\x1b"], profiles, [CATEGORY], None, [HOSTILE])
    turnon = found["jet[0].pt"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "SECONDS", 0.001)
        bench = trigemu_latency.bench(emulation, batches=(1, 8), events=100)
    checked = Checked(HOSTILE, 7, 2, 1), Checked("MET", skipped="it is <random>")
    made: tuple[Any, ...] = (
        catalogue,
        rates,
        rates[HOSTILE],
        trigemu.column_rates(emulation, ["low<", "high"]),
        trigemu.compare(trigemu.emulate([menu, other], catalogue)),
        trigemu.scan(menu, [trigemu.Steps("MET", (10.0, 20.0, 1e6))], catalogue),
        found,
        turnon,
        turnon[menu.name, HOSTILE],
        trigemu.binned_rates(menu, "jet[0].pt", (0.0, 20.0, 60.0, 1e5, 2e5), catalogue),
        trigemu.exclusive_rates(emulation),
        bench,
        bench["MET"],
        bench.menu[1],
        bench.menu[1].histogram,
        trigemu.api.DecisionCheck(menu, catalogue, 10, checked),
        trigemu.sample_spectra(catalogue)[0],
        trigemu.gate(menu, other, catalogue=catalogue),
    )
    return {type(result).__name__: result for result in made}
