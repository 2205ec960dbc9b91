"""What triggers read of each other, as the page writes it, and in which events they may fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from trigemu.api import BitKind, BoolArray, Expression, Logic, TrigemuError, Trigger, parse_expression

#: The most triggers that a kind of a plugin may read: all combinations of their decisions are tried.
_MAX_INPUTS = 8
#: Which events may be accepted at some offered thresholds, and which may be rejected: bool[n], or bool[1]
#: where it is the same for all.
Reach = tuple[BoolArray, BoolArray]
ALWAYS = np.ones(1, np.bool_)


def as_json(expression: Expression) -> Any:
    """Return an expression as nested lists: a name, or {"and": […]}, {"or": […]}, {"not": …}."""
    if not expression.operation:
        return expression.name
    inner = [as_json(operand) for operand in expression.operands]
    return {expression.operation: inner[0] if expression.operation == "not" else inner}


def decision_of(trigger: Trigger, kind: BitKind) -> dict[str, Any]:
    """Return what decides a trigger that reads no events: {"logic": …} or {"always": true}."""
    if isinstance(kind, Logic):
        return {"logic": as_json(parse_expression(kind.expression))}
    names = list(dict.fromkeys(kind.inputs()))
    if len(names) > _MAX_INPUTS:
        raise TrigemuError(
            f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r}) reads {len(names)} triggers; "
            f"a page can show at most {_MAX_INPUTS}, but for the kind 'logic'"
        )
    rows = np.array([*product((False, True), repeat=len(names))], np.bool_)
    fired = kind.decide({name: rows[:, n] for n, name in enumerate(names)}, len(rows))
    if fired.all():
        return {"always": True}
    cases = [
        {"and": [name if is_on else {"not": name} for name, is_on in zip(names, row, strict=True)]}
        for row in rows[fired].tolist()
    ]
    return {"logic": {"or": cases}}


def reach_of(expression: Any, of: Mapping[str, Reach]) -> Reach:
    """Return the reach of an expression, from those of the triggers that it reads."""
    if isinstance(expression, str):
        return of[expression]
    ((operation, inner),) = expression.items()
    if operation == "not":
        may, may_not = reach_of(inner, of)
        return may_not, may
    parts = [reach_of(part, of) for part in inner]
    accepts, rejects = [part[0] for part in parts], [part[1] for part in parts]
    if operation == "and":
        return _all(accepts), ~_all([~side for side in rejects])
    return ~_all([~side for side in accepts]), _all(rejects)


def _all(sides: Sequence[BoolArray]) -> BoolArray:
    """Return in which events all are true; everywhere if there are none."""
    found: BoolArray = np.logical_and.reduce(np.broadcast_arrays(ALWAYS, *sides))
    return found
