"""The rates of a menu, of one trigger, in columns of prescales, of pairs and combinations of triggers: what
`trigemu run` shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import numpy as np

from trigemu import __version__
from trigemu.base.shown import view_of
from trigemu.counting.quantities import MEANINGS
from trigemu.menus.menu import Menu
from trigemu.rates.results import ColumnRates, LevelRates, MenuRates, Rate, TriggerRates
from trigemu.results.notes import legend, notes, notes_of_several, working_point
from trigemu.results.numbers import (
    EVENTS,
    count,
    events_text,
    format_rate,
    in_unit,
    marked,
    percent,
    prescale_text,
    unsigned,
    with_error,
)
from trigemu.results.samples import left_out
from trigemu.results.table import Column, Page, RowStyle, Table, records
from trigemu.results.view import Figures, Pictures, View, name
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.split import HALF_NAMES
from trigemu.studies.exclusive import ExclusiveRates

_THRESHOLD = "The threshold; null where there is none, or the trigger is a group."
_EVENTS = (
    "The number of events in the total and, in brackets, the effective number of independent interactions."
)
_CONTAINED = (
    "The triggers that together accept all that this one accepts, by the definitions in the menu; its unique "
    "rate is then 0 by construction."
)
_BUDGETED = (
    "`total_hz` or `unique_hz` if this rate equals a rate budget by construction, since the threshold was "
    "found from it; else null."
)
#: Columns of pages alone, which have more room than a terminal.
_PRINTED: Mapping[str, Any] = {"in_files": False, "wide": True}


def _found(trigger: TriggerRates) -> tuple[float, float] | None:
    return None if trigger.threshold is None else (trigger.threshold, trigger.threshold_error or 0.0)


def _fraction(trigger: TriggerRates) -> tuple[float, float] | str:
    return "–" if trigger.unique.upper_limit_hz else trigger.unique_fraction or "–"


def _budgeted(trigger: TriggerRates) -> str | None:
    return next((f"{quantity}_hz" for quantity, rate in trigger.rates.items() if rate.budgeted), None)


#: Every column of triggers and groups; shares give way in a narrow terminal before numbers of events.
COLUMNS = (
    Column("name", "key", "trigger", "The name of the trigger, group, level or menu."),
    Column("kind", "label", None, 'The kind of the trigger, or "group"; in CSV also "level" and "menu".'),
    Column("group", "label", "group", "The group of the trigger, or null.", wide=True),
    Column("level", "label", None, "The level of the trigger, in menus with levels."),
    Column(
        "prescale",
        "number",
        "prescale",
        "One in this many events is accepted; null for a group.",
        prescale_text,
    ),
    Column("threshold", "number", None, _THRESHOLD, errors=("threshold_error",)),
    Column(
        "threshold_error", "number", None, "Its uncertainty if it was found from a rate budget; else null."
    ),
    Column("threshold_found", "number", "threshold", text=lambda v: with_error(*v), of=_found, **_PRINTED),
    Column("total", "rate", "total", MEANINGS["total"]),
    Column("unique", "rate", "unique", MEANINGS["unique"]),
    Column(
        "unique_fraction", "share", "unique / total", text=lambda v: percent(*v), of=_fraction, **_PRINTED
    ),
    Column("share", "rate", "share", MEANINGS["share"], gives_way=2),
    Column(
        "events", "number", EVENTS, _EVENTS, events_text, in_files=False, gives_way=1, of=lambda t: t.total
    ),
    Column("lost", "rate", None, MEANINGS["lost"]),
    Column("unique_contained_in", "note", None, _CONTAINED, of=lambda t: list(t.unique.contained_in)),
    Column("budgeted", "label", None, _BUDGETED, of=_budgeted),
)


def columns(with_levels: bool) -> tuple[Column, ...]:
    """Return the columns of triggers and groups."""
    return tuple(column for column in COLUMNS if with_levels or column.name not in ("level", "lost"))


class TriggerRatesView(View[TriggerRates]):
    def line(self, result: TriggerRates) -> str:
        total, unique = format_rate(result.total), format_rate(result.unique)
        return f"of {name(result.name)}: total {total}, unique {unique}"

    def page(self, result: TriggerRates) -> Page:
        """A line for each of its rates."""
        events = Column("events", "number", EVENTS, text=events_text)
        table = Table((Column("quantity", "key", result.name), Column("rate", "rate", "rate"), events))
        for quantity, rate in result.rates.items():
            table.add(quantity, rate, rate)
        return Page([table], [*legend([result])])

    def table(self, result: TriggerRates) -> Table:
        return Table.of(columns(result.level is not None), [result])

    def document(self, result: TriggerRates) -> dict[str, Any]:
        return records(self.table(result))[0]

    def figures(self, result: TriggerRates) -> Figures:
        from trigemu.results.figures.draw import by_name  # which loads Matplotlib

        yield by_name("trigger", "", {result.kind: [result]}).figure


class MenuRatesView(View[MenuRates]):
    def line(self, result: MenuRates) -> str:
        triggers = count(len(result.triggers), "trigger")
        return f"of {name(result.menu.name)}: {triggers}, {format_rate(result.rate)}"

    def page(self, result: MenuRates) -> Page:
        """A table for each level, or one for a menu without levels."""
        tables = []
        for part in result.levels or (result,):
            level = part.name if isinstance(part, LevelRates) else None
            key, *others = columns(bool(level))
            heads = [key.headed(f"{level} trigger") if level else key, *others]
            table = Table.of(heads, [trigger for trigger in result.triggers if trigger.level == level])
            groups = [group for group in result.groups if group.level == level]
            if groups:
                table.add_gap()
            for group in groups:
                table.add_record(replace(group, name=f"group {group.name}", group=None), "group")
            table.add_gap()
            label = f"level {level}" if level else f"menu {result.menu.name}"
            table.add_record({"name": label, "total": part.rate, "events": part.rate}, "summary")
            tables.append(table)
        if result.levels:
            loss = Column("lost", "rate", f"{result.levels[-1].name} would lose")
            losing = [trigger for trigger in result.triggers if trigger.lost]
            tables.append(Table.of((Column("name", "key", "without"), loss), losing))
        further = [view_of(table).page(table) for table in result.tables]
        parts = [*tables, *(part for page in further for part in page.parts)]
        return Page(parts, [*(note for page in further for note in page.notes), *notes(result)])

    def table(self, result: MenuRates) -> Table:
        return Table.of(columns(bool(result.levels)), result.triggers)

    def csv_table(self, result: MenuRates) -> Table:
        """The triggers and groups, then the levels and the menu, which have fewer numbers, then what further
        tables have."""
        first = Table.of(columns(bool(result.levels)), (*result.triggers, *result.groups))
        for level in result.levels:
            first.add_record({"name": level.name, "kind": "level", "total": level.rate})
        first.add_record({"name": result.menu.name, "kind": "menu", "total": result.rate})
        tables = [first, *(view_of(table).csv_table(table) for table in result.tables)]
        every = {column.name: column for table in reversed(tables) for column in table.columns}
        heads = dict.fromkeys(column.name for table in tables for column in table.columns)
        return Table([every[name] for name in heads], [row for table in tables for row in table.rows])

    def document(self, result: MenuRates) -> dict[str, Any]:
        menu, catalogue, used = result.menu, result.catalogue, result.half
        of_menu = {"name": menu.name, "crossing_rate_hz": menu.crossing_rate_hz, **_numbers(result.rate)}
        if result.levels:
            keys = ("rejection", "rejection_error")
            of_menu["levels"] = [
                {"name": level.name, **_numbers(level.rate), **{key: getattr(level, key) for key in keys}}
                for level in result.levels
            ]
        if menu.left_out:
            of_menu["left_out"] = [asdict(trigger) for trigger in menu.left_out]
        samples, listed = catalogue.background, columns(bool(result.levels))
        tables = [view_of(table).document(table) for table in result.tables]
        return {
            "menu": of_menu,
            "triggers": records(Table.of(listed, result.triggers)),
            "groups": records(Table.of(listed, result.groups)),
            "overlap": {
                "names": [trigger.name for trigger in result.triggers],
                "hz": result.overlap.tolist(),
                "error_hz": result.overlap_error.tolist(),
            },
            "samples": [{"name": s.name, "events": s.events, "rate_hz": s.rate_hz} for s in samples],
            "left_out": left_out(catalogue),
            "half": used
            and {
                "name": HALF_NAMES[used.number],
                "scales": {s.name: used.scales[s.number] for s in samples},
                "triggers": list(used.triggers),
            },
            "warnings": list(result.warnings),
            "engines": dict(result.engines),
            "provenance": provenance(menu, catalogue, result.models),
        } | ({"tables": tables} if tables else {})

    def figures(self, result: MenuRates) -> Figures:
        from trigemu.results.figures.draw import of_triggers

        yield of_triggers([result]).figure

    def pictures(self, result: MenuRates) -> Pictures:
        return pictures_of({result.menu.name: result})


def pictures_of(variants: Mapping[str, MenuRates]) -> Pictures:
    """Draw the rates of groups, if there are any, and of triggers, of several menus or columns by name."""
    from trigemu.results.figures.draw import of_triggers  # which loads Matplotlib

    for kind in ("groups", "triggers"):
        if kind == "triggers" or any(variant.groups for variant in variants.values()):
            yield of_triggers([*variants.values()], kind, [*variants])


def _numbers(rate: Rate) -> dict[str, Any]:
    numbers = {"rate_hz": rate.hz, "rate_error_hz": rate.error_hz, "events": rate.events}
    return numbers | {"effective_events": rate.effective_events, "unseen": list(rate.unseen)}


def provenance(menu: Menu, catalogue: Catalogue, models: Mapping[str, str]) -> dict[str, Any]:
    """Return what a document says of the program and the files that rates are from."""
    column = {"column": menu.columns.chosen} if menu.columns.chosen else {}
    of_interactions = catalogue.table.convention == "luminosity"
    return {
        "version": __version__,
        "point": working_point(menu, catalogue),
        "menu": {"path": str(menu.path), "sha256": menu.sha256} | column,
        "catalogue": {
            "path": str(catalogue.path),
            "sha256": catalogue.sha256,
            "luminosity_cm2s": catalogue.table.luminosity_cm2s if of_interactions else None,
            "pileup": asdict(catalogue.pileup) if catalogue.pileup else None,
            "errors": catalogue.errors,
        },
        "samples": {s.name: {part.path: part.sha256 for part in s.sources} for s in catalogue.background},
        "plugins": {plugin.name: plugin.sha256 for plugin in menu.plugins},
        "models": dict(models),
    }


_COLUMN = (
    Column("column", "key", "column", "The name of the column of prescales."),
    Column("pileup", "number", None, "The mean number of interactions per crossing; null if unknown."),
    Column("luminosity_cm2s", "number", None, "The luminosity in cm⁻² s⁻¹; null if unknown."),
)


class ColumnRatesView(View[ColumnRates]):
    def page(self, result: ColumnRates) -> Page:
        """A row for each trigger and group, with its prescale and its total rate at each column."""
        runs = [*result.values()]
        menu = runs[0].menu
        if len(runs) == 1:
            return MenuRatesView().page(runs[0])
        # A column may be called "name".
        cells = (Column(f"total {column}", "number", column, text=_prescaled) for column in result)
        table = Table((COLUMNS[0], *cells))
        points = [working_point(rates.menu, rates.catalogue) for rates in runs]
        for part, heading in (("pileup", "µ"), ("luminosity_cm2s", "cm⁻² s⁻¹")):
            if len({point[part] for point in points}) > 1:
                table.add(heading, *(f"{point[part] or 0:.3g}" for point in points))
        if table.rows:
            table.add_gap()
        known = [{(t.kind == "group", t.name): t for t in (*r.triggers, *r.groups)} for r in runs]
        on = dict.fromkeys(key for of_column in known for key in of_column)
        keys = [(False, t.name) for t in menu.triggers if t.prescales or (False, t.name) in on]
        for is_group, key in (*keys, *((True, group) for is_group, group in on if is_group)):
            parts = [of_column.get((is_group, key)) for of_column in known]
            totals = ((part.total, part.prescale) if part else "off" for part in parts)
            style: RowStyle = "group" if is_group else "plain"
            table.add(f"group {key}" if is_group else key, *totals, style=style)
        table.add_gap()
        for number, level in enumerate(menu.levels):
            of_level = ((rates.levels[number].rate, None) for rates in runs)
            table.add(f"level {level}", *of_level, style="summary")
        table.add(f"menu {menu.name}", *((rates.rate, None) for rates in runs), style="summary")
        left_out = ("column", "events")
        listed = {c: [n for n in notes(rates) if n.about not in left_out] for c, rates in result.items()}
        prescaled = any(t.prescale != 1 for rates in runs for t in rates.triggers)
        explained = ["/2: accepted with a prescale of 2."] if prescaled else []
        return Page([table], [*notes_of_several(listed), *explained])

    def table(self, result: ColumnRates) -> Table:
        return _joined({column: MenuRatesView().table(rates) for column, rates in result.items()}, result)

    def csv_table(self, result: ColumnRates) -> Table:
        """The lines of `run` for each column, which begin with its name, its pile-up and its luminosity."""
        return _joined({column: MenuRatesView().csv_table(rates) for column, rates in result.items()}, result)

    def document(self, result: ColumnRates) -> dict[str, Any]:
        """Each column is as in `run`, without what all share, and with the triggers that are off in it."""
        documents = {c: MenuRatesView().document(rates) for c, rates in result.items()}
        keys = ("menu", "triggers", "groups", "overlap", "tables", "warnings")
        each = []
        for column, document in documents.items():
            triggers = result[column].menu.triggers
            off = [t.name for t in triggers if t.prescales and t.prescale == math.inf]
            head = {"column": column, "point": document["provenance"].pop("point"), "off": off}
            each.append(head | {key: document[key] for key in keys if key in document})
        shared = {k: v for k, v in next(iter(documents.values())).items() if k not in keys}
        catalogues = [document["provenance"]["catalogue"] for document in documents.values()]
        for key in ("luminosity_cm2s", "pileup"):  # each column may have its own
            if len({str(catalogue[key]) for catalogue in catalogues}) > 1:
                del catalogues[0][key]
        first = next(iter(result.values())).menu
        models = {path: sha256 for rates in result.values() for path, sha256 in rates.models.items()}
        shared["provenance"] |= {"prescales": first.columns.file, "models": models}
        del shared["provenance"]["menu"]["column"]
        return {"columns": each} | shared

    def figures(self, result: ColumnRates) -> Figures:
        from trigemu.results.figures.draw import of_triggers

        yield of_triggers([*result.values()], names=[*result]).figure

    def pictures(self, result: ColumnRates) -> Pictures:
        return pictures_of(result)


def _prescaled(value: tuple[Rate, float | None]) -> str:
    """Format a rate, after the prescale that it includes."""
    prescale = prescale_text(value[1])
    return f"/{prescale} {marked(value[0])}" if prescale else marked(value[0])


def _joined(tables: Mapping[str, Table], result: ColumnRates) -> Table:
    """Return the rows of the tables of columns, each behind its column, its pile-up and its luminosity."""
    joined = Table((*_COLUMN, *next(iter(tables.values())).columns))
    for column, table in tables.items():
        point = working_point(result[column].menu, result[column].catalogue) | {"column": column}
        for row in table.rows:
            joined.add_record({c.name: point[c.name] for c in _COLUMN} | {**row.values})
    return joined


_COMBINATION = (
    Column("all", "key", "exactly these triggers", in_files=False, of=lambda c: " & ".join(c.triggers)),
    Column("rate", "rate", "rate", in_files=False, of=lambda c: unsigned(c.hz, c.error_hz)),
    Column("triggers", "note", None, "The triggers that accept, with no other.", of=lambda c: [*c.triggers]),
    Column("hz", "number", None, "The rate of these events in Hz.", errors=("error_hz",)),
    Column("error_hz", "number", None, "Its statistical uncertainty in Hz."),
)


class ExclusiveRatesView(View[ExclusiveRates]):
    """A row is a combination of triggers."""

    def page(self, result: ExclusiveRates) -> Page:
        notes = ["Rates of events that these triggers accept and no other trigger accepts."]
        if result.others:
            others = in_unit(result.others_hz, 0.0)
            notes.append(f"{result.others} further combinations have {others} together.")
        return Page([Table.of(_COMBINATION, result.largest)], notes)

    def document(self, result: ExclusiveRates) -> dict[str, Any]:
        return asdict(result)

    def figures(self, result: ExclusiveRates) -> Figures:
        from trigemu.results.figures.draw import draw_combinations
        from trigemu.results.figures.style import shown

        names = list(dict.fromkeys(name for rate in result.largest for name in rate.triggers))
        members = np.array([[name in rate.triggers for name in names] for rate in result.largest], np.bool_)
        rates, errors = (np.array([getattr(r, key) for r in result.largest]) for key in ("hz", "error_hz"))
        labels = list(shown(names).values())
        yield draw_combinations(labels, members.reshape(-1, len(names)), rates, errors)


#: Pairs that are printed unless all are.
LARGEST = 30
_PAIR = (
    Column("a", "key", "trigger"),
    Column("b", "key", "and"),
    Column("both", "rate", "both accept"),
    Column("of a", "number", "% of the first", text="{:.3g}".format),
    Column("of b", "number", "% of the second", text="{:.3g}".format),
)


def overlap_page(result: MenuRates, every: bool = False) -> Page:
    """Return the rates that two triggers accept together, the largest first."""
    tables, notes, (overlap, error, alone) = [], [], result.overlaps.arrays
    names = [trigger.name for trigger in result.triggers]
    for level in result.menu.levels or (None,):
        members = [i for i, trigger in enumerate(result.triggers) if trigger.level == level]
        pairs = [pair for pair in combinations(members, 2) if overlap[pair]]
        pairs.sort(key=lambda pair: -overlap[pair])
        of_level = f", level {level}" if level else ""
        table = Table(_PAIR, title=f"Overlap{of_level}: rates that two triggers accept together")
        for i, j in pairs if every else pairs[:LARGEST]:
            both = overlap[i, j]
            shares = 100 * both / alone[i, j], 100 * both / alone[j, i]
            table.add(names[i], names[j], (both, error[i, j]), *shares)
        tables += [table] if pairs else []
        if more := len(pairs) - len(table.rows):
            notes.append(f"{count(more, 'smaller pair')}{of_level} not shown: --overlap all.")
        if not pairs:
            notes.append(f"No two triggers{of_level} accept the same event.")
    return Page(tables, notes)
