"""Writing a calibrated menu: thresholds in place of rate budgets."""

from __future__ import annotations

import os
from pathlib import Path

import tomlkit
from tomlkit.items import InlineTable, Table

from trigemu.menus.format import FORMAT, migrate
from trigemu.menus.menu import Budget, Menu
from trigemu.support import insert_after, replace_key, write_text, wrong_type


def write_calibrated(menu: Menu, path: Path | str, fitted_on: str) -> None:
    """Write the file of a calibrated menu, with thresholds in place of rate budgets.

    Comments are kept, and those beside thresholds say from which rate they were found; paths of model cards
    are made relative to the new file.

    Parameters
    ----------
    menu : Menu
        A menu whose budgets are solved (`solve_budgets`).
    path : Path or str
        The file to write.
    fitted_on : str
        The name of the catalogue on which the thresholds were found; it is written beside each of them.
    """
    if not isinstance(menu, Menu):
        raise wrong_type("the menu", menu, "a Menu with solved budgets (solve_budgets)")
    path = Path(path)
    document = tomlkit.parse(menu.path.read_text(encoding="utf-8"))
    migrate(document)
    _give_format(document)
    for table, trigger in zip(document["trigger"], menu.triggers, strict=True):
        if trigger.solution and trigger.budget:
            threshold = tomlkit.item(trigger.solution.threshold)
            if not isinstance(table, InlineTable):  # which ends at the end of its line
                threshold.comment(_origin(trigger.budget, table[trigger.budget.key].trivia.comment))
            replace_key(table, trigger.budget.key, "above", threshold)
            if "fitted_on" not in table:
                insert_after(table, "above", "fitted_on", "")
            table["fitted_on"] = fitted_on
        if "card" in table:
            card = menu.path.parent / table["card"]
            table["card"] = Path(os.path.relpath(card, path.parent)).as_posix()
    write_text(path, tomlkit.dumps(document))


def _give_format(document: tomlkit.TOMLDocument) -> None:
    """Write the present format under [menu], below the name if there is one."""
    head = document.get("menu")
    if head is None:
        document["menu"] = {"format": FORMAT}
    elif isinstance(head, Table) and head and "format" not in head:
        insert_after(head, "name" if "name" in head else list(head)[-1], "format", FORMAT)
    else:
        head["format"] = FORMAT


def _origin(budget: Budget, comment: str) -> str:
    """Return the comment beside a threshold, with the one that was beside its budget."""
    kept = comment.lstrip("# ").rstrip()
    return f"found from {budget.key} = {budget.hz:g}" + (f" ({kept})" if kept else "")
