"""What is recorded of a menu, and what rules leave of consecutive crossings: immutable results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.shown import Named, Shown
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate
from trigemu.samples.catalogue import Catalogue

from .beam import Start
from .curve import LiveCurve
from .filling import Filling
from .rules import Rules


@dataclass(frozen=True)
class LiveItem:
    """The rates of a trigger, a group or a level before and after the rules."""

    name: str  #: Its name; empty for the level of a menu without levels
    kind: Literal["trigger", "group", "level"]  #: What it is
    level: str | None  #: Its level, if the menu has levels
    prescale: float | None  #: The prescale of a trigger
    before: Rate  #: before, after: Its rate without and with the rules; the error has both parts below
    after: Rate
    unique: Rate  #: The rate of recorded crossings that it alone accepts, in its level
    #: drawing_error_hz, table_error_hz: The parts of the error of `after`: of the drawn crossings, and of the
    #: events of the samples.
    drawing_error_hz: float
    table_error_hz: float
    live: float  #: `after` / `before`; 1 if it accepts nothing
    live_error: float  #: The error of `live`, from the drawn crossings
    lost: Mapping[str, int]  #: The number of lost accepts by rule
    because: Mapping[str, float]  #: The part of the lost accepts that accepts of each trigger blocked
    #: gain_hz, gain_error_hz: For a trigger of the first level, the rate that the other triggers would gain
    #: without it, and its error.
    gain_hz: float | None = None
    gain_error_hz: float | None = None
    gain_live: float | None = None  #: By how much the live fraction would rise without it


@dataclass(frozen=True, repr=False)
class LiveRates(Shown, Named[LiveItem]):
    """What is recorded of a menu; result["J100"] are the rates of a trigger or group."""

    _view: ClassVar[str] = "trigemu_live.view:LIVE"

    menu: Menu  #: The menu, at the crossing rate of the filling scheme
    catalogue: Catalogue  #: The samples
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    seconds: float  #: The time of beam, of all beams together, in whole orbits
    seed: int  #: The seed
    start: Start  #: Where prescale counters begin
    factor: float  #: The factor on the rate of crossings in which a trigger fires
    #: triggers, groups, levels: The rates. A menu without levels has one level.
    triggers: tuple[LiveItem, ...]
    groups: tuple[LiveItem, ...]
    levels: tuple[LiveItem, ...]
    live: float  #: The part of the accepts of the first level that are recorded
    live_error: float  #: Its error, of both the drawing and the samples
    by_slot: IntArray  #: int64[2, 3564], accepts of the first level before and after the rules in each slot
    lost_by_slot: IntArray  #: int64[r, 3564], lost accepts by rule
    #: float64[r], the error of the rate of accepts lost by each rule, from the drawn crossings.
    lost_error_hz: FloatArray
    #: int64[d], the number of distances between recorded accepts in each interval of `distance_edges`.
    distances: IntArray
    distance_edges: IntArray  #: int64[d], the smallest distance of each, in crossings of 25 ns
    early: tuple[int, int]  #: Accepts one crossing early, before and after the rules
    curve: LiveCurve  #: The live fraction of independent crossings at other rates
    #: The part of the rate in patterns that are not drawn, because their weights are negative.
    negative: float
    models: Mapping[str, str]  #: The SHA-256 of each model file by its path
    warnings: tuple[str, ...] = ()  #: Warnings to read before using the numbers

    def _named(self) -> tuple[str, Mapping[str, LiveItem]]:
        return "trigger or group", {item.name: item for item in (*self.groups, *self.triggers)}

    @property
    def all_items(self) -> tuple[LiveItem, ...]:
        """The triggers, groups and levels."""
        return (*self.triggers, *self.groups, *self.levels)

    @property
    def rate(self) -> LiveItem:
        """The rates of the menu, those of its last level."""
        return self.levels[-1]

    @property
    def by_position(self) -> tuple[IntArray, IntArray, IntArray]:
        """Accepts of the first level by the number of bunches before them in their train: before the rules,
        int64[p], after them, and lost by each rule, int64[r, p]."""
        import numpy as np

        slots, position = self.filling.slots, self.filling.position
        shape = int(position.max()) + 1
        rows = (*self.by_slot, *self.lost_by_slot)
        sums = np.array([np.bincount(position, row[slots], shape) for row in rows]).astype(np.int64)
        return sums[0], sums[1], sums[2:]


@dataclass(frozen=True)
class OrderedItem:
    """The accepts of a trigger, a group or a level."""

    name: str  #: Its name; empty for the level of a menu without levels
    kind: str  #: trigger, group or level
    before: int  #: before, after: Its accepts without and with the rules
    after: int
    lost: Mapping[str, int]  #: The accepts that are lost, by rule
    because: Mapping[str, float]  #: The part of them that accepts of each trigger blocked


@dataclass(frozen=True)
class Vetoed:
    """An accept of the first level that a rule vetoes."""

    path: str  #: The file
    crossing: int  #: The number of the crossing in the file's own numbering
    rule: str  #: The rule
    triggers: tuple[str, ...]  #: The triggers that accept it


@dataclass(frozen=True, repr=False)
class OrderedAccepts(Shown, Named[OrderedItem]):
    """What rules leave of consecutive crossings; result["L1_SingleMu22"] are the accepts of a trigger or
    group."""

    _view: ClassVar[str] = "trigemu_live.view:ORDERED"

    menu: Menu  #: The menu
    catalogue: Catalogue  #: The samples
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    crossings: int  #: The number of crossings
    triggers: tuple[OrderedItem, ...]  #: triggers, groups, levels: The accepts
    groups: tuple[OrderedItem, ...]
    levels: tuple[OrderedItem, ...]
    vetoed: tuple[Vetoed, ...]  #: The accepts that rules veto, in order
    models: Mapping[str, str]  #: The SHA-256 of each model file by its path

    def _named(self) -> tuple[str, Mapping[str, OrderedItem]]:
        return "trigger or group", {item.name: item for item in (*self.groups, *self.triggers)}
