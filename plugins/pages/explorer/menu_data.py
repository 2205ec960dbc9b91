"""A menu in the format of the page: plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trigemu.api import (
    BitKind,
    Menu,
    ScoreKind,
    Trigger,
    TriggerRates,
    constant_in,
    own_prescale,
    scaling,
    unit_of_threshold,
)

from .columns import Columns
from .contents import Contents
from .expressions import as_json, decision_of
from .toml_slots import pieces_of


def menu_entry(contents: Contents, columns: Columns, number: int) -> dict[str, Any]:
    """Return the entry of a menu, by its number."""
    menu, catalogue = contents.menus[number], contents.scores.catalogue
    fitted = contents.unseen.fitted[number]
    constant = constant_in(menu) - fitted
    return {
        "name": menu.name,
        "file": menu.path.name,
        "scale": scaling.crossing_scale(menu, catalogue),
        "levels": list(menu.levels),
        "order": list(menu.order),
        "triggers": [
            _trigger_entry(columns, number, menu, trigger)
            | {"fitted": trigger.name in fitted, "constant": trigger.name in constant}
            for trigger in menu.triggers
        ],
        "text": pieces_of(contents.texts[number], menu, catalogue.table.name),
        "contained": {
            "triggers": _contained(contents.rates[number].triggers),
            "groups": _contained(contents.rates[number].groups),
        },
        "warnings": list(contents.rates[number].warnings),
    }


def _contained(rates: Sequence[TriggerRates]) -> list[tuple[str, list[str]]]:
    """Return each trigger or group whose unique rate is 0 by construction, and what contains it."""
    return [(of.name, list(of.unique.contained_in)) for of in rates if of.unique.contained_in]


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
    if limits is None and columns.bits[number][1] < 0:
        return {"bit": number}, "It is disabled in the menu, and its decisions are unknown."
    if limits is None or not isinstance(kind, ScoreKind):
        return {"bit": number}, f"The kind {trigger.kind!r} has no score with a single threshold."
    column = columns.scores[number]
    first, last = column.within(limits)
    decision = {"score": number, "at": column.step(kind.threshold), "first": first, "last": last}
    return decision, None if last > first else "The page has no other threshold for it."
