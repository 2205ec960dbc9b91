"""The rates of a menu: what `trigemu run` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trigemu import __version__
from trigemu.counting import LISTED, MEANINGS
from trigemu.menus import Menu
from trigemu.rates import LevelRates, MenuRates, Rate, TriggerRates
from trigemu.results.notes import notes, texts
from trigemu.results.numbers import (
    EVENTS,
    count,
    events_text,
    format_rate,
    percent,
    prescale_text,
    with_error,
)
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import View, name
from trigemu.results.writers.documents import left_out, record
from trigemu.samples import HALF_NAMES, Catalogue

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What identifies a trigger, and what is set for it.
_TRIGGER = (
    Column("name", "key", "trigger", "The name of the trigger, group, level or menu."),
    Column("kind", "label", None, 'The kind of the trigger, or "group"; in CSV also "level" and "menu".'),
    Column("group", "label", "group", "The group of the trigger, or null.", wide=True),
    Column("level", "label", None, "The level of the trigger, in menus with levels."),
    Column(
        "prescale",
        "number",
        "prescale",
        "One in this many events is accepted; null for a group.",
        text=prescale_text,
    ),
    Column(
        "threshold",
        "number",
        None,
        "The threshold; null where there is none, or the trigger is a group.",
        errors=("threshold_error",),
    ),
    Column(
        "threshold_error", "number", None, "Its uncertainty if it was found from a rate budget; else null."
    ),
    Column(
        "threshold_found", "number", "threshold", in_files=False, wide=True, text=lambda v: with_error(*v)
    ),
)
_FRACTION = Column(
    "unique_fraction", "share", "unique / total", in_files=False, wide=True, text=lambda v: percent(*v)
)
_EVENTS = Column(
    "events",
    "number",
    EVENTS,
    "The number of events in the total and, in brackets, the effective number of independent interactions.",
    in_files=False,
    gives_way=1,
    text=events_text,
)
_CONTAINED = (
    Column(
        "unique_contained_in",
        "note",
        None,
        "The triggers that together accept all that this one accepts, by the definitions in the menu; its "
        "unique rate is then 0 by construction.",
    ),
    Column(
        "budgeted",
        "label",
        None,
        "`total_hz` or `unique_hz` if this rate equals a rate budget by construction, since the threshold "
        "was found from it; else null.",
    ),
)


def _rate_columns() -> Iterator[Column]:
    """Yield the columns of rates: shares give way in a narrow terminal."""
    for quantity in LISTED:
        gives_way = 2 * (quantity == "share")
        yield Column(quantity, "rate", quantity, MEANINGS[quantity], gives_way=gives_way)
        if quantity == "unique":
            yield _FRACTION


#: Every column of triggers and groups.
COLUMNS = (*_TRIGGER, *_rate_columns(), _EVENTS, Column("lost", "rate", None, MEANINGS["lost"]), *_CONTAINED)


def columns(with_levels: bool) -> tuple[Column, ...]:
    """Return the columns of triggers and groups.

    Parameters
    ----------
    with_levels : bool
        Whether the menu has levels.

    Returns
    -------
    tuple of Column
        For values of `row`.
    """
    return tuple(column for column in COLUMNS if with_levels or column.name not in ("level", "lost"))


def row(trigger: TriggerRates) -> dict[str, Any]:
    """Return the values of a trigger or group.

    Parameters
    ----------
    trigger : TriggerRates
        The rates.

    Returns
    -------
    dict of str to object
        By the names of `columns`.
    """
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
    """Return all numbers of a trigger or group, by their keys in JSON and CSV.

    Parameters
    ----------
    trigger : TriggerRates
        The rates.

    Returns
    -------
    dict of str to object
        In a menu without levels there is neither `level` nor `lost_…`.
    """
    return record(columns(trigger.level is not None), row(trigger))


def printed_row(trigger: TriggerRates) -> dict[str, Any]:
    """Return the values of a trigger or group for a printed table."""
    values = row(trigger)
    return values | {"name": f"group {trigger.name}", "group": None} if trigger.kind == "group" else values


def summary_row(name: str, rate: Rate) -> dict[str, Any]:
    """Return the values of a level or menu for a printed table."""
    return {"name": name, "total": rate, "events": rate}


class _MenuRates(View[MenuRates]):
    def line(self, result: MenuRates) -> str:
        triggers = count(len(result.triggers), "trigger")
        return f"of {name(result.menu.name)}: {triggers}, {format_rate(result.rate)}"

    def page(self, result: MenuRates) -> Page:
        """A table for each level, or one for a menu without levels."""
        tables = [_level_table(result, level) for level in result.levels or (None,)]
        lost = [_lost_table(result)] if result.levels else []
        return Page(stacked([*tables, *lost]), [*texts(notes(result))])

    def table(self, result: MenuRates) -> Table:
        return Table.of(columns(bool(result.levels)), map(row, result.triggers))

    def csv_table(self, result: MenuRates) -> Table:
        """The triggers and groups, then the levels and the menu, which have fewer numbers."""
        wholes = [(level.name, "level", level.rate) for level in result.levels]
        wholes.append((result.menu.name, "menu", result.rate))
        records = [*map(row, (*result.triggers, *result.groups))]
        records += [{"name": name, "kind": kind, "total": rate} for name, kind, rate in wholes]
        return Table.of(columns(bool(result.levels)), records)

    def document(self, result: MenuRates) -> dict[str, Any]:
        menu, catalogue = result.menu, result.catalogue
        levels = {"levels": [_level_numbers(level) for level in result.levels]} if result.levels else {}
        crossings = {"crossing_rate_hz": menu.crossing_rate_hz}
        missing = {"left_out": [asdict(out) for out in menu.left_out]} if menu.left_out else {}
        samples = catalogue.background
        return {
            "menu": {"name": menu.name, **crossings, **_rate_numbers(result.rate), **levels, **missing},
            "triggers": [*map(numbers_of, result.triggers)],
            "groups": [*map(numbers_of, result.groups)],
            "overlap": {
                "names": [trigger.name for trigger in result.triggers],
                "hz": result.overlap.tolist(),
                "error_hz": result.overlap_error.tolist(),
            },
            "samples": [{"name": s.name, "events": s.entries, "rate_hz": s.rate_hz} for s in samples],
            "left_out": left_out(catalogue),
            "half": _half(result),
            "warnings": list(result.warnings),
            "provenance": provenance(menu, catalogue, result.models),
        }

    def figures(self, result: MenuRates) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import of_triggers

        yield of_triggers([result]).figure


VIEW = _MenuRates()


def _rate_numbers(rate: Rate) -> dict[str, Any]:
    return {
        "rate_hz": rate.hz,
        "rate_error_hz": rate.error_hz,
        "events": rate.events,
        "effective_events": rate.effective_events,
        "unseen": list(rate.unseen),
    }


def _level_numbers(level: LevelRates) -> dict[str, Any]:
    rejection = {"rejection": level.rejection, "rejection_error": level.rejection_error}
    return {"name": level.name, **_rate_numbers(level.rate), **rejection}


def _half(result: MenuRates) -> dict[str, Any] | None:
    if result.half is None:
        return None
    scales = {s.name: result.half.scales[s.number] for s in result.catalogue.background}
    return {
        "name": HALF_NAMES[result.half.number],
        "scales": scales,
        "triggers": list(result.half.triggers),
    }


def provenance(menu: Menu, catalogue: Catalogue, models: Mapping[str, str]) -> dict[str, Any]:
    """Return what a document says of the program and the files that rates are from.

    Parameters
    ----------
    menu : Menu
        The menu.
    catalogue : Catalogue
        The samples.
    models : mapping of str to str
        The SHA-256 of each model file by its path (`Plan.models`).

    Returns
    -------
    dict
        Version, menu, catalogue, files, plugins and models.
    """
    column = {"column": menu.columns.chosen} if menu.columns.chosen else {}
    source = {"path": str(catalogue.path), "sha256": catalogue.sha256}
    files = {
        sample.name: dict(zip((source.path for source in sample.sources), sample.sha256, strict=True))
        for sample in catalogue.background
    }
    return {
        "version": __version__,
        "menu": {"path": str(menu.path), "sha256": menu.sha256} | column,
        "catalogue": source | _conditions(catalogue),
        "samples": files,
        "plugins": {plugin.name: plugin.sha256 for plugin in menu.plugins},
        "models": dict(models),
    }


def _conditions(catalogue: Catalogue) -> dict[str, Any]:
    """Return the luminosity of a sample of interactions, the pile-up that crossings were reweighted to, and
    the units that the errors treat as independent."""
    of_interactions = catalogue.table.convention == "luminosity"
    return {
        "luminosity_cm2s": catalogue.table.luminosity_cm2s if of_interactions else None,
        "pileup": asdict(catalogue.pileup) if catalogue.pileup else None,
        "errors": catalogue.errors,
    }


def _level_table(result: MenuRates, level: LevelRates | None) -> Table:
    """Return the triggers, groups and rate of a level, or of a menu without levels."""
    key, *others = columns(bool(result.levels))
    table = Table([key.headed(f"{level.name} trigger") if level else key, *others])
    of_level = level.name if level else None
    for trigger in result.triggers:
        if trigger.level == of_level:
            table.add_record(printed_row(trigger))
    groups = [group for group in result.groups if group.level == of_level]
    if groups:
        table.add_gap()
    for group in groups:
        table.add_record(printed_row(group), "group")
    table.add_gap()
    label = f"level {level.name}" if level else f"menu {result.menu.name}"
    table.add_record(summary_row(label, (level or result).rate), "summary")
    return table


def _lost_table(result: MenuRates) -> Table:
    """Return the rate that the last level would lose without each trigger of the others."""
    lost = (trigger for trigger in result.triggers if trigger.lost)
    head = Column("name", "key", "without"), Column("lost", "rate", f"{result.levels[-1].name} would lose")
    return Table.of(head, map(row, lost))
