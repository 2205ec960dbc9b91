"""Write a calibrated menu, with thresholds in place of rate budgets, and replace numbers in the table of a
trigger as if its file had them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import tomlkit
from tomlkit.items import InlineTable, Table

from trigemu.base.errors import TrigemuError, wrong_type
from trigemu.base.files import write_text
from trigemu.base.internals import insert_after, replace_key
from trigemu.base.toml import Document, read_table
from trigemu.base.toml_text import number_key, shown_path, with_numbers
from trigemu.menus.checks import try_compile
from trigemu.menus.menu import Budget, Menu, Trigger
from trigemu.menus.read import FORMAT
from trigemu.triggers.base import Kind


def number_path(menu: Menu, name: str, path: str) -> str:
    """Return the full path of a number in the table of a trigger: `legs[0].pt.min` for `legs[0].pt`."""
    trigger = menu.trigger(name)
    where = f"{trigger.place}: trigger {name!r}"
    if not isinstance(trigger.description, Kind):
        raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no numbers to vary")
    try:
        return shown_path(number_key(trigger.description, path))
    except TrigemuError as error:
        raise TrigemuError(f"{where}: {error}") from None


def with_values(menu: Menu, name: str, values: Mapping[str, float]) -> Menu:
    """Return a menu with other numbers in the table of one trigger, by their paths."""
    trigger = menu.trigger(name)
    description = trigger.description
    assert isinstance(description, Kind)
    numbers = {number_key(description, path): value for path, value in values.items()}
    table = with_numbers(description, numbers)
    document = Document(menu.path, {}, {}, "")  # of mistakes
    changed = read_table(document, table, type(description), ("trigger", 0), "")
    if changed is not None:
        try_compile(document, changed, menu.scope, table, ("trigger", 0), "")
    if changed is None or document.problems:
        shown = ", ".join(f"{path} = {value:.10g}" for path, value in values.items())
        mistake = document.problems[0].message
        raise TrigemuError(f"{trigger.place}: trigger {name!r} with {shown}: {mistake}")
    return _with(menu, replace(trigger, description=changed))


def _with(menu: Menu, trigger: Trigger) -> Menu:
    triggers = (trigger if other.name == trigger.name else other for other in menu.triggers)
    return replace(menu, triggers=tuple(triggers))


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
    _give_format(document)
    for table, trigger in zip(document["trigger"], menu.triggers, strict=True):
        if trigger.solution and trigger.budget:
            threshold = tomlkit.item(trigger.solution.threshold)
            if not isinstance(table, InlineTable):  # has no lines for comments
                threshold.comment(_origin(trigger.budget, table[trigger.budget.key].trivia.comment))
            replace_key(table, trigger.budget.key, "above", threshold)
            if "fitted_on" not in table:
                insert_after(table, "above", "fitted_on", "")
            table["fitted_on"] = fitted_on
        if "card" in table:
            card = menu.path.parent / table["card"]
            table["card"] = Path(os.path.relpath(card, path.parent)).as_posix()
    return document


def _give_format(document: tomlkit.TOMLDocument) -> None:
    """Write the current format under [menu], below the name if there is one."""
    head = document.get("menu")
    if head is None:
        document["menu"] = {"format": FORMAT}
    elif isinstance(head, Table) and head and "format" not in head:
        insert_after(head, "name" if "name" in head else list(head)[-1], "format", FORMAT)
    else:
        head["format"] = FORMAT


def _origin(budget: Budget, comment: str) -> str:
    """Return the comment beside a threshold, including the comment beside its budget."""
    original = comment.lstrip("# ").rstrip()
    return f"found from {budget.key} = {budget.hz:g}" + (f" ({original})" if original else "")
