"""Expressions of triggers in the format of the page, and the events that may pass them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from trigemu.api import BitKind, BoolArray, Expression, Logic, TrigemuError, Trigger, parse_expression

#: The most triggers that a plugin's kind may read: all combinations of their decisions are evaluated.
_MAX_INPUTS = 8
#: Whether events may be accepted, and whether they may be rejected, at some thresholds of the page: bool[n],
#: or bool[1] if equal for all events.
Reach = tuple[BoolArray, BoolArray]
ALWAYS = np.ones(1, np.bool_)


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
    names = list(dict.fromkeys(kind.inputs()))
    if len(names) > _MAX_INPUTS:
        raise TrigemuError(
            f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r}) reads {len(names)} triggers; "
            f"a page supports at most {_MAX_INPUTS}, except for the kind 'logic'"
        )
    rows = np.array([*product((False, True), repeat=len(names))], np.bool_)
    passed = kind.decide({name: rows[:, n] for n, name in enumerate(names)}, len(rows))
    if passed.all():
        return {"always": True}
    cases = [
        {"and": [name if is_on else {"not": name} for name, is_on in zip(names, row, strict=True)]}
        for row in rows[passed].tolist()
    ]
    return {"logic": {"or": cases}}


def reach_of(expression: Any, of: Mapping[str, Reach]) -> Reach:
    """Return the reach of an expression, from the reaches of the triggers in it."""
    if isinstance(expression, str):
        return of[expression]
    ((operation, inner),) = expression.items()
    if operation == "not":
        may, may_not = reach_of(inner, of)
        return may_not, may
    parts = [reach_of(part, of) for part in inner]
    accepts, rejects = [part[0] for part in parts], [part[1] for part in parts]
    if operation == "and":
        return _all(accepts), ~_all([~mask for mask in rejects])
    return ~_all([~mask for mask in accepts]), _all(rejects)


def _all(masks: Sequence[BoolArray]) -> BoolArray:
    """Return whether all masks are true for each event; true if there are none."""
    result: BoolArray = np.logical_and.reduce(np.broadcast_arrays(ALWAYS, *masks))
    return result
