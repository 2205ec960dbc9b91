"""Differences between the definitions of two menu variants, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trigemu.emulation import Emulation
from trigemu.menus import Menu, Trigger
from trigemu.observables import Scope
from trigemu.support import TomlTable
from trigemu.triggers import Expression

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_WORD = re.compile(r"[A-Za-z_]\w*")


def changes(emulation: Emulation, i: int, j: int) -> Iterator[tuple[str, str]]:
    """Yield (trigger or "menu", difference in words) from menu i to menu j of an emulation. Triggers are
    matched by name, including disabled ones that others read."""
    a, b = emulation.menus[i], emulation.menus[j]
    if a.crossing_rate_hz != b.crossing_rate_hz:
        yield "menu", f"crossing_rate_hz: {_text(a.crossing_rate_hz)} → {_text(b.crossing_rate_hz)}"
    first, second = ({trigger.name: trigger for trigger in menu.used} for menu in (a, b))
    for name in dict.fromkeys((*first, *second)):
        if name not in second:
            yield name, f"only in {a.name}"
        elif name not in first:
            yield name, f"only in {b.name}"
        elif how := [*_definition(first[name], second[name]), *_names(first[name], second[name], a, b)]:
            yield name, "; ".join(how)
        elif remark := _content(emulation, i, j, name):
            yield name, remark


def _content(emulation: Emulation, i: int, j: int, name: str) -> str | None:
    """Return why two triggers with equal definitions decide differently, if the reason can be found."""
    plan, (a, b) = emulation.plan, (emulation.menus[i], emulation.menus[j])
    if plan.bits[i].get(name) == plan.bits[j].get(name):
        return None
    if plan.models[i] != plan.models[j]:
        return "its model"
    return "its objects or sums" if a.scope != b.scope else None


def _definition(first: Trigger, second: Trigger) -> Iterator[str]:
    yield from _differences("", _keys(first), _keys(second))


def _keys(trigger: Trigger) -> dict[str, object]:
    """Return the keys of a trigger in the menu; a threshold found from a budget is added to the budget."""
    keys = {
        key: getattr(trigger, key) for key in ("kind", "enabled", "group", "prescale", "coherent", "seed")
    }
    if trigger.budget:
        keys[trigger.budget.key] = trigger.budget.hz
    return keys | _plain(trigger.description)


def _plain(table: TomlTable) -> dict[str, object]:
    keys = {name: getattr(table, name) for name in table.__struct_fields__}
    return keys | (keys.pop(table.further) if table.further else {})


def _differences(key: str, before: object, after: object) -> Iterator[str]:
    """Yield the differences of two values, down to the entries of lists and the keys of tables."""
    first, second = (_plain(value) if isinstance(value, TomlTable) else value for value in (before, after))
    if isinstance(first, dict) and isinstance(second, dict):
        for name in dict.fromkeys((*first, *second)):
            yield from _differences(f"{key}.{name}" if key else name, first.get(name), second.get(name))
    elif isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        for number, pair in enumerate(zip(first, second, strict=True)):
            yield from _differences(f"{key}[{number}]", *pair)
    elif first != second:
        yield f"{key}: {_text(first)} → {_text(second)}"


def _text(value: object) -> str:
    if isinstance(value, TomlTable):
        value = _plain(value)
    if isinstance(value, Expression):
        return _expression(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_text(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _SHA256.fullmatch(value):
        return f"{value[:12]}…"
    return "none" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _expression(expression: Expression) -> str:
    if not expression.operation:
        return expression.name
    parts = [f"({_expression(o)})" if o.operation else o.name for o in expression.operands]
    return f"not {parts[0]}" if expression.operation == "not" else f" {expression.operation} ".join(parts)


def _names(first: Trigger, second: Trigger, a: Menu, b: Menu) -> Iterator[str]:
    """Yield the objects and sums that a trigger uses and the two menus define differently."""
    words = {
        word.removeprefix("n_")
        for trigger in (first, second)
        for text in _strings(trigger.description)
        for word in _WORD.findall(text)
    }
    meanings = _meanings(a.scope), _meanings(b.scope)
    for name in sorted(words & (meanings[0].keys() | meanings[1].keys())):
        if meanings[0].get(name) != meanings[1].get(name):
            yield f"{name} is defined differently"


def _meanings(scope: Scope) -> dict[str, object]:
    return dict(scope.objects) | {"ht": scope.ht, "mht": scope.mht}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, TomlTable):
        yield from _strings(tuple(_plain(value).values()))
    elif isinstance(value, tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
