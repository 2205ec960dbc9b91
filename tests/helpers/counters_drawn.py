"""Menus of `counters_twin` run over events with counters that count, in numpy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from counters_twin import Expression, Toy, ToyMenu, names_in

#: A column for each trigger: bool[n].
Columns = dict[str, np.ndarray]


def evaluate(expression: Expression, decisions: Columns) -> np.ndarray:
    if isinstance(expression, str):
        return decisions[expression]
    operation, *operands = expression
    values = [evaluate(operand, decisions) for operand in operands]
    if operation == "not":
        return ~values[0]
    return (np.logical_and if operation == "and" else np.logical_or).reduce(values)


def in_order(menu: ToyMenu) -> list[Toy]:
    """Each after those that it reads."""
    placed: list[Toy] = []
    while len(placed) < len(menu.triggers):
        known = {t.name for t in placed}
        for t in menu.triggers:
            reads = set().union(*(names_in(e) for e in (t.seed, t.logic) if e is not None))
            placed += [t] if t not in placed and reads <= known else []
    return placed


def run(menu: ToyMenu, given: Columns, passed: Columns, never: str | None = None) -> Columns:
    """Whether each enabled trigger accepts, if `passed` is what its counter says."""
    n = len(next(iter(passed.values())))
    raw: Columns = {}
    seeding: Columns = {}
    accepted: Columns = {}
    for t in in_order(menu):
        if t.logic is not None:
            own = evaluate(t.logic, raw)
        else:
            own = np.ones(n, np.bool_) if t.random_hz is not None else given[t.name]
        raw[t.name] = own & evaluate(t.seed, raw) if t.seed is not None else own
        seeding[t.name] = raw[t.name]
        if t.enabled:
            accepted[t.name] = own & passed[t.name] & (t.name != never)
            if t.seed is not None:
                accepted[t.name] &= evaluate(t.seed, seeding)
            seeding[t.name] = accepted[t.name]
    return accepted


def observed(menu: ToyMenu, given: Columns, passed: Columns) -> Iterator[tuple[str, Any, np.ndarray]]:
    """The field of `Contributions`, the key in it, and −1, 0 or 1 of each event, for all but the shares."""
    accepted, on = run(menu, given, passed), menu.enabled

    def either(triggers: Iterable[Toy], among: Columns = accepted) -> np.ndarray:
        columns = [among[t.name] for t in triggers]
        return np.logical_or.reduce(columns) if columns else np.zeros_like(accepted[on[0].name])

    last = [t for t in on if not menu.levels or t.level == menu.levels[-1]]
    yield "menu", None, either(last)
    for level in menu.levels:
        yield "levels", level, either(t for t in on if t.level == level)
    for t in on:
        peers = [u for u in on if u.level == t.level and u is not t]
        yield "total", t.name, accepted[t.name]
        yield "unique", t.name, accepted[t.name] & ~either(peers)
        for u in on:
            yield "overlap", (t.name, u.name), accepted[t.name] & accepted[u.name]
        if t.level in menu.levels[:-1]:
            without = either(last, run(menu, given, passed, t.name))
            yield "lost", t.name, either(last).astype(np.int8) - without
            yield "changed", t.name, either(last) ^ without
    for group in {t.group for t in on if t.group}:
        members = [t for t in on if t.group == group]
        peers = [t for t in on if t.level == members[0].level and t not in members]
        yield "group_total", group, either(members)
        yield "group_unique", group, either(members) & ~either(peers)


def drawn(menu: ToyMenu, rng: np.random.Generator, n: int) -> Columns:
    """Whether each trigger passes its counter, from one uniform number a counter and event."""
    numbers: dict[Any, np.ndarray] = {}
    passed = {}
    for t in menu.triggers:
        key = ("set", t.coherent) if t.coherent else t.name
        if key not in numbers:
            numbers[key] = rng.random(n)
        prescale = float(t.prescale) * (menu.crossing_rate_hz / t.random_hz if t.random_hz else 1.0)
        passed[t.name] = numbers[key] * prescale < 1.0
    return passed
