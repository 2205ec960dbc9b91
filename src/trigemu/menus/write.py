"""Write a calibrated menu, with thresholds in place of rate budgets."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table

from trigemu.base.errors import wrong_type
from trigemu.base.files import write_text
from trigemu.menus.menu import Menu, own_prescale
from trigemu.menus.read import FORMAT
from trigemu.samples.sample import CROSSING_RATE_HZ


def write_calibrated(menu: Menu, path: Path | str, fitted_on: str) -> None:
    """Write the file of a calibrated menu, with thresholds in place of rate budgets.

    Comments are preserved, and a comment beside each threshold gives the rate that it was found from. Paths
    of model cards become relative to the new file.

    Parameters
    ----------
    menu : Menu
        A menu whose budgets are solved (`solve_budgets`).
    path : Path or str
        The file to write.
    fitted_on : str
        The name of the catalogue with which the thresholds were found, which is written beside each.
    """
    write_text(path, tomlkit.dumps(calibrated_document(menu, path, fitted_on)))


def calibrated_document(menu: Menu, path: Path | str, fitted_on: str) -> tomlkit.TOMLDocument:
    """Return what `write_calibrated` writes, for further changes."""
    if not isinstance(menu, Menu):
        raise wrong_type("the menu", menu, "a Menu with solved budgets (solve_budgets)")
    path = Path(path)
    document = tomlkit.parse(menu.path.read_text(encoding="utf-8"))
    head = document.get("menu")
    if head is None:
        document["menu"] = {"format": FORMAT}
    else:  # below the name if there is one
        set_key(head, "name" if "name" in head else next(iter(list(head)[-1:]), None), "format", FORMAT)
    _give_crossing_rate(document, menu)
    for table, trigger in zip(document["trigger"], menu.triggers, strict=True):
        if trigger.solution and trigger.budget:
            threshold = tomlkit.item(trigger.solution.threshold)
            if not isinstance(table, InlineTable):  # has no lines for comments
                original = table[trigger.budget.key].trivia.comment.lstrip("# ").rstrip()
                origin = f"found from {trigger.budget.key} = {trigger.budget.hz:g}"
                threshold.comment(origin + (f" ({original})" if original else ""))
            table.value._replace(trigger.budget.key, "above", threshold)
            set_key(table, "above", "fitted_on", fitted_on)
        if "card" in table:
            card = menu.path.parent / table["card"]
            table["card"] = Path(os.path.relpath(card, path.parent)).as_posix()
    return document


def write_point(document: tomlkit.TOMLDocument, menu: Menu) -> None:
    """Write the prescales of the chosen column of a menu in place of its columns, which may be in a file of
    their own, and the crossing rate."""
    for key in ("prescale_columns", "column", "column_pileup", "column_luminosity_cm2s"):
        document.get("menu", {}).pop(key, None)
    _give_crossing_rate(document, menu)
    for table, trigger in zip(document["trigger"], menu.triggers, strict=True):
        table.pop("prescales", None)
        if menu.columns.chosen and trigger.prescales:
            on = trigger.prescale < math.inf
            prescale = trigger.prescale / own_prescale(trigger.description, menu.crossing_rate_hz)
            written = int(prescale) if on and prescale.is_integer() else prescale
            key, value = ("prescale", written) if on else ("enabled", False)
            table.pop(key, None)
            set_key(table, "kind", key, value)


def _give_crossing_rate(document: tomlkit.TOMLDocument, menu: Menu) -> None:
    """Write the crossing rate of a menu if that of its file is another one."""
    if menu.crossing_rate_hz != document.get("menu", {}).get("crossing_rate_hz", CROSSING_RATE_HZ):
        document.setdefault("menu", tomlkit.table())["crossing_rate_hz"] = menu.crossing_rate_hz


def set_key(table: Any, after: str | None, key: str, value: Any) -> None:
    """Set a key of a table of tomlkit. A new one directly follows another, before comments on what comes
    next."""
    if key in table or after is None or not isinstance(table, Table):
        table[key] = value
    else:
        table.value._insert_after(after, key, value)
