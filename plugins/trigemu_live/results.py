"""What is recorded of a menu: the result, and how it is shown. The columns of rows say which value they
take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.shown import Named, Shown
from trigemu.menus.menu import Menu
from trigemu.rates.results import Rate
from trigemu.results import notes, numbers
from trigemu.results.rates import provenance
from trigemu.results.samples import left_out
from trigemu.results.table import Column, Page, Role, Table, columns_of, records
from trigemu.results.view import Pictures, View, name
from trigemu.samples.catalogue import Catalogue

from .beam import DISTANCES, PARTS, Start
from .filling import Filling
from .patterns import Kind
from .rules import LiveFraction, Rules, live_at

#: What errors of the drawing are from, by the start of the prescale counters.
_PHASES = {
    "random": f" in {PARTS} beams, each with counters at other phases",
    "zero": f", in {PARTS} parts of the time",
}


def live_text(live: float, error: float) -> str:
    """Format the part of accepts that are recorded: 99.3 ± 0.2 %; > 98.8 % where none is lost."""
    if live not in (0.0, 1.0) or not error:
        return numbers.percent(live, error)
    limit = f"{100 * abs(live - error):.{max(0, 1 - math.floor(math.log10(100 * error)))}f} %"
    return f"> {limit}" if live else f"< {limit}"


def largest(parts: Mapping[str, float]) -> str | None:
    """Return the largest part of the losses with its percentage."""
    most, total = max(parts, key=lambda key: parts[key], default=""), sum(parts.values())
    return f"{most} {100 * parts[most] / total:.0f} %" if total else None


_PARTS = ("hz", "error_hz", "events")
_VETO = "The rule that vetoes most of its accepts."
CAUSE = Column("cause", "label", "lost most to", _VETO, of=lambda item: largest(item.lost))
_BLOCK = "The trigger whose accepts block most of its own."
BECAUSE = Column("", "label", "because of", _BLOCK, of=lambda item: largest(item.because))
_LIVE_PART = Column("part", "share", "live", in_files=False, of=lambda i: live_text(i.live, i.live_error))
_GAIN = Column(
    "gain",
    "difference",
    "others gain",
    "What the other triggers would gain without it.",
    gives_way=2,
    of=lambda i: None if i.gain_hz is None else (i.gain_hz, i.gain_error_hz),
)


def _rate(heading: str, meaning: str, gives_way: int = 0) -> Column:
    return Column("", "rate", heading, meaning, parts=_PARTS, gives_way=gives_way)


def _in_files(role: Role, meaning: str) -> Column:
    return Column("", role, None, meaning)


@dataclass(frozen=True)
class Item:
    """A trigger, a group or a level."""

    name: Annotated[str, Column("", "key", "trigger", "The name of the trigger, group, level or menu.")]
    kind: Annotated[Kind, Column("", "label", None, "trigger, group or level.")]


@dataclass(frozen=True, kw_only=True)
class LiveItem(Item):
    """The rates of a trigger, a group or a level before and after the rules."""

    level: Annotated[str | None, _in_files("label", "Its level, in menus with levels.")]
    prescale: Annotated[
        float | None,
        Column("", "number", "prescale", "Its prescale.", text=numbers.prescale_text, gives_way=6),
    ]
    before: Annotated[Rate, _rate("before", "Its rate without the rules.", 3)]
    after: Annotated[Rate, _rate("recorded", "Its rate with the rules.")]
    live: Annotated[float, _in_files("share", "The part of its accepts that are recorded.")]
    #: Its error, from the drawn crossings; where none (or all) of the accepts are lost, how far it may be
    #: from 1 (or 0) at 68 %
    live_error: Annotated[float, _LIVE_PART]
    unique: Annotated[Rate, _rate("unique", "The recorded rate that it alone accepts.", 4)]
    #: The number of lost accepts by rule, and the part of them that accepts of each trigger blocked.
    lost: Annotated[Mapping[str, int], replace(CAUSE, gives_way=1)]
    because: Annotated[Mapping[str, float], replace(BECAUSE, gives_way=5)]
    #: For a trigger of the first level.
    gain_hz: Annotated[float | None, _GAIN]
    gain_error_hz: float | None
    drawing_error_hz: Annotated[
        float, _in_files("number", "The error of `after` from drawn crossings, in Hz.")
    ]
    table_error_hz: Annotated[float, _in_files("number", "The error of `after` from the samples, in Hz.")]
    gain_live: Annotated[
        float | None, _in_files("number", "By how much the live fraction would rise without it.")
    ]


_COLUMNS = columns_of(LiveItem)
T = TypeVar("T", bound=Item)


def by_kind(items: Sequence[Any]) -> dict[str, Any]:
    """Return the triggers, groups and levels of `items` as the fields of a result."""
    return {f"{kind}s": tuple(i for i in items if i.kind == kind) for kind in ("trigger", "group", "level")}


@dataclass(frozen=True, repr=False, kw_only=True)
class ReadoutResult(Shown):
    """What a result was made with."""

    catalogue: Catalogue  #: The samples
    filling: Filling  #: The filling scheme
    rules: Rules  #: The rules
    models: Mapping[str, str]  #: The SHA-256 of each model file of the menu, by its path


@dataclass(frozen=True, repr=False, kw_only=True)
class Recorded(ReadoutResult, Named[T], Generic[T]):
    """A menu before and after rules; result["J100"] are the numbers of a trigger or group."""

    menu: Menu  #: The menu, at the crossing rate of the filling scheme if crossings are drawn
    #: triggers, groups, levels: The numbers. A menu without levels has one level.
    triggers: tuple[T, ...]
    groups: tuple[T, ...]
    levels: tuple[T, ...]

    def _named(self) -> tuple[str, Mapping[str, T]]:
        return "trigger or group", {item.name: item for item in (*self.groups, *self.triggers)}

    @property
    def items(self) -> tuple[T, ...]:
        """The triggers, groups and levels."""
        return (*self.triggers, *self.groups, *self.levels)


@dataclass(frozen=True, repr=False, kw_only=True)
class LiveRates(Recorded[LiveItem]):
    """What is recorded of a menu; result["J100"] are the rates of a trigger or group."""

    _view: ClassVar[str] = "trigemu_live.results:LiveRatesView"

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
    #: int64[d], the number of distances between recorded accepts from each of `DISTANCES` to the next one.
    distances: IntArray
    curve: tuple[LiveFraction, ...]  #: The live fraction of independent crossings at other rates
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
        rows = (*self.by_slot, *self.lost_by_slot)
        sums = np.array([np.bincount(position, row[slots]) for row in rows]).astype(np.int64)
        return sums[0], sums[1], sums[2:]


class LiveRatesView(View[LiveRates]):
    def line(self, result: LiveRates) -> str:
        live = live_text(result.live, result.live_error)
        return f"of {name(result.menu.name)}: {numbers.format_rate(result.rate.after)}, {live} live"

    def page(self, result: LiveRates) -> Page:
        causes = [table_of_causes(result)] if result.rules.rules else []
        return Page([table_of_items(result), *causes], [*_notes(result)])

    def table(self, result: LiveRates) -> Table:
        return Table.of(_COLUMNS, result.items)

    def document(self, result: LiveRates) -> dict[str, Any]:
        before, after, lost = (part.tolist() for part in result.by_position)
        return {
            **document_of(result, result.menu),
            "seconds": result.seconds,
            "seed": result.seed,
            "counters": result.start,
            "factor": result.factor,
            "live": result.live,
            "live_error": result.live_error,
            "warnings": list(result.warnings),
            "rows": records(self.table(result)),
            "losses": losses(result.items),
            "by_position": {
                "before": before,
                "after": after,
                "lost": dict(zip(result.rules.labels, lost, strict=True)),
            },
            "by_slot": dict(zip(("before", "after"), result.by_slot.tolist(), strict=True)),
            "distances": {"from": DISTANCES.tolist(), "accepts": result.distances.tolist()},
            "curve": [
                {"input_rate_hz": p.input_rate_hz, "live": p.value, "error": p.error} for p in result.curve
            ],
        }

    def pictures(self, result: LiveRates) -> Pictures:
        from .figures import figures_of  # which loads Matplotlib

        return figures_of(result)


def losses(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Return what a document says of the losses of items."""
    return [{"name": i.name, "kind": i.kind, "lost": dict(i.lost), "because": dict(i.because)} for i in items]


def document_of(result: ReadoutResult, menu: Menu) -> dict[str, Any]:
    """Return what a document says of a menu, its prescales, the samples and files, bunches and rules."""
    filling, rules = result.filling, result.rules
    return {
        "menu": {
            "name": menu.name,
            "crossing_rate_hz": menu.crossing_rate_hz,
            "column": menu.columns.chosen,
        },
        "left_out": left_out(result.catalogue),
        "provenance": provenance(menu, result.catalogue, result.models) | {"prescales": menu.columns.file},
        "filling": {"name": filling.name, "colliding": len(filling.slots)},
        "rules": {"name": rules.name, "source": rules.source, "rules": list(rules.labels)},
    }


def table_of_items(result: LiveRates) -> Table:
    """Return what is recorded of each trigger, group and level, as a page shows it."""
    table = Table.of(_COLUMNS, result.triggers)
    for group in result.groups:
        if group is result.groups[0]:
            table.add_gap()
        table.add_record(replace(group, name=f"group {group.name}"), "group")
    table.add_gap()
    for level in result.levels:
        table.add_record(replace(level, name=level.name or f"menu {result.menu.name}"), "summary")
    return table


def table_of_causes(result: LiveRates) -> Table:
    """Return the accepts of the first level that each rule vetoes."""
    first = result.levels[0]
    table = Table(
        (
            Column("rule", "key", "rule", "The rule."),
            Column("lost", "rate", "lost", "The rate of accepts that it vetoes.", parts=("hz", "error_hz")),
            Column("share", "share", "of accepts", "Their part of the accepts of the first level."),
        )
    )
    for rule, error in zip(result.rules.labels, result.lost_error_hz.tolist(), strict=True):
        lost = first.lost[rule]
        table.add(rule, (lost / result.seconds, error), lost / max(first.before.events, 1))
    return table


def notes_of_inputs(menu: Menu, catalogue: Catalogue) -> Iterator[str]:
    """Yield the menu, its column of prescales, the pile-up and the samples."""
    column = f", column {menu.columns.chosen}" if menu.columns.chosen else ""
    yield f"Menu {name(menu.name)}{column}. {notes.conditions(menu, catalogue)}".rstrip()
    yield from notes.source(menu, catalogue)


def _notes(result: LiveRates) -> Iterator[str]:
    """Yield what explains the numbers."""
    filling, rules, first = result.filling, result.rules, result.levels[0]
    yield from notes_of_inputs(result.menu, result.catalogue)
    label = filling.name if filling.name in filling.description else f"{filling.name}, {filling.description}"
    crossings = numbers.in_hz(filling.crossing_rate_hz)
    yield f"{result.seconds:.4g} s of beam, seed {result.seed}: {label}, {crossings} of crossings."
    source = f" ({rules.source})" if rules.source else ""
    yield (
        f"Rules {rules.name}: {rules.text}{source}." if rules.rules else "No rules: every accept is recorded."
    )
    if result.factor != 1.0:
        yield f"All rates are those of the menu times {result.factor:.4g}."
    whose = f" of {first.name}" if first.name else ""
    yield (
        f"Live: {live_text(result.live, result.live_error)} of the accepts{whose}; independent "
        f"crossings at this rate: {100 * live_at(result.curve, first.before.hz):.4g} %."
    )
    yield f"±: crossings as drawn{_PHASES[result.start]}, and events of the samples. Live: as drawn."
    if any(r.upper_limit_hz for item in result.items for r in (item.before, item.after, item.unique)):
        yield "<: no accept; upper limit at 68 %, at least the rate over all phases of the counters."
    if any(item.live == 1.0 and item.live_error for item in result.items):
        yield ">: none of its accepts is lost; lower limit at 68 %."
    if rules.rules:
        yield (
            "Others gain: what the triggers beside it would record in addition without it, from the live "
            "fraction at the lower rate."
        )
    yield from (f"Warning: {warning}." for warning in result.warnings)
    if result.negative:
        share = f"{100 * result.negative:.2g} %"
        yield f"Not drawn: patterns with negative weights, {share} of the rate of all triggers."
