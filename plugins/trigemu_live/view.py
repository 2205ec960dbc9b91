"""What is recorded of a menu, of consecutive crossings, and the live fraction at several rates: what `trigemu
live` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trigemu.menus.menu import Menu
from trigemu.results import notes, numbers
from trigemu.results.rates import provenance
from trigemu.results.samples import left_out
from trigemu.results.table import Column, Page, Table, columns_of, records
from trigemu.results.view import View, name
from trigemu.samples.catalogue import Catalogue

from .beam import PARTS
from .curve import LiveCurve
from .results import LiveItem, LiveRates, OrderedAccepts, OrderedItem, live_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LIVE_COLUMNS, _ORDERED_COLUMNS = columns_of(LiveItem), columns_of(OrderedItem)
#: What errors of the drawing are from, by the start of the prescale counters.
_PHASES = {
    "random": f" in {PARTS} beams, each with counters at other phases",
    "zero": f", in {PARTS} parts of the time",
    "section": f", in {PARTS} parts of the time and sections",
}
_CAUSES = (
    Column("rule", "key", "rule", "The rule."),
    Column("lost", "rate", "lost", "The rate of accepts that it vetoes.", parts=("hz", "error_hz")),
    Column("share", "share", "of accepts", "Their part of the accepts of the first level."),
)


class LiveRatesView(View[LiveRates]):
    def line(self, result: LiveRates) -> str:
        live = live_text(result.live, result.live_error)
        return f"of {name(result.menu.name)}: {numbers.format_rate(result.rate.after)}, {live} live"

    def page(self, result: LiveRates) -> Page:
        tables = [table_of_items(result), table_of_causes(result)]
        return Page(tables if result.rules.rules else tables[:1], [*_notes(result)])

    def table(self, result: LiveRates) -> Table:
        return Table.of(_LIVE_COLUMNS, (_row(item) | {"live": item.live} for item in result.all_items))

    def document(self, result: LiveRates) -> dict[str, Any]:
        before, after, lost = (part.tolist() for part in result.by_position)
        filling, rules = result.filling, result.rules
        return {
            **document_of_inputs(result.menu, result.catalogue, result.models),
            "seconds": result.seconds,
            "seed": result.seed,
            "counters": result.start,
            "factor": result.factor,
            "filling": {"name": filling.name, "colliding": len(filling.slots)},
            "rules": {"name": rules.name, "source": rules.source, "rules": list(rules.labels)},
            "live": result.live,
            "live_error": result.live_error,
            "warnings": list(result.warnings),
            "rows": records(self.table(result)),
            "losses": _losses(result.all_items),
            "by_position": {
                "before": before,
                "after": after,
                "lost": dict(zip(rules.labels, lost, strict=True)),
            },
            "by_slot": dict(zip(("before", "after"), result.by_slot.tolist(), strict=True)),
            "distances": {"from": result.distance_edges.tolist(), "accepts": result.distances.tolist()},
            "early": dict(zip(("before", "after"), result.early, strict=True)),
            "curve": [
                {"input_rate_hz": p.input_rate_hz, "live": p.value, "error": p.error}
                for p in result.curve.points
            ],
        }

    def figures(self, result: LiveRates) -> Iterator[Figure]:
        from .figures import figures_of

        return (picture.figure for picture in figures_of(result))


def _row(item: LiveItem | OrderedItem) -> dict[str, Any]:
    row = vars(item) | {"cause": most(item.lost), "because": most(item.because)}
    if isinstance(item, LiveItem):
        row["live"] = item.live, item.live_error
        row["gain"] = None if item.gain_hz is None else (item.gain_hz, item.gain_error_hz)
    return row


def _losses(items: Iterable[LiveItem | OrderedItem]) -> list[dict[str, Any]]:
    return [{"name": i.name, "kind": i.kind, "lost": dict(i.lost), "because": dict(i.because)} for i in items]


def notes_of_inputs(menu: Menu, catalogue: Catalogue) -> Iterator[str]:
    """Yield the menu, its column of prescales, the pile-up and the samples."""
    column = f", column {menu.columns.chosen}" if menu.columns.chosen else ""
    yield f"Menu {name(menu.name)}{column}. {notes.conditions(menu, catalogue)}".rstrip()
    yield from notes.source(menu, catalogue)


def document_of_inputs(menu: Menu, catalogue: Catalogue, models: Mapping[str, str]) -> dict[str, Any]:
    """Return the same for a document, with the files."""
    columns = menu.columns
    return {
        "menu": {"name": menu.name, "crossing_rate_hz": menu.crossing_rate_hz, "column": columns.chosen},
        "left_out": left_out(catalogue),
        "provenance": provenance(menu, catalogue, models) | {"prescales": columns.file},
    }


def most(parts: Mapping[str, float]) -> str | None:
    """Return the largest part with its percentage; None if all are 0."""
    largest, total = max(parts, key=lambda key: parts[key], default=""), sum(parts.values())
    return f"{largest} {100 * parts[largest] / total:.0f} %" if total else None


def table_of_items(result: LiveRates) -> Table:
    """Return what is recorded of each trigger, group and level, as a page shows it."""
    table = Table.of(_LIVE_COLUMNS, map(_row, result.triggers))
    if result.groups:
        table.add_gap()
    for item in result.groups:
        table.add_record(_row(item) | {"name": f"group {item.name}"}, "group")
    table.add_gap()
    for item in result.levels:
        table.add_record(_row(item) | {"name": item.name or f"menu {result.menu.name}"}, "summary")
    return table


def table_of_causes(result: LiveRates) -> Table:
    """Return the accepts of the first level that each rule vetoes."""
    first = result.levels[0]
    table = Table(_CAUSES)
    for rule, error in zip(result.rules.labels, result.lost_error_hz.tolist(), strict=True):
        lost = first.lost[rule]
        table.add(rule, (lost / result.seconds, error), lost / max(first.before.events, 1))
    return table


def _notes(result: LiveRates) -> Iterator[str]:
    """Yield what explains the numbers."""
    filling, rules = result.filling, result.rules
    yield from notes_of_inputs(result.menu, result.catalogue)
    label = filling.name if filling.name in filling.description else f"{filling.name}, {filling.description}"
    yield (
        f"{result.seconds:.4g} s of beam, seed {result.seed}: {label}, "
        f"{numbers.in_hz(filling.crossing_rate_hz)} of crossings."
    )
    source = f" ({rules.source})" if rules.source else ""
    yield (
        f"Rules {rules.name}: {rules.text}{source}." if rules.rules else "No rules: every accept is recorded."
    )
    if result.factor != 1.0:
        yield f"All rates are those of the menu times {result.factor:.4g}."
    first = result.levels[0].name
    whose = f" of {first}" if first else ""
    yield (
        f"Live: {live_text(result.live, result.live_error)} of the accepts{whose}; independent "
        f"crossings at this rate: {100 * result.curve.at(result.levels[0].before.hz):.4g} %."
    )
    yield f"±: crossings as drawn{_PHASES[result.start]}, and events of the samples. Live: as drawn."
    if any(r.upper_limit_hz for item in result.all_items for r in (item.before, item.after, item.unique)):
        yield "<: no accept; upper limit at 68 %, at least the rate over all phases of the counters."
    if any(item.live == 1.0 and item.live_error for item in result.all_items):
        yield ">: none of its accepts is lost; lower limit at 68 %."
    if rules.rules:
        yield (
            "Others gain: what the triggers beside it would record in addition without it, from the live "
            "fraction at the lower rate."
        )
    if result.early[0]:
        yield (
            f"One crossing early: {result.early[0]} accepts, {result.early[1]} of them recorded; they are in "
            f"no rate above."
        )
    for warning in result.warnings:
        yield f"Warning: {warning}."
    if result.negative:
        share = f"{100 * result.negative:.2g} %"
        yield f"Not drawn: patterns with negative weights, {share} of the rate of all triggers."


_CURVE_COLUMNS = (
    Column("input_rate_hz", "number", "before", "The rate of accepts before the rules.", text=numbers.in_hz),
    Column("live", "share", "live", "The part of them that the rules allow.", errors=("error",)),
    Column("error", "number", None, "Its statistical uncertainty."),
    Column("recorded_hz", "number", "recorded", "The rate that they allow.", text=numbers.in_hz),
)


class LiveCurveView(View[LiveCurve]):
    def line(self, result: LiveCurve) -> str:
        return f"of {result.rules.name}: {numbers.count(len(result.points), 'rate')}"

    def page(self, result: LiveCurve) -> Page:
        table = Table(_CURVE_COLUMNS)
        for point in result.points:
            table.add(point.input_rate_hz, point.value, point.error, point.input_rate_hz * point.value)
        return Page([table], [f"{result.filling.name}; {result.rules.text}; independent crossings."])

    def figures(self, result: LiveCurve) -> Iterator[Figure]:
        from .figures import draw_curve

        yield draw_curve(result)


#: Accepts that are listed where a terminal shows them.
SHOWN = 20
_VETOED = (
    Column("crossing", "count", "crossing", "The number of the crossing."),
    Column("rule", "key", "vetoed by", "The rule."),
    Column("triggers", "key", "triggers", "The triggers that accept it."),
)


class OrderedAcceptsView(View[OrderedAccepts]):
    def line(self, result: OrderedAccepts) -> str:
        return f"of {name(result.menu.name)}: {_summary(result)}"

    def page(self, result: OrderedAccepts) -> Page:
        listed = Table(_VETOED)
        table = Table.of(_ORDERED_COLUMNS, (_row(i) for i in result.triggers if i.before > i.after))
        for item in result.levels:
            table.add_record(_row(item) | {"name": item.name or f"menu {result.menu.name}"}, "summary")
        for veto in result.vetoed[:SHOWN]:
            more = " …" if len(veto.triggers) > 3 else ""
            listed.add(veto.crossing, veto.rule, ", ".join(veto.triggers[:3]) + more)
        notes = []
        if len(result.vetoed) > SHOWN:
            notes.append(f"And {len(result.vetoed) - SHOWN} more accepts that are vetoed: --json.")
        if whole := [item for item in result.triggers if item.before and item.before == item.after]:
            notes.append(f"Not shown: {numbers.count(len(whole), 'trigger')} that lost nothing.")
        notes += notes_of_inputs(result.menu, result.catalogue)
        notes.append(f"{_summary(result)} Rules {result.rules.name}: {result.rules.text}.")
        return Page([table, listed] if result.vetoed else [table], notes)

    def table(self, result: OrderedAccepts) -> Table:
        return Table.of(_ORDERED_COLUMNS, map(_row, result.all_items))

    def document(self, result: OrderedAccepts) -> dict[str, Any]:
        return {
            **document_of_inputs(result.menu, result.catalogue, result.models),
            "crossings": result.crossings,
            "rules": {"name": result.rules.name, "rules": list(result.rules.labels)},
            "rows": records(self.table(result)),
            "losses": _losses(result.all_items),
            "vetoed": [vars(veto) | {"triggers": list(veto.triggers)} for veto in result.vetoed],
        }


def _summary(result: OrderedAccepts) -> str:
    crossings, accepts = numbers.count(result.crossings, "crossing"), result.levels[0].before
    return f"{crossings} in order: {accepts} accepts, of which the rules veto {len(result.vetoed)}."
