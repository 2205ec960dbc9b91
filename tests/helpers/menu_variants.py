"""Variants of small menus, and what they accept of each event by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from toy_menus import (
    EVENT_KINDS,
    all_outcomes,
    any_of,
    apart,
    by_parent,
    constant_of,
    decide,
    fitted_in,
    menus,
)

from trigemu import Menu, read_menu

Triggers = list[dict[str, Any]]
#: What the objects of a variant are: TOML, and which jets it has.
OBJECTS: list[tuple[str, Any]] = [
    ("", lambda jet: True),
    ('[objects.jet]\nfrom = "jet"\npt = { min = 25.0 }\n', lambda jet: jet["pt"] >= 25.0),
    ('[objects.jet]\nfrom = "jet"\neta = { abs_max = 1.0 }\n', lambda jet: abs(jet["eta"]) <= 1.0),
]


def write(folder: Path, name: str, text: str) -> Menu:
    file = folder / f"{name}.toml"
    file.write_text(text)
    return read_menu(file)


@st.composite
def variants(draw: st.DrawFn) -> list[Triggers]:
    """Two or three menus, the later ones changed here and there."""
    first = draw(menus())
    found = [first]
    for _ in range(draw(st.integers(1, 2))):
        variant = [dict(trigger) for trigger in first]
        for trigger in variant:
            if draw(st.booleans()):
                continue
            trigger["prescale"] = draw(st.sampled_from([1.0, 2.0, 7.0]))
            trigger["enabled"] = trigger["name"] == "T0" or draw(st.booleans())
            trigger["coherent"] = draw(st.sampled_from([None, "a"]))
            if trigger["kind"] not in ("logic", "random"):
                trigger["kind"] = draw(st.integers(0, len(EVENT_KINDS) - 1))
        for trigger in variant:
            apart(trigger, variant)
        read = " ".join(str(t.get("expression")) + " " + str(t["seed"]) for t in variant)
        loose = [t for t in variant if t["name"] not in read and t["name"] != "T0"]
        if loose and draw(st.booleans()):
            variant.remove(draw(st.sampled_from(loose)))
        found.append(draw(st.permutations(variant)))
    return found


class Variant:
    """Of each event, the fraction of each quantity that is accepted and the factor of the crossing rate."""

    def __init__(self, triggers: Triggers, rate: float, has: Any, events: Sequence[dict[str, Any]]) -> None:
        self.scale, self.rate = rate / 40e6, rate
        self.on = [t for t in triggers if t["enabled"]]
        seen = [event | {"jet": [jet for jet in event["jet"] if has(jet)]} for event in events]
        self.counters = all_outcomes(seen, triggers, rate)
        self.triggers, self.decisions = triggers, [decide(event, triggers) for event in seen]

    def constant(self, fitted: bool = False) -> Variant:
        """The same of one event that nothing accepts but what accepts all events alike and is not fitted."""
        names = fitted_in(self.triggers) if fitted else set()
        alone = constant_of([t for t in self.triggers if t["name"] not in names])
        return Variant(alone, self.rate, lambda jet: True, [{"jet": []}])

    def fractions(self, what: str, quantity: str) -> list[float]:
        if what != "menu" and what not in [t["name"] for t in self.on]:
            return [0.0 for _ in self.counters]
        if quantity == "total_hz":
            return [any_of(c, [{"name": what}]) for c in self.counters]
        rest = [t for t in self.on if t["name"] != what]
        lost = [any_of(c, rest) if quantity == "unique_hz" else 0.0 for c in self.counters]
        return [any_of(c, self.on) - without for c, without in zip(self.counters, lost, strict=True)]


def agree(
    measured: Any,
    expected: Sequence[float],
    largest: float,
    weights: Sequence[float] = (),
    constant: float = 0.0,
    parents: Sequence[int] = (),
) -> None:
    """A sum and its error, of what each event adds. constant: the part of its weight that each adds. parents:
    of the events; else each is one."""
    assert math.isclose(measured[0], math.fsum(expected), rel_tol=1e-9, abs_tol=1e-11 * largest)
    weights = weights or [0.0] * len(expected)
    varying = [value - w * constant for value, w in zip(expected, weights, strict=True)]
    error = by_parent(parents or range(len(varying)), varying)
    digits = 1e-9 if parents else 1e-11  # sums over the events of a parent lose some
    assert math.isclose(measured[1], error, rel_tol=1e-9, abs_tol=digits * largest)
