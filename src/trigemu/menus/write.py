"""Other menus from a menu: with other numbers in the table of a trigger, by their paths, such as
`legs[0].pt.min`; and written to a file, with thresholds in place of rate budgets."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table

from trigemu.base.errors import TrigemuError, quoted, wrong_type
from trigemu.base.files import write_text
from trigemu.base.toml import Document, Key, TomlTable, dotted, fields_of, read_table
from trigemu.menus.checks import try_compile
from trigemu.menus.menu import Menu, own_prescale
from trigemu.menus.read import FORMAT
from trigemu.samples.sample import CROSSING_RATE_HZ
from trigemu.triggers.base import Kind

_PATH = re.compile(r"[\w-]+(\[\d{1,6}\])*(\.[\w-]+(\[\d{1,6}\])*)*")
_PART = re.compile(r"([\w-]+)|\[(\d+)\]")
#: Where a description stands in the document of its mistakes.
_ROOT: Key = ("trigger", 0)


def number_path(menu: Menu, name: str, path: str) -> str:
    """Return the full path of a number in the table of a trigger: `legs[0].pt.min` for `legs[0].pt`."""
    trigger = menu.trigger(name)
    where = f"{trigger.place}: trigger {name!r}"
    if not isinstance(trigger.description, Kind):
        raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no numbers to vary")
    try:
        return full_path(trigger.description, path)
    except TrigemuError as error:
        raise TrigemuError(f"{where}: {error}") from None


def with_values(menu: Menu, name: str, values: Mapping[str, float]) -> Menu:
    """Return a menu with other numbers in the table of one trigger, by their full paths."""
    trigger = menu.trigger(name)
    assert isinstance(trigger.description, Kind)
    table = with_numbers(trigger.description, values)
    document = Document(menu.path, {}, {}, "")  # of mistakes
    changed = read_table(document, table, type(trigger.description), _ROOT, "")
    if changed is not None:
        try_compile(document, changed, menu.scope, table, _ROOT, "")
    if changed is None or document.problems:
        shown = ", ".join(f"{path} = {value:.10g}" for path, value in values.items())
        mistake = document.problems[0].message
        raise TrigemuError(f"{trigger.place}: trigger {name!r} with {shown}: {mistake}")
    return menu.with_triggers([replace(trigger, description=changed)])


def full_path(table: TomlTable, path: str) -> str:
    """Return the full path of a number. That of a range means its only limit, or `min` if there is none yet.

    Raises TrigemuError if there is no such number, or a range has several limits.
    """
    if not _PATH.fullmatch(path):
        raise TrigemuError(f"{quoted(path)}: expected the path of a number, such as legs[0].pt.min")
    value: Any = table_of(table)
    key = _key(path)
    for place, part in enumerate(key):
        where = _shown(key[:place])
        match value, part:
            case None, _:
                break
            case list(), str():
                raise TrigemuError(f"{where} is a list of {len(value)}: say which, {where}[0]")
            case list(), int() if part >= len(value):
                raise TrigemuError(f"{where}[{part}]: {where} has {len(value)} entries, from 0")
            case list(), int():
                value = value[part]
            case _, int():
                raise TrigemuError(f"{where} is no list: it has no entry [{part}]")
            case dict(), _:
                value = value.get(part)
            case _:
                raise TrigemuError(f"{where} is no table: it has no key {quoted(part)}")
    if value is None:  # there is no such key yet: its type says whether there can be
        document = Document(Path(), {}, {}, "")
        read_table(document, with_numbers(table, {path: 1.0}), type(table), _ROOT, "")
        of_key = ("unknown key", *(f"{_shown(key[:n])} = " for n in range(1, len(key) + 1)))
        for message in (problem.message for problem in document.problems):
            if message.startswith(of_key):
                if message.startswith(f"{path} = ") and "expected a table" in message:
                    return f"{path}.min"
                raise TrigemuError(message)
        return path
    if isinstance(value, list):
        raise TrigemuError(f"{path} is a list of {len(value)}: say which, {path}[0]")
    if isinstance(value, dict) and all(isinstance(limit, int | float) for limit in value.values()):
        limits = [f"{path}.{name}" for name, limit in value.items() if not isinstance(limit, bool)]
        if len(limits) > 1:
            raise TrigemuError(f"{path} holds several numbers: say which, {' or '.join(limits)}")
        if limits:
            return limits[0]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TrigemuError(f"{path} is no number")
    return path


def with_numbers(table: TomlTable, numbers: Mapping[str, float]) -> dict[str, Any]:
    """Return a TOML table with other numbers at some paths, as in a file."""
    result: dict[str, Any] = table_of(table)
    for path, number in numbers.items():
        *parts, last = _key(path)
        node: Any = result
        for part in parts:
            node = node.setdefault(str(part), {}) if isinstance(node, dict) else node[part]
        is_integer = number.is_integer() and abs(number) < 2.0**53  # which are exact
        node[str(last) if isinstance(node, dict) else last] = int(number) if is_integer else number
    return result


def table_of(value: Any) -> Any:
    """Return the TOML table from which `read_table` makes a struct; a value of its fields as in TOML."""
    if isinstance(value, TomlTable):
        table = {field.encode_name: getattr(value, field.name) for field in fields_of(type(value))}
        table |= table.pop(value.further) if value.further else {}
        value = {name: part for name, part in table.items() if part is not None}  # TOML has no null
    if isinstance(value, tuple | list):
        return [table_of(part) for part in value]
    return {name: table_of(part) for name, part in value.items()} if isinstance(value, dict) else value


def _key(path: str) -> Key:
    return tuple(int(index) if index else name for name, index in _PART.findall(path))


def _shown(key: Key) -> str:
    return dotted((*_ROOT, *key))


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
