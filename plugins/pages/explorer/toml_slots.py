"""The file of a menu in pieces, for a page to write it with other thresholds, prescales and switches.

A piece is a text, or a slot for the value of a key. Comments, order and layout of the file remain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Item, Key

from trigemu.api import Menu, ScoreKind, TrigemuError, Trigger, insert_after

#: Characters that no TOML file has: before a key, before its value, after it, and where keys may be added.
_KEY, _VALUE, _END, _NEW = "\x01", "\x02", "\x03", "\x04"
_MARKED = re.compile(f"{_KEY}([^{_VALUE}]*){_VALUE}([^{_END}]*){_END}|{_NEW}")

Piece = str | dict[str, Any]


def pieces_of(text: str, menu: Menu, fitted_on: str) -> list[Piece]:
    """Return the pieces of the file of a menu.

    A slot without a value belongs to a key that the file does not have: it is empty unless the value changes.

    text: the file. fitted_on: the catalogue on which thresholds are solved, written with thresholds that
    replace a budget. If the menu has columns of prescales, the pieces have those of its column alone.
    """
    document = tomlkit.parse(text)
    if menu.columns.chosen:
        _keep_column(document, menu.columns.names.index(menu.columns.chosen))
        text = tomlkit.dumps(document)
    slots: list[dict[str, Any]] = []
    for table, trigger in zip(document["trigger"], menu.triggers, strict=True):
        slots += _mark(table, trigger, menu, fitted_on)
    pieces = [*_cut(tomlkit.dumps(document), iter(slots))]
    if _joined(pieces) != text:
        raise TrigemuError(
            f"{menu.path}: a page cannot change single triggers of this file: write each as a table "
            f"[[trigger]], one after the other"
        )
    return pieces


def _keep_column(document: tomlkit.TOMLDocument, number: int) -> None:
    """Write the prescales of one column in place of those of all."""
    for key in ("prescale_columns", "column"):
        document["menu"].pop(key, None)
    for table in document["trigger"]:
        if of_columns := table.pop("prescales", None):
            on = of_columns[number] > 0
            key, value = ("prescale", of_columns[number]) if on else ("enabled", False)
            table.pop(key, None)
            if isinstance(table, InlineTable):
                table[key] = value
            else:
                insert_after(table, "kind", key, value)


def _joined(pieces: list[Piece]) -> str:
    parts = (p if isinstance(p, str) else f"{p['before']}{p['value']}" for p in pieces if _has_value(p))
    return "".join(parts)


def _has_value(piece: Piece) -> bool:
    return isinstance(piece, str) or "value" in piece


def _mark(table: Any, trigger: Trigger, menu: Menu, fitted_on: str) -> Iterator[dict[str, Any]]:
    """Mark the positions of the slots of a trigger in its table; yield the slots in their order."""
    inline = isinstance(table, InlineTable)
    slots = _keys(trigger, menu, None if inline or trigger.fitted_on else fitted_on)
    items: list[tuple[Key, Item]] = [(key, item) for key, item in table.value.body if key is not None]
    present = {key.key for key, _ in items}
    for key, item in items:
        if key.key in slots:
            yield slots[key.key]
            item.trivia.indent += _KEY
            key.sep += _VALUE
            item.trivia.comment = _END + item.trivia.comment
        if key.key == "kind":  # every trigger has this key, rarely as the first one
            for name in ("prescale", "enabled"):
                if name not in present:
                    blank, end = (" ", ",") if inline else ("", "\n")
                    yield slots[name] | {"before": f"{blank}{name} = ", "after": end}
            item.trivia.indent = _NEW * len({"prescale", "enabled"} - present) + item.trivia.indent


def _keys(trigger: Trigger, menu: Menu, fitted_on: str | None) -> dict[str, dict[str, Any]]:
    """Return the slots of a trigger by the keys of the file."""
    kind = trigger.description
    slots: dict[str, dict[str, Any]] = {
        key: {"trigger": trigger.name, "key": key} for key in ("prescale", "enabled")
    }
    if trigger.budget:
        slots[trigger.budget.key] = {"trigger": trigger.name, "key": "budget"}
        if fitted_on:
            slots[trigger.budget.key]["fitted_on"] = fitted_on
    elif isinstance(kind, ScoreKind):
        slots["above"] = {"trigger": trigger.name, "key": "above"}
    return slots


def _cut(marked: str, slots: Iterator[dict[str, Any]]) -> Iterator[Piece]:
    at = 0
    for match in _MARKED.finditer(marked):
        if match.start() > at:
            yield marked[at : match.start()]
        at = match.end()
        slot = next(slots)
        if match[0] != _NEW:
            value = match[2].rstrip()
            slot |= {"before": match[1], "value": value, "after": ""}
            yield slot
            if value != match[2]:
                yield match[2][len(value) :]
        else:
            yield slot
    if at < len(marked):
        yield marked[at:]
