"""Data of explorer pages read back, states of them drawn at random, and what trigemu says of them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np

from trigemu import Menu, Profile, compare, efficiencies, emulate, rates_of
from trigemu.api import Rate
from trigemu.emulation.event_table import EventTable

_TYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f64": "<f8"}


def unpacked(block: bytes) -> dict[str, Any]:
    """The header with arrays in place of what it says of them; bits as bool."""
    length = int.from_bytes(block[:4], "little")
    start = -(-(4 + length) // 8) * 8
    assert not any(block[4 + length : start])

    def array(entry: dict[str, Any]) -> Any:
        if entry.keys() != {"dtype", "at", "length"}:
            return entry
        assert entry["at"] % 8 == 0
        n, at = entry["length"], start + entry["at"]
        if entry["dtype"] == "bits":
            packed = np.frombuffer(block, np.uint8, -(-n // 8), at)
            return np.unpackbits(packed, count=n, bitorder="little").astype(np.bool_)
        return np.frombuffer(block, _TYPES[entry["dtype"]], n, at)

    found: dict[str, Any] = json.loads(block[4 : 4 + length], object_hook=array)
    return found


def same(name: str, found: Sequence[float | None], expected: Sequence[float]) -> bool:
    """To rounding: sums are in another order in the page, and errors are roots of differences. Limits of
    efficiencies next to 1 are roots of what is left to 1, which is known to some 1e-12."""
    size = max(map(abs, expected), default=0.0)
    if "efficiency" in name or "turn-on" in name:
        allowed = 2e-6
    elif "fraction" in name or "rejection" in name:
        allowed = 1e-7 * max(1.0, size)
    else:
        allowed = 1e-9 * max(size, 1e-3)
    return all(
        math.isnan(b) if a is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=allowed)
        for a, b in zip(found, expected, strict=False)
    )


def random_slot(rng: random.Random, data: Mapping[str, Any]) -> str:
    """A menu with some thresholds, prescales and switches changed, as the address of a page says it."""
    menu = rng.choice(data["menus"])
    moved = []
    for trigger in menu["triggers"]:
        words, decision = [], trigger["decision"]
        if rng.random() < 0.5 and decision.get("last", 0) > decision.get("first", 0):
            step = rng.randint(decision["first"], decision["last"])
            words.append(f"t{data['scores'][decision['score']]['steps'][step]!r}")
        if rng.random() < 0.2:
            words.append(f"p{rng.choice([1, 2, 3.5, 10, 1000])}")
        if trigger is menu["triggers"][0]:
            words.append("on")  # a menu needs a trigger
        elif rng.random() < 0.25:
            words.append(rng.choice(["on", "off"]))
        if words:
            moved.append(f"{quote(trigger['name'], safe='')}:{','.join(words)}")
    return ";".join([quote(menu["name"], safe=""), *moved])


def of_rate(rate: Rate) -> tuple[float, ...]:
    numbers = (rate.hz, rate.error_hz, rate.events, rate.effective_events)
    return (*numbers, rate.upper_limit_hz or 0.0)


def truth(
    scores: EventTable, slots: Sequence[Menu], signals: Mapping[str, Sequence[Profile]]
) -> Iterator[tuple[str, tuple[float, ...]]]:
    """What `run`, `compare` and `efficiency` say of the menus of both slots."""
    for place, menu in zip("AB", slots, strict=True):
        rates = rates_of(emulate([menu], scores))
        yield f"{place} rate", of_rate(rates.rate)
        for level in rates.levels:
            yield f"{place} level {level.name}", of_rate(level.rate)
            yield (f"{place} rejection {level.name}", (level.rejection or 0.0, level.rejection_error or 0.0))
        for kind, rows in (("trigger", rates.triggers), ("group", rates.groups)):
            for row in rows:
                for quantity in ("total", "unique", "share"):
                    yield f"{place} {kind} {row.name} {quantity}", of_rate(row.rates[quantity])
                yield f"{place} {kind} {row.name} fraction", row.unique_fraction or (0.0, 0.0)
        names = [trigger.name for trigger in menu.enabled]
        for i, first in enumerate(names):
            for j, second in enumerate(names[: i + 1]):
                found = rates.overlap[i, j], rates.overlap_error[i, j]
                yield f"{place} overlap {first} {second}", tuple(map(float, found))
        for signal, profiles in signals.items():
            other = slots[place == "A"]
            yield from _efficiencies(place, menu, other, scores, signal, profiles)
    a, b = (replace(menu, name=place) for place, menu in zip("AB", slots, strict=True))
    found = compare(emulate([a, b], scores))
    for d in found.differences:
        yield f"difference {d.what} {d.quantity}", (0.0 - d.b_minus_a_hz, d.error_hz)
    for gain in found.gained:
        yield f"gained {gain.a} {gain.b}", (gain.hz, gain.error_hz)


def _efficiencies(
    place: str, menu: Menu, other: Menu, scores: EventTable, signal: str, profiles: Sequence[Profile]
) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Of a menu, with its gains over another one at these thresholds, whatever their errors are."""
    names = [trigger.name for trigger in menu.enabled]
    whole = Profile("met", (0.0, 1e6))  # of a page that has no turn-on
    pair = [
        solved.solved({t.name: replace(t.solution, error=0.0) for t in solved.enabled if t.solution})
        for solved in emulate([replace(other, name="other"), replace(menu, name="this")], scores).menus
    ]
    measured = efficiencies(pair, scores.catalogue, [signal], [whole, *profiles], triggers=names)
    for number, turnon in enumerate(measured.turnons):
        for curve in turnon.curves:
            of, overall = curve.trigger or "menu", curve.overall
            if curve.menu == "other":
                continue
            if number == 0:
                gain = overall.gain, overall.gain_error
                yield f"{place} efficiency {signal} {of}", (overall.value, overall.low, overall.high, *gain)
            else:
                name = f"{place} turn-on {signal} {turnon.profile.observable} {of}"
                yield name, tuple(map(float, (*curve.value, *curve.low, *curve.high)))
