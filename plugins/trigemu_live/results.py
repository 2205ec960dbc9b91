"""What is recorded of a menu, and what rules leave of consecutive crossings: immutable results. The fields of
rows say how they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.shown import Named, Shown
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate
from trigemu.results import numbers
from trigemu.results.table import Column
from trigemu.samples.catalogue import Catalogue

from .beam import Start
from .curve import LiveCurve
from .filling import Filling
from .rules import Rules

_PARTS = ("hz", "error_hz", "events")
_NAME = Column("", "key", "trigger", "The name of the trigger, group, level or menu.")
_KIND = Column("", "label", None, "trigger, group or level.")


def live_text(live: float, error: float) -> str:
    """Format the part of accepts that are recorded: 99.3 ± 0.2 %; > 98.8 % where none is lost."""
    if live not in (0.0, 1.0) or not error:
        return numbers.percent(live, error)
    limit = f"{100 * abs(live - error):.{max(0, 1 - math.floor(math.log10(100 * error)))}f} %"
    return f"> {limit}" if live else f"< {limit}"


_LIVE = Column(
    "", "share", "live", "The part of its accepts that are recorded.", text=lambda v: live_text(*v)
)
_PRESCALE = Column("", "number", "prescale", "Its prescale.", text=numbers.prescale_text, gives_way=6)
_GAIN = Column(
    "gain", "difference", "others gain", "What the other triggers would gain without it.", gives_way=2
)
_CAUSE = Column("cause", "label", "lost most to", "The rule that vetoes most of its accepts.")
_BECAUSE = Column("", "label", "because of", "The trigger whose accepts block most of its own.")


@dataclass(frozen=True, kw_only=True)
class LiveItem:
    """The rates of a trigger, a group or a level before and after the rules."""

    name: Annotated[str, _NAME]
    kind: Annotated[Literal["trigger", "group", "level"], _KIND]
    level: Annotated[str | None, Column("", "label", None, "Its level, in menus with levels.")]
    prescale: Annotated[float | None, _PRESCALE]
    before: Annotated[
        Rate, Column("", "rate", "before", "Its rate without the rules.", parts=_PARTS, gives_way=3)
    ]
    after: Annotated[Rate, Column("", "rate", "recorded", "Its rate with the rules.", parts=_PARTS)]
    live: Annotated[float, _LIVE]
    #: Its error, from the drawn crossings; where none (or all) of the accepts are lost, how far it may be
    #: from 1 (or 0) at 68 %
    live_error: float
    unique: Annotated[
        Rate,
        Column("", "rate", "unique", "The recorded rate that it alone accepts.", parts=_PARTS, gives_way=4),
    ]
    #: The number of lost accepts by rule, and the part of them that accepts of each trigger blocked.
    lost: Annotated[Mapping[str, int], replace(_CAUSE, gives_way=1)]
    because: Annotated[Mapping[str, float], replace(_BECAUSE, gives_way=5)]
    #: For a trigger of the first level.
    gain_hz: Annotated[float | None, _GAIN]
    gain_error_hz: float | None
    drawing_error_hz: Annotated[
        float, Column("", "number", None, "The error of `after` from the drawn crossings, in Hz.")
    ]
    table_error_hz: Annotated[
        float, Column("", "number", None, "The error of `after` from the events of the samples, in Hz.")
    ]
    gain_live: Annotated[
        float | None, Column("", "number", None, "By how much the live fraction would rise without it.")
    ]


@dataclass(frozen=True)
class OrderedItem:
    """The accepts of a trigger, a group or a level."""

    name: Annotated[str, _NAME]
    kind: Annotated[str, _KIND]
    before: Annotated[int, Column("", "count", "accepts", "Its accepts without the rules.")]
    after: Annotated[int, Column("", "count", "recorded", "Its accepts with the rules.")]
    #: The accepts that are lost, by rule, and the part of them that accepts of each trigger blocked.
    lost: Annotated[Mapping[str, int], _CAUSE]
    because: Annotated[Mapping[str, float], replace(_BECAUSE, gives_way=1)]


T = TypeVar("T", bound=LiveItem | OrderedItem)


def by_kind(items: Sequence[T]) -> dict[str, Any]:
    """Return the triggers, groups and levels of `items` as the fields of a result."""
    kinds = ("trigger", "group", "level")
    return {f"{kind}s": tuple(item for item in items if item.kind == kind) for kind in kinds}


@dataclass(frozen=True, repr=False, kw_only=True)
class _Recorded(Shown, Named[T], Generic[T]):
    """A menu before and after rules; result["J100"] are the numbers of a trigger or group."""

    menu: Menu  #: The menu, at the crossing rate of the filling scheme if crossings are drawn
    catalogue: Catalogue  #: The samples
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    #: triggers, groups, levels: The numbers. A menu without levels has one level.
    triggers: tuple[T, ...]
    groups: tuple[T, ...]
    levels: tuple[T, ...]
    models: Mapping[str, str]  #: The SHA-256 of each model file by its path

    def _named(self) -> tuple[str, Mapping[str, T]]:
        return "trigger or group", {item.name: item for item in (*self.groups, *self.triggers)}

    @property
    def all_items(self) -> tuple[T, ...]:
        """The triggers, groups and levels."""
        return (*self.triggers, *self.groups, *self.levels)


@dataclass(frozen=True, repr=False, kw_only=True)
class LiveRates(_Recorded[LiveItem]):
    """What is recorded of a menu; result["J100"] are the rates of a trigger or group."""

    _view: ClassVar[str] = "trigemu_live.view:LiveRatesView"

    seconds: float  #: The time of beam, of all beams together, in whole orbits
    seed: int  #: The seed
    start: Start  #: Where prescale counters begin
    factor: float  #: The factor on the rate of crossings in which a trigger fires
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
    warnings: tuple[str, ...] = ()  #: Warnings to read before using the numbers

    @property
    def rate(self) -> LiveItem:
        """The rates of the menu, those of its last level."""
        return self.levels[-1]

    @property
    def by_position(self) -> tuple[IntArray, IntArray, IntArray]:
        """Accepts of the first level by the number of bunches before them in their train: before the rules,
        int64[p], after them, and lost by each rule, int64[r, p]."""
        slots, position = self.filling.slots, self.filling.position
        shape = int(position.max()) + 1
        rows = (*self.by_slot, *self.lost_by_slot)
        sums = np.array([np.bincount(position, row[slots], shape) for row in rows]).astype(np.int64)
        return sums[0], sums[1], sums[2:]


@dataclass(frozen=True)
class Vetoed:
    """An accept of the first level that a rule vetoes."""

    path: str  #: The file
    crossing: int  #: The number of the crossing in the file's own numbering
    rule: str  #: The rule
    triggers: tuple[str, ...]  #: The triggers that accept it


@dataclass(frozen=True, repr=False, kw_only=True)
class OrderedAccepts(_Recorded[OrderedItem]):
    """What rules leave of consecutive crossings; result["L1_SingleMu22"] are the accepts of a trigger or
    group."""

    _view: ClassVar[str] = "trigemu_live.view:OrderedAcceptsView"

    crossings: int  #: The number of crossings
    vetoed: tuple[Vetoed, ...]  #: The accepts that rules veto, in order
