"""The data of explorer pages, read back in the plainest way."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trigemu import Menu
from trigemu.api import BitKind, FloatArray, ScoreKind, acceptances
from trigemu.counting import Label, fractions
from trigemu.emulation.counted import constant_in

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


def at_steps(data: dict[str, Any], number: int, menu: Menu, steps: Mapping[str, int]) -> Menu:
    """The menu with some triggers at steps of the page."""
    triggers = {t["name"]: t for t in data["menus"][number]["triggers"]}

    def moved(name: str, kind: ScoreKind) -> ScoreKind:
        return kind.at(data["scores"][triggers[name]["decision"]["score"]]["steps"][steps[name]])

    return replace(
        menu,
        triggers=tuple(
            replace(t, description=moved(t.name, t.description), budget=None, solution=None)
            if t.name in steps and isinstance(t.description, ScoreKind)
            else t
            for t in menu.triggers
        ),
    )


def rates_in(
    data: dict[str, Any], number: int, menu: Menu, steps: Mapping[str, int]
) -> dict[Label, tuple[float, float, int]]:
    """Rate and error in Hz, and number of events, of each quantity of a menu with triggers at steps: f₀ of an
    event, without the fitted triggers, and its factor times f − f₀."""
    table, scale = data["background"], data["menus"][number]["scale"]
    fitted = {t["name"] for t in data["menus"][number]["triggers"] if t["fitted"]}
    off = (replace(t, prescale=math.inf) if t.name in fitted else t for t in menu.triggers)
    without = replace(menu, triggers=tuple(off))

    def accepted(begin: str, n: int) -> dict[Label, tuple[FloatArray, FloatArray]]:
        rows = (steps, table[f"{begin}scores"], table[f"{begin}bits"], n)
        f, f0 = (_fractions(data, number, of, *rows) for of in (menu, without))
        factor = np.array(table["factors"])[table[f"{begin}factor"]]
        return {label: (f[label], f0[label] + factor * (f[label] - f0[label])) for label in f}

    events, cells = accepted("", table["events"]), accepted("cell_", table["cells"])
    constant = _constant(menu, fitted)
    weight = table["weights"][table["weight"]]
    parent = np.cumsum(table["first"]) - 1
    found = {}
    for label, (f, enters) in events.items():
        of_cell, cell_enters = cells[label]
        hz = weight @ enters + table["cell_weight"] @ cell_enters
        varying, of_cells = enters - constant.get(label, 0.0), cell_enters - constant.get(label, 0.0)
        square = (np.bincount(parent, weight * varying) ** 2).sum() + table["cell_square"] @ of_cells**2
        n = np.count_nonzero(enters) + table["cell_events"][cell_enters != 0].sum()
        some = f.any() or of_cell.any()
        found[label] = (scale * hz, scale * square**0.5, int(n)) if some else (0.0, 0.0, 0)
    return found


def _constant(menu: Menu, fitted: set[str]) -> dict[Label, float]:
    """What an event has that only triggers accept which accept all events alike: this part has no error."""
    names = constant_in(menu) - fitted
    triggers = (t if t.name in names else replace(t, prescale=math.inf) for t in menu.triggers)
    alone = replace(menu, triggers=tuple(triggers))
    bits = {t.name: 0 for t in menu.triggers if not isinstance(t.description, BitKind)}
    nothing = fractions(alone, acceptances(np.zeros((1, 1), np.uint64), alone, bits))
    return {label: float(of[0]) for label, of in nothing.items()} if names else {}


def decisions_in(
    data: dict[str, Any], number: int, steps: Mapping[str, int], scores: Any, bits: Any, n: int
) -> dict[str, Any]:
    """The decision of each trigger that has one of its own, bool[n]."""
    found = {}
    for trigger in data["menus"][number]["triggers"]:
        decision, name = trigger["decision"], trigger["name"]
        if "score" in decision:
            found[name] = scores[decision["score"]] > steps.get(name, decision["at"])
        elif "bit" in decision:
            found[name] = bits[decision["bit"]]
        elif "always" in decision:
            found[name] = np.ones(n, np.bool_)
    return found


def _fractions(
    data: dict[str, Any], number: int, menu: Menu, steps: Mapping[str, int], scores: Any, bits: Any, n: int
) -> dict[Label, Any]:
    decided = decisions_in(data, number, steps, scores, bits, n)
    names = [t.name for t in menu.triggers if not isinstance(t.description, BitKind)]
    words = np.zeros((n, 1), np.uint64)
    for bit, name in enumerate(names):
        words[:, 0] |= decided[name].astype(np.uint64) << np.uint64(bit)
    return fractions(menu, acceptances(words, menu, {name: bit for bit, name in enumerate(names)}))
