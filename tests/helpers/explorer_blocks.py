"""The data of explorer pages, read back in the plainest way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trigemu import Menu
from trigemu.counting import Label, acceptances, fractions
from trigemu.triggers import BitKind, ScoreKind

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
    data: dict[str, Any], number: int, menu: Menu, steps: Mapping[str, int], halved: bool = False
) -> dict[Label, tuple[float, float, int]]:
    """Rate and error in Hz, and number of events, of each quantity of a menu with triggers at steps."""
    table, scale = data["background"], data["menus"][number]["scale"]
    end = "_halved" if halved else ""
    events = _fractions(data, number, menu, steps, table["scores"], table["bits"], table["events"])
    cells = _fractions(data, number, menu, steps, table["cell_scores"], table["cell_bits"], table["cells"])
    weight = table["halved" if halved else "weights"][table["weight"]]
    parent = np.cumsum(table["first"]) - 1
    found = {}
    for label, f in events.items():
        g = cells[label]
        hz = weight @ f + table["cell_halved" if halved else "cell_weight"] @ g
        square = (np.bincount(parent, weight * f) ** 2).sum() + table[f"cell_square{end}"] @ g**2
        n = np.count_nonzero(f[weight != 0]) + table[f"cell_events{end}"][g != 0].sum()
        found[label] = scale * hz, scale * square**0.5, int(n)
    return found


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
