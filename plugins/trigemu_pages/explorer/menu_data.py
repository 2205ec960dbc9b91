"""A menu in the format of the page: plain values for JSON, expressions, and its file in pieces to write it
with other numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.items import AoT, Item, Key

from trigemu.base.errors import TrigemuError
from trigemu.emulation import scaling
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu, Trigger, own_prescale
from trigemu.menus.write import write_point
from trigemu.samples.sample import CROSSING_RATE_HZ
from trigemu.triggers.base import BitKind, ScoreKind
from trigemu.triggers.logic import Expression, Logic, parse_expression

from .columns import Columns, Contents


def as_json(expression: Expression) -> Any:
    """Return an expression as nested lists: a name, or {"and": […]}, {"or": […]}, {"not": …}."""
    if not expression.operation:
        return expression.name
    inner = [as_json(operand) for operand in expression.operands]
    return {expression.operation: inner[0] if expression.operation == "not" else inner}


def decision_of(trigger: Trigger, kind: BitKind) -> dict[str, Any]:
    """Return the decision of a trigger that reads no events: {"logic": …} or {"always": true}."""
    if isinstance(kind, Logic):
        return {"logic": as_json(parse_expression(kind.expression))}
    if kind.inputs():
        raise TrigemuError(
            f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r}) reads other triggers: a page "
            f"supports this for the kind 'logic' alone"
        )
    return {"always": True} if kind.decide({}, 1).all() else {"logic": {"or": []}}


#: Characters that no TOML file has: before a key, before its value, after it, and where keys may be added.
_KEY, _VALUE, _END, _NEW = "\x01", "\x02", "\x03", "\x04"
_MARKED = re.compile(f"{_KEY}([^{_VALUE}]*){_VALUE}([^{_END}]*){_END}|{_NEW}")

Piece = str | dict[str, Any]


def pieces_of(text: str, menu: Menu, fitted_on: str) -> list[Piece]:
    """Return the pieces of the file of a menu, with the prescales of its column alone.

    A slot without a value belongs to a key that the file does not have. fitted_on: the catalogue on which
    thresholds are solved, written with thresholds that replace a budget.
    """
    document = tomlkit.parse(text)
    written_rate = document.get("menu", {}).get("crossing_rate_hz", CROSSING_RATE_HZ)
    if menu.columns.chosen or menu.crossing_rate_hz != written_rate:
        write_point(document, menu)
        text = tomlkit.dumps(document)
    slots: list[dict[str, Any]] = []
    tables = document["trigger"]
    for table, trigger in zip(tables, menu.triggers, strict=True) if isinstance(tables, AoT) else ():
        slots += _mark(table, trigger, fitted_on)
    pieces = [*_cut(tomlkit.dumps(document), iter(slots))]
    written = (p if isinstance(p, str) else p["before"] + p["value"] if "value" in p else "" for p in pieces)
    if not isinstance(tables, AoT) or "".join(written) != text:
        raise TrigemuError(
            f"{menu.path}: a page cannot change single triggers of this file: write each as a table "
            f"[[trigger]], one after the other"
        )
    return pieces


def _mark(table: Any, trigger: Trigger, fitted_on: str) -> Iterator[dict[str, Any]]:
    """Mark the positions of the slots of a trigger in its table; yield the slots in their order."""
    slots = _keys(trigger, None if trigger.fitted_on else fitted_on)
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
                    yield slots[name] | {"before": f"{name} = ", "after": "\n"}
            item.trivia.indent = _NEW * len({"prescale", "enabled"} - present) + item.trivia.indent


def _keys(trigger: Trigger, fitted_on: str | None) -> dict[str, dict[str, Any]]:
    """Return the slots of a trigger by the keys of the file."""
    slots: dict[str, dict[str, Any]] = {key: {"key": key} for key in ("prescale", "enabled")}
    if trigger.budget:
        slots[trigger.budget.key] = {"key": "budget"} | ({"fitted_on": fitted_on} if fitted_on else {})
    elif isinstance(trigger.description, ScoreKind):
        slots["above"] = {"key": "above"}
    return {key: {"trigger": trigger.name} | slot for key, slot in slots.items()}


def _cut(marked: str, slots: Iterator[dict[str, Any]]) -> Iterator[Piece]:
    place = 0
    for match in _MARKED.finditer(marked):
        if match.start() > place:
            yield marked[place : match.start()]
        place = match.end()
        slot = next(slots)
        if match[0] == _NEW:
            yield slot
            continue
        value = match[2].rstrip()
        yield slot | {"before": match[1], "value": value, "after": ""}
        if value != match[2]:
            yield match[2][len(value) :]
    if place < len(marked):
        yield marked[place:]


def menu_entry(contents: Contents, columns: Columns, number: int) -> dict[str, Any]:
    """Return the entry of a menu, by its number."""
    menu, catalogue = contents.menus[number], contents.scores.catalogue
    fitted = contents.unseen.fitted[number]
    constant = scaling.constant_in(menu) - fitted
    triggers = [
        _trigger_entry(columns, number, menu, trigger)
        | {"fitted": trigger.name in fitted, "constant": trigger.name in constant}
        for trigger in menu.triggers
    ]
    return {
        "name": menu.name,
        "scale": scaling.crossing_scale(menu, catalogue),
        "levels": list(menu.levels),
        "order": list(menu.order),
        "triggers": triggers,
        "pick": _pick(contents, number, triggers),
        "text": pieces_of(contents.texts[number], menu, catalogue.table.name),
        "warnings": list(contents.rates[number].warnings),
    }


def _pick(contents: Contents, number: int, triggers: Sequence[Mapping[str, Any]]) -> str:
    """Return the trigger that a page shows first: one that the first menu does not have, whose threshold can
    be moved, with the largest share."""
    shares = {rates.name: rates.share.hz for rates in contents.rates[number].triggers}
    known = {trigger.name for trigger in contents.menus[0].enabled} if number else set()

    def matters(trigger: Mapping[str, Any]) -> tuple[bool, bool, float]:
        name = trigger["name"]
        return trigger["fixed"] is None and name in shares, name not in known, shares.get(name, 0.0)

    return str(max(triggers, key=matters)["name"])


def _trigger_entry(columns: Columns, number: int, menu: Menu, trigger: Trigger) -> dict[str, Any]:
    decision, fixed = _decision(columns, number, trigger)
    factor = own_prescale(trigger.description, menu.crossing_rate_hz)
    return {
        "name": trigger.name,
        "kind": trigger.kind,
        "group": trigger.group,
        "level": trigger.level,
        "coherent": trigger.coherent,
        "on": trigger.enabled,
        "prescale": None if math.isinf(trigger.prescale) else trigger.prescale / factor,
        "factor": factor,
        "decision": decision,
        "unit": unit_of_threshold(menu, trigger),
        "seed": as_json(trigger.seed) if trigger.seed else None,
        "fixed": fixed,
        "budget": {"quantity": trigger.budget.quantity, "hz": trigger.budget.hz} if trigger.budget else None,
    }


def _decision(columns: Columns, menu: int, trigger: Trigger) -> tuple[dict[str, Any], str | None]:
    """Return the decision of a trigger, and why users cannot change its threshold."""
    kind = trigger.description
    if isinstance(kind, BitKind):
        decides = "It depends on other triggers." if kind.inputs() else "It does not depend on events."
        return decision_of(trigger, kind), decides
    number, limits = columns.of[menu][trigger.name]
    if limits is None and not columns.bits[number]:
        return {"bit": number}, "It is disabled in the menu, and its decisions are unknown."
    if limits is None or not isinstance(kind, ScoreKind):
        return {"bit": number}, f"The kind {trigger.kind!r} has no score with a single threshold."
    column = columns.scores[number]
    first, last = column.within(limits)
    decision = {"score": number, "at": column.step(kind.threshold), "first": first, "last": last}
    return decision, None if last > first else "The page has no other threshold for it."
