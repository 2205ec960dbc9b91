"""A menu whose budgets are solved, written as a menu with cuts."""

from __future__ import annotations

import os
from pathlib import Path

import tomlkit

from trigemu.menus.menu import Menu
from trigemu.support import insert_after, replace_key, write_text


def write_calibrated(menu: Menu, path: Path, fitted_on: str) -> None:
    """Write the file of a solved menu with cuts in place of budgets, fitted on the catalogue of that
    name. Comments stay; paths of model cards are made relative to the new file."""
    document = tomlkit.parse(menu.path.read_text(encoding="utf-8"))
    for table, trigger in zip(document["trigger"], menu.triggers, strict=True):
        if trigger.solution and trigger.budget:
            cut = tomlkit.item(trigger.solution.cut)
            replace_key(table, trigger.budget.key, "above", cut)
            if "fitted_on" not in table:
                insert_after(table, "above", "fitted_on", "")
            table["fitted_on"] = fitted_on
        if "card" in table:
            card = menu.path.parent / table["card"]
            table["card"] = Path(os.path.relpath(card, path.parent)).as_posix()
    write_text(path, tomlkit.dumps(document))
