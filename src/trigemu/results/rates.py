"""The rates of a menu, of one trigger, and in columns of prescales: what `trigemu run` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from trigemu import __version__
from trigemu.base.shown import view_of
from trigemu.counting.quantities import LISTED, MEANINGS
from trigemu.menus.menu import Menu
from trigemu.rates.results import ColumnRates, MenuRates, Rate, TriggerRates
from trigemu.results.documents import left_out, record
from trigemu.results.notes import legend, notes, notes_of_several, pileup_and_luminosity, texts
from trigemu.results.numbers import (
    EVENTS,
    count,
    events_text,
    format_rate,
    marked,
    percent,
    prescale_text,
    with_error,
)
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import Figures, View, name
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.split import HALF_NAMES

if TYPE_CHECKING:
    from trigemu.results.section import Picture

_FOUND = "Its uncertainty if it was found from a rate budget; else null."
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
_RATES = {quantity: Column(quantity, "rate", quantity, MEANINGS[quantity]) for quantity in LISTED}
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
    Column("threshold_error", "number", None, _FOUND),
    Column("threshold_found", "number", "threshold", text=lambda v: with_error(*v), **_PRINTED),
    _RATES["total"],
    _RATES["unique"],
    Column("unique_fraction", "share", "unique / total", text=lambda v: percent(*v), **_PRINTED),
    replace(_RATES["share"], gives_way=2),
    Column("events", "number", EVENTS, _EVENTS, events_text, in_files=False, gives_way=1),
    Column("lost", "rate", None, MEANINGS["lost"]),
    Column("unique_contained_in", "note", None, _CONTAINED),
    Column("budgeted", "label", None, _BUDGETED),
)


def columns(with_levels: bool) -> tuple[Column, ...]:
    """Return the columns of triggers and groups."""
    return tuple(column for column in COLUMNS if with_levels or column.name not in ("level", "lost"))


def row(trigger: TriggerRates) -> dict[str, Any]:
    """Return the values of a trigger or group."""
    fraction = None if trigger.unique.upper_limit_hz else trigger.unique_fraction
    budgeted = (f"{quantity}_hz" for quantity, rate in trigger.rates.items() if rate.budgeted)
    solved = None if trigger.threshold is None else (trigger.threshold, trigger.threshold_error or 0.0)
    return {
        "name": trigger.name,
        "kind": trigger.kind,
        "group": trigger.group,
        "level": trigger.level,
        "prescale": trigger.prescale,
        "threshold": trigger.threshold,
        "threshold_error": trigger.threshold_error,
        "threshold_found": solved,
        **{quantity: trigger.rates[quantity] for quantity in LISTED},
        "unique_fraction": fraction or "–",
        "events": trigger.total,
        "lost": trigger.lost,
        "unique_contained_in": list(trigger.unique.contained_in),
        "budgeted": next(budgeted, None),
    }


def numbers_of(trigger: TriggerRates) -> dict[str, Any]:
    """Return all numbers of a trigger or group, by their keys in JSON and CSV."""
    return record(columns(trigger.level is not None), row(trigger))


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
        return Page([table], [*texts(legend([result], []))])

    def table(self, result: TriggerRates) -> Table:
        return Table.of(columns(result.level is not None), [row(result)])

    def document(self, result: TriggerRates) -> dict[str, Any]:
        return numbers_of(result)

    def figures(self, result: TriggerRates) -> Figures:
        from trigemu.results.figures.rates import by_name  # which loads Matplotlib

        yield by_name("trigger", "", {result.kind: [result]}).figure


class MenuRatesView(View[MenuRates]):
    def line(self, result: MenuRates) -> str:
        triggers = count(len(result.triggers), "trigger")
        return f"of {name(result.menu.name)}: {triggers}, {format_rate(result.rate)}"

    def page(self, result: MenuRates) -> Page:
        """A table for each level, or one for a menu without levels."""
        tables = [_level_table(result, level) for level in result.menu.levels or (None,)]
        if result.levels:
            lost = (row(trigger) for trigger in result.triggers if trigger.lost)
            loss = Column("lost", "rate", f"{result.levels[-1].name} would lose")
            tables.append(Table.of((Column("name", "key", "without"), loss), lost))
        further = [view_of(table).page(table) for table in result.tables]
        parts = [*stacked(tables), *(part for page in further for part in ("", *page.parts))]
        return Page(parts, [*(note for page in further for note in page.notes), *texts(notes(result))])

    def table(self, result: MenuRates) -> Table:
        return Table.of(columns(bool(result.levels)), map(row, result.triggers))

    def csv_table(self, result: MenuRates) -> Table:
        """The triggers and groups, then the levels and the menu, which have fewer numbers, then what further
        tables have."""
        wholes = [(level.name, "level", level.rate) for level in result.levels]
        wholes.append((result.menu.name, "menu", result.rate))
        records = [*map(row, (*result.triggers, *result.groups))]
        records += [{"name": name, "kind": kind, "total": rate} for name, kind, rate in wholes]
        tables = [Table.of(columns(bool(result.levels)), records)]
        tables += [view_of(table).csv_table(table) for table in result.tables]
        every = {column.name: column for table in reversed(tables) for column in table.columns}
        heads = dict.fromkeys(column.name for table in tables for column in table.columns)
        return Table([every[name] for name in heads], [row for table in tables for row in table.rows])

    def document(self, result: MenuRates) -> dict[str, Any]:
        menu, catalogue = result.menu, result.catalogue
        of_menu = {"name": menu.name, "crossing_rate_hz": menu.crossing_rate_hz, **_numbers(result.rate)}
        if result.levels:
            of_menu["levels"] = [
                {
                    "name": level.name,
                    **_numbers(level.rate),
                    "rejection": level.rejection,
                    "rejection_error": level.rejection_error,
                }
                for level in result.levels
            ]
        if menu.left_out:
            of_menu["left_out"] = [asdict(trigger) for trigger in menu.left_out]
        samples, half = catalogue.background, None
        if used := result.half:
            scales = {s.name: used.scales[s.number] for s in samples}
            half = {"name": HALF_NAMES[used.number], "scales": scales, "triggers": list(used.triggers)}
        return {
            "menu": of_menu,
            "triggers": [*map(numbers_of, result.triggers)],
            "groups": [*map(numbers_of, result.groups)],
            "overlap": {
                "names": [trigger.name for trigger in result.triggers],
                "hz": result.overlap.tolist(),
                "error_hz": result.overlap_error.tolist(),
            },
            "samples": [{"name": s.name, "events": s.events, "rate_hz": s.rate_hz} for s in samples],
            "left_out": left_out(catalogue),
            "half": half,
            "warnings": list(result.warnings),
            "engines": dict(result.engines),
            "provenance": provenance(menu, catalogue, result.models),
        } | ({"tables": [view_of(table).document(table) for table in result.tables]} if result.tables else {})

    def figures(self, result: MenuRates) -> Figures:
        from trigemu.results.figures.rates import of_triggers

        yield of_triggers([result]).figure


def pictures_of(variants: Sequence[MenuRates]) -> Iterator[Picture]:
    """Draw the rates of groups, if there are any, and of triggers, of several menus."""
    from trigemu.results.figures.rates import of_groups, of_triggers  # which load Matplotlib

    yield from filter(None, (of_groups(variants), of_triggers(variants)))


def _numbers(rate: Rate) -> dict[str, Any]:
    numbers = {"rate_hz": rate.hz, "rate_error_hz": rate.error_hz, "events": rate.events}
    return numbers | {"effective_events": rate.effective_events, "unseen": list(rate.unseen)}


def provenance(menu: Menu, catalogue: Catalogue, models: Mapping[str, str]) -> dict[str, Any]:
    """Return what a document says of the program and the files that rates are from."""
    column = {"column": menu.columns.chosen} if menu.columns.chosen else {}
    files = {
        sample.name: {source.path: source.sha256 for source in sample.sources}
        for sample in catalogue.background
    }
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
        "samples": files,
        "plugins": {plugin.name: plugin.sha256 for plugin in menu.plugins},
        "models": dict(models),
    }


def working_point(menu: Menu, catalogue: Catalogue) -> dict[str, Any]:
    """Return where a menu is run, for documents."""
    pileup, luminosity = pileup_and_luminosity(menu, catalogue)
    return {
        "menu": menu.name,
        "column": menu.columns.chosen,
        "crossing_rate_hz": menu.crossing_rate_hz,
        "pileup": pileup,
        "luminosity_cm2s": luminosity,
        "samples": catalogue.table.name,
        "errors": catalogue.errors,
    }


def _level_table(result: MenuRates, level: str | None) -> Table:
    """Return the triggers, groups and rate of a level, or of a menu without levels."""
    key, *others = columns(bool(level))
    table = Table([key.headed(f"{level} trigger") if level else key, *others])
    rates = {part.name: part.rate for part in result.levels}
    rate, label = (rates[level], f"level {level}") if level else (result.rate, f"menu {result.menu.name}")
    for part in result.triggers:
        if part.level == level:
            table.add_record(row(part))
    groups = [group for group in result.groups if group.level == level]
    if groups:
        table.add_gap()
    for group in groups:
        table.add_record(row(group) | {"name": f"group {group.name}", "group": None}, "group")
    table.add_gap()
    table.add_record({"name": label, "total": rate, "events": rate}, "summary")
    return table


_COLUMN = (
    Column("column", "key", "column", "The name of the column of prescales."),
    Column("pileup", "number", None, "The mean number of interactions per crossing; null if unknown."),
    Column("luminosity_cm2s", "number", None, "The luminosity in cm⁻² s⁻¹; null if unknown."),
)
#: What notes on several columns leave out.
_OTHER = ("column", "events")


class ColumnRatesView(View[ColumnRates]):
    def line(self, result: ColumnRates) -> str:
        menus = {rates.menu.name for rates in result.values()}
        return f"of {', '.join(map(name, menus))}: {count(len(result), 'column')} of prescales"

    def page(self, result: ColumnRates) -> Page:
        """A row for each trigger and group, with its prescale and its total rate at each column."""
        menu, (first, *others) = _menu(result), result.values()
        if not others:
            return MenuRatesView().page(first)
        places = {column: f"total {column}" for column in result}  # a column may be called "name"
        cells = (Column(place, "number", column, text=_prescaled) for column, place in places.items())
        table = Table((COLUMNS[0], *cells))
        points = [working_point(rates.menu, rates.catalogue) for rates in result.values()]
        for part, heading in (("pileup", "µ"), ("luminosity_cm2s", "cm⁻² s⁻¹")):
            if len({point[part] for point in points}) > 1:
                table.add(heading, *(f"{point[part] or 0:.3g}" for point in points))
        if table.rows:
            table.add_gap()

        def add_all(prefix: str, names: Iterable[str], of: Sequence[dict[str, TriggerRates]]) -> None:
            for key in names:
                parts = [of_column.get(key) for of_column in of]
                totals = [(part.total, part.prescale) if part else "off" for part in parts]
                table.add(f"{prefix}{key}", *totals, style="group" if prefix else "plain")

        triggers, groups = (
            [{part.name: part for part in getattr(rates, kind)} for rates in result.values()]
            for kind in ("triggers", "groups")
        )
        on = {name for of_column in triggers for name in of_column}
        add_all("", [t.name for t in menu.triggers if t.prescales or t.name in on], triggers)
        add_all("group ", dict.fromkeys(name for of_column in groups for name in of_column), groups)
        table.add_gap()
        for number, level in enumerate(menu.levels):
            of_level = [(rates.levels[number].rate, None) for rates in result.values()]
            table.add(f"level {level}", *of_level, style="summary")
        of_menu = [(rates.rate, None) for rates in result.values()]
        table.add(f"menu {menu.name}", *of_menu, style="summary")
        listed = {c: [n for n in notes(rates) if n.about not in _OTHER] for c, rates in result.items()}
        prescaled = any(t.prescale != 1 for rates in result.values() for t in rates.triggers)
        explained = ["/2: accepted with a prescale of 2."] if prescaled else []
        return Page([table], [*notes_of_several(listed), *explained])

    def table(self, result: ColumnRates) -> Table:
        of_columns = ((c, trigger) for c, rates in result.items() for trigger in rates.triggers)
        records = (_of_column(result, c) | row(trigger) for c, trigger in of_columns)
        return Table.of((*_COLUMN, *columns(bool(_menu(result).levels))), records)

    def csv_table(self, result: ColumnRates) -> Table:
        """The lines of `run` for each column, which begin with its name, its pile-up and its luminosity."""
        tables = {c: MenuRatesView().csv_table(rates) for c, rates in result.items()}
        records = (
            _of_column(result, c) | {**line.values} for c, table in tables.items() for line in table.rows
        )
        return Table.of((*_COLUMN, *next(iter(tables.values())).columns), records)

    def document(self, result: ColumnRates) -> dict[str, Any]:
        """Each column is as in `run`, without what all share, and with the triggers that are off in it."""
        documents = {c: MenuRatesView().document(rates) for c, rates in result.items()}
        keys = ("menu", "triggers", "groups", "overlap", "tables", "warnings")
        each = [
            {"column": c, "point": document["provenance"].pop("point"), "off": _off(result[c].menu, c)}
            | {key: document[key] for key in keys if key in document}
            for c, document in documents.items()
        ]
        first = next(iter(documents.values()))
        catalogues = [document["provenance"]["catalogue"] for document in documents.values()]
        for key in ("luminosity_cm2s", "pileup"):  # each column may have its own
            if len({str(catalogue[key]) for catalogue in catalogues}) > 1:
                del catalogues[0][key]
        shared = {key: value for key, value in first.items() if key not in keys}
        models = {path: sha256 for rates in result.values() for path, sha256 in rates.models.items()}
        shared["provenance"] |= {"prescales": _menu(result).columns.file, "models": models}
        del shared["provenance"]["menu"]["column"]
        return {"columns": each} | shared

    def figures(self, result: ColumnRates) -> Figures:
        from trigemu.results.figures.rates import by_name  # which loads Matplotlib

        listed = {column: rates.triggers for column, rates in result.items()}
        yield by_name("triggers", "", listed).figure


def _menu(result: Mapping[str, MenuRates]) -> Menu:
    return next(iter(result.values())).menu


def _off(menu: Menu, column: str) -> list[str]:
    """List the triggers whose prescale in a column switches them off."""
    number = menu.columns.names.index(column)
    return [trigger.name for trigger in menu.triggers if trigger.prescales and trigger.prescales[number] <= 0]


def _prescaled(value: tuple[Rate, float | None]) -> str:
    """Format a rate, after the prescale that it includes."""
    prescale = prescale_text(value[1])
    return f"/{prescale} {marked(value[0])}" if prescale else marked(value[0])


def _of_column(result: ColumnRates, column: str) -> dict[str, Any]:
    """Return the values that begin each line of a column in a file."""
    pileup, luminosity = pileup_and_luminosity(result[column].menu, result[column].catalogue)
    return {"column": column, "pileup": pileup, "luminosity_cm2s": luminosity}
