"""trigemu emulates a trigger menu: which events it takes, at which rates, at what cost.

    samples ──► Events ──► triggers ──► decision bits ──► pattern table ──► rates ──► compare / report
    (ROOT,      (columns,  (plugins,    (uint64 words     (pattern → n,      (total,
     generator)  weights    one kind     per event)        Σw, Σw²;           unique,
                 in Hz)     per file)                       mergeable)        overlap …)

Each stage knows only those to its left. `emulate.py` is the loop that joins them; read it next.

    import trigemu
    menu = trigemu.read_menu("menus/primary.toml")
    print(trigemu.run(menu))
"""

from __future__ import annotations

from trigemu.counting import PatternTable
from trigemu.decisions import Plan, Stream, decide, make_plan
from trigemu.emulation import Emulation, emulate, solve_budgets
from trigemu.menus import Menu, read_menu
from trigemu.rates import MenuRates, Rate, TriggerRates, rates_of, run
from trigemu.samples import Catalogue, Collection, Events, make_events, open_catalogue
from trigemu.studies import Bench, Comparison, Efficiencies, Scan, bench, compare, efficiencies, scan
from trigemu.support import TrigemuError

__version__ = "0.1.0"

__all__ = [
    "Bench",
    "Catalogue",
    "Collection",
    "Comparison",
    "Efficiencies",
    "Emulation",
    "Events",
    "Menu",
    "MenuRates",
    "PatternTable",
    "Plan",
    "Rate",
    "Scan",
    "Stream",
    "TrigemuError",
    "TriggerRates",
    "bench",
    "compare",
    "decide",
    "efficiencies",
    "emulate",
    "make_events",
    "make_plan",
    "open_catalogue",
    "rates_of",
    "read_menu",
    "run",
    "scan",
    "solve_budgets",
]
