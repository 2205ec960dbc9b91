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

from trigemu.samples.catalogue import Catalogue, open_catalogue  # isort: split

from trigemu.samples.events import Collection, Events, make_events  # isort: split

from trigemu.menus.menu import Menu  # isort: split

from trigemu.menus.read import read_menu  # isort: split

from trigemu.decisions.plan import Plan, decide, make_plan  # isort: split

from trigemu.decisions.stream.stream import Stream  # isort: split

from trigemu.counting.patterns import PatternTable  # isort: split

from trigemu.emulation.budgets import solve_budgets  # isort: split

from trigemu.emulation.loop import Emulation, emulate  # isort: split

from trigemu.rates.menu_rates import rates_of, run  # isort: split

from trigemu.rates.results import MenuRates, Rate, TriggerRates  # isort: split

from trigemu.studies.comparison import Comparison, compare  # isort: split

from trigemu.studies.efficiency import Efficiencies, efficiencies  # isort: split

from trigemu.studies.threshold_scan import Scan, scan  # isort: split

from trigemu.studies.timing.costs import Bench, bench  # isort: split

from trigemu.support.errors import TrigemuError

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
