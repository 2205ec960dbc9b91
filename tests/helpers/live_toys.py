"""Menus whose triggers fire with known probabilities in a crossing, and rules crossing by crossing."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from counters_menus import ToyEvent, as_toml, catalogue_of
from counters_twin import Toy, ToyMenu
from toys import menu_from
from trigemu_live import Filling, Rules
from trigemu_live.filling import ORBIT

from trigemu import Menu
from trigemu.samples.catalogue import Catalogue

#: The rate of crossings of the toys.
CROSSINGS_HZ = 40e6


def toy(
    folder: Path, triggers: Sequence[Toy], shares: Mapping[str, float], copies: int = 1
) -> tuple[Menu, Catalogue]:
    """A menu, and crossings of which a share has each pattern: the names of the triggers that fire, separated
    by blanks. Each is made of `copies` events."""
    menu = ToyMenu(tuple(triggers))
    rest = 1.0 - sum(shares.values())
    events = [
        ToyEvent(share * CROSSINGS_HZ / copies, {t.name: t.name in names.split() for t in menu.given})
        for names, share in {**shares, "": rest}.items()
        for _ in range(copies)
    ]
    return menu_from(folder, as_toml(menu)), catalogue_of(menu, {"all": events})


def single(folder: Path, share: float, **keys: float) -> tuple[Menu, Catalogue]:
    """A menu of one trigger, T, that fires in a share of the crossings."""
    return toy(folder, [Toy("T", **keys)], {"T": share})  # type: ignore[arg-type]


def pull(value: float, error: float, expected: float) -> float:
    """How many errors a value is from what is expected."""
    return (
        abs(value - expected) / error if error else np.inf * (value != expected) if value != expected else 0.0
    )


def causes_by_hand(rules: Rules, crossings: list[int], filling: Filling) -> list[int]:
    """The rule that vetoes each crossing, −1: none; as rules are documented: accepts in a list, buckets as
    queues."""
    accepts: list[int] = []
    queues: dict[int, deque[int]] = {n: deque() for n in range(len(rules.rules))}
    causes = []
    for x in crossings:
        cause = -1
        for n, rule in enumerate(rules.rules):
            slot, orbit = x % ORBIT, x // ORBIT
            while queues[n] and queues[n][0] <= x:
                queues[n].popleft()
            match rule.kind:
                case "simple":
                    veto = any(x - rule.simple <= a for a in accepts)
                case "at_most":
                    veto = sum(a > x - rule.crossings for a in accepts) >= rule.at_most
                case "size":
                    veto = len(queues[n]) >= rule.size
                case _:
                    veto = rule.gap[0] <= slot + 1 <= rule.gap[1] and orbit % (rule.every or 1) == 0
            if veto:
                cause = n
                break
        causes.append(cause)
        if cause < 0:
            accepts.append(x)
            for n, rule in enumerate(rules.rules):
                if rule.size:
                    start = max(x, queues[n][-1]) if queues[n] else x
                    queues[n].append(start + rule.rate)
    return causes
