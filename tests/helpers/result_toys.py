"""One result of each kind, from names that are hostile to terminals, pages and formulas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toys import memory_catalogue, menu_from, threshold, toy_events

import trigemu

HOSTILE = 'J<i>&"\x1b[2J$x$\u202e'
PRESCALED = 'group = "g\\n&"\nprescales = [1, 2]'
MENU = f"""
[menu]
name = "m<b>\\u001b[1m"
prescale_columns = ["low<", "high"]
column = "low<"

{threshold("ESCAPED", "jet[0].pt", 20.0, PRESCALED).replace('"ESCAPED"', json.dumps(HOSTILE))}
{threshold("MET", "met", 20.0, "prescale = 3.5")}
{threshold("ALSO", "jet[0].pt", 25.0, 'group = "MET"')}
{threshold("NEVER", "met", 1e6)}
"""
CATEGORY = "n_jet > 1"
#: The classes of the core's results.
RESULTS = (
    *("BinnedRates", "Catalogue", "ColumnRates", "Comparison", "Curve", "Efficiencies", "ExclusiveRates"),
    *("MenuRates", "Scan", "Spectrum", "TriggerRates", "Turnon"),
)


def samples() -> trigemu.Catalogue:
    backgrounds = {
        "a<": toy_events(1, 300),
        "b&": [e | {"weight": e["weight"] / 1e3} for e in toy_events(2, 40)],
    }
    return memory_catalogue(backgrounds, name="<toy>", signals={"s\x1b": toy_events(3, 200)})


def menus(folder: Path) -> tuple[trigemu.Menu, trigemu.Menu]:
    """A menu, and one with another threshold."""
    other = MENU.replace("m<b>", "other").replace("= 20.0", "= 22.0")
    return menu_from(folder, MENU), menu_from(folder, other)


def results_in(folder: Path) -> dict[str, Any]:
    """Class → a result of it."""
    catalogue = samples()
    menu, other = menus(folder)
    emulation = trigemu.emulate([menu], catalogue)
    rates = trigemu.rates_of(emulation)
    profiles = [trigemu.Profile("jet[0].pt", (5.0, 30.0, 60.0, 1e4, 2e4), "leading <pT>", "GeV")]
    found = trigemu.efficiencies([menu, other], catalogue, ["s\x1b"], profiles, [CATEGORY], None, [HOSTILE])
    turnon = found["jet[0].pt"]
    made: tuple[Any, ...] = (
        catalogue,
        rates,
        rates[HOSTILE],
        trigemu.column_rates(menu, ["low<", "high"], catalogue),
        trigemu.compare(trigemu.emulate([menu, other], catalogue)),
        trigemu.scan(menu, [trigemu.Steps("MET", (10.0, 20.0, 1e6))], catalogue),
        found,
        turnon,
        turnon[menu.name, HOSTILE],
        trigemu.binned_rates(menu, "jet[0].pt", (0.0, 20.0, 60.0, 1e5, 2e5), catalogue),
        trigemu.exclusive_rates(emulation),
        trigemu.sample_spectra(catalogue)[0],
    )
    return {type(result).__name__: result for result in made}
