"""Rates as JSON, CSV and a table for a terminal. Numbers only: nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from trigemu.counting import LISTED
from trigemu.rates import LevelRates, MenuRates, Rate, TriggerRates
from trigemu.results.documents import in_csv, in_json, left_out
from trigemu.results.notes import notes, texts
from trigemu.results.numbers import EVENTS, events_text, marked, prescale_text
from trigemu.results.text.terminal import Page, Table, Widest
from trigemu.samples import HALF_NAMES, Catalogue


def as_dict(result: MenuRates, version: str) -> dict[str, Any]:
    """Return the JSON document of `trigemu run`.

    Parameters
    ----------
    result : MenuRates
        The rates.
    version : str
        The version of trigemu.

    Returns
    -------
    dict
        Rates in Hz; absent numbers are None.
    """
    menu, catalogue = result.menu, result.catalogue
    return {
        "menu": {
            "name": menu.name,
            "crossing_rate_hz": menu.crossing_rate_hz,
            "rate_hz": result.rate.hz,
            "rate_error_hz": result.rate.error_hz,
            "events": result.rate.events,
            "effective_events": result.rate.effective_events,
            "unseen": list(result.rate.unseen),
        }
        | ({"levels": [_level(level) for level in result.levels]} if result.levels else {}),
        "triggers": [row(trigger) for trigger in result.triggers],
        "groups": [row(group) for group in result.groups],
        "overlap": {
            "names": [trigger.name for trigger in result.triggers],
            "hz": result.overlap.tolist(),
            "error_hz": result.overlap_error.tolist(),
        },
        "samples": [
            {"name": sample.name, "events": sample.entries, "rate_hz": sample.rate_hz}
            for sample in catalogue.background
        ],
        "left_out": left_out(catalogue),
        "half": half(result),
        "warnings": list(result.warnings),
        "provenance": {
            "version": version,
            "menu": {"path": str(menu.path), "sha256": menu.sha256},
            "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256} | _conditions(catalogue),
            "samples": {
                sample.name: dict(zip((source.path for source in sample.sources), sample.sha256, strict=True))
                for sample in catalogue.background
            },
            "sealed": {sample.name: sample.sealed for sample in catalogue.background},
            "plugins": {plugin.name: plugin.sha256 for plugin in menu.plugins},
            "models": dict(result.models),
        },
    }


def _level(level: LevelRates) -> dict[str, Any]:
    numbers = {
        "name": level.name,
        "rate_hz": level.rate.hz,
        "rate_error_hz": level.rate.error_hz,
        "events": level.rate.events,
        "effective_events": level.rate.effective_events,
        "unseen": list(level.rate.unseen),
    }
    return numbers | {"rejection": level.rejection, "rejection_error": level.rejection_error}


def half(result: MenuRates) -> dict[str, Any] | None:
    if result.half is None:
        return None
    scales = {s.name: result.half.scales[s.number] for s in result.catalogue.background}
    return {
        "name": HALF_NAMES[result.half.number],
        "scales": scales,
        "triggers": list(result.half.triggers),
    }


def _conditions(catalogue: Catalogue) -> dict[str, Any]:
    """Return the luminosity of a sample of interactions, the pile-up that crossings were reweighted to, and
    what the errors take as independent."""
    of_interactions = catalogue.table.convention == "luminosity"
    return {
        "luminosity_cm2s": catalogue.table.luminosity_cm2s if of_interactions else None,
        "pileup": asdict(catalogue.pileup) if catalogue.pileup else None,
        "errors": catalogue.errors,
    }


def as_json(result: MenuRates, version: str) -> str:
    return in_json(as_dict(result, version))


def as_csv(result: MenuRates) -> str:
    """Return CSV with a line for each trigger and group, then for each level and the menu."""
    return csv_of(all_rows(result))


def all_rows(result: MenuRates) -> list[dict[str, Any]]:
    """Return a row for each trigger and group, then for the levels and the menu, which have fewer numbers."""
    wholes = [(level.name, "level", level.rate) for level in result.levels]
    return [
        *(row(trigger) for trigger in (*result.triggers, *result.groups)),
        *(
            {"name": name, "kind": kind} | rate_numbers("total", rate)
            for name, kind, rate in (*wholes, (result.menu.name, "menu", result.rate))
        ),
    ]


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; the first row has all columns. Names in a list are joined by semicolons."""
    head = list(rows[0])
    joined = ({key: in_cell(v) if isinstance(v, list) else v for key, v in row.items()} for row in rows)
    return in_csv([head, *([row.get(key, "") for key in head] for row in joined)])


def in_cell(names: Sequence[str]) -> str:
    """Return names as one cell of CSV."""
    return ";".join(names)


def row(trigger: TriggerRates) -> dict[str, Any]:
    """Return all numbers of a trigger or group, by their keys in JSON and CSV.

    Parameters
    ----------
    trigger : TriggerRates
        The rates.

    Returns
    -------
    dict of str to object
        In a menu without levels there is neither level nor lost_….
    """
    numbers: dict[str, Any] = {"name": trigger.name, "kind": trigger.kind, "group": trigger.group}
    if trigger.level:
        numbers["level"] = trigger.level
    numbers |= {
        "prescale": trigger.prescale,
        "threshold": trigger.threshold,
        "threshold_error": trigger.threshold_error,
    }
    for quantity in LISTED:
        numbers |= rate_numbers(quantity, trigger.rates[quantity])
    if trigger.level:
        numbers |= rate_numbers("lost", trigger.lost)
    budgeted = next((f"{quantity}_hz" for quantity, rate in trigger.rates.items() if rate.budgeted), None)
    return numbers | {"unique_contained_in": list(trigger.unique.contained_in), "budgeted": budgeted}


def rate_numbers(quantity: str, rate: Rate | None) -> dict[str, Any]:
    """Return the numbers of a rate by their keys in JSON and CSV; without a rate they are None."""
    numbers = ("hz", "error_hz", "events", "effective_events", "upper_limit_hz")
    found = {f"{quantity}_{number}": getattr(rate, number, None) for number in numbers}
    return found | {f"{quantity}_unseen": list(rate.unseen) if rate else []}


def rate_table(result: MenuRates) -> RenderableType:
    """Return what `trigemu run` prints: a table for each level, or one for a menu without levels."""
    tables: list[RenderableType] = []
    for level in result.levels:
        tables += [_level_table(result, level), ""]
    tables.append(_lost_table(result) if result.levels else _level_table(result, None))
    return Page(tables, texts(notes(result)))


def _level_table(result: MenuRates, level: LevelRates | None) -> Table:
    """Return the triggers, groups and rate of a level, or of a menu without levels."""
    table = Table()
    table.add_column(f"{level.name} trigger" if level else "trigger", "name")
    add_rates(table)
    name = level.name if level else None
    for trigger in result.triggers:
        if trigger.level == name:
            table.add_row(*_cells(trigger))
    groups = [group for group in result.groups if group.level == name]
    if groups:
        table.add_row("")
    for group in groups:
        table.add_row(*_cells(group), style="cyan")
    table.add_row("")
    whole, rate = f"level {level.name}" if level else f"menu {result.menu.name}", (level or result).rate
    others = [""] * (len(LISTED) - 1)
    table.add_row(whole, "", marked(rate), *others, events_text(rate), style="bold")
    return table


def add_rates(table: Table) -> None:
    """Add the columns of `_cells` but the first; where there is no room, shares give way, then events."""
    table.add_column("prescale")
    for quantity in LISTED:
        table.add_column(quantity, gives_way=2 * (quantity == "share"))
    table.add_column(EVENTS, gives_way=1)


def _lost_table(result: MenuRates) -> Table:
    """Return the rate that the last level would lose without each trigger of the others."""
    table = Table()
    table.add_column("without", "name")
    table.add_column(f"{result.levels[-1].name} would lose")
    for trigger in result.triggers:
        if trigger.lost:
            table.add_row(trigger.name, marked(trigger.lost))
    return table


def _cells(trigger: TriggerRates) -> list[str]:
    name = f"group {trigger.name}" if trigger.kind == "group" else trigger.name
    prescale = prescale_text(trigger.prescale)
    values = [marked(trigger.rates[quantity]) for quantity in LISTED]
    return [name, prescale, *values, events_text(trigger.total)]


def overlap_table(result: MenuRates) -> RenderableType:
    """Return overlaps within each level; columns are numbered, to be narrow."""
    parts: list[RenderableType] = []
    for level in result.menu.levels or (None,):
        rows = [i for i, trigger in enumerate(result.triggers) if trigger.level == level]
        of = f", level {level}" if level else ""
        parts += ["", Widest(_in_hz(result, rows, of), _in_percent(result, rows, of))]
    return Page(parts[1:])


def _overlaps(title: str, triggers: int) -> Table:
    table = Table(title)
    table.add_column("", key=True)
    table.add_column("trigger", "name")
    for number in range(1, triggers + 1):
        table.add_column(str(number))
    return table


def _in_hz(result: MenuRates, rows: Sequence[int], of: str) -> Table:
    """Return the lower half of the overlaps, with totals on the diagonal."""
    table = _overlaps(f"Overlap in Hz{of}", len(rows))
    for number, i in enumerate(rows, 1):
        lower = [(result.overlap[i, j], result.overlap_error[i, j]) for j in rows[:number]]
        values = [f"{hz:.4g} ± {error:.2g}" if hz else "0" for hz, error in lower]
        table.add_row(str(number), result.triggers[i].name, *values)
    return table


def _in_percent(result: MenuRates, rows: Sequence[int], of: str) -> Table:
    """Return overlaps as fractions of the rate of the row's trigger."""
    title = (
        f"Overlap{of}: of the row's rate, % that the column's trigger accepts too "
        f"(rates in Hz, with errors: --json)"
    )
    table = _overlaps(title, len(rows))
    for number, i in enumerate(rows, 1):
        whole = result.overlap[i, i]
        values = [_percent(result.overlap[i, j] / whole) if whole else "–" for j in rows]
        table.add_row(str(number), result.triggers[i].name, *values)
    return table


def _percent(share: float) -> str:
    """Format a share in three characters: 100, 42, 4.2, <.1, 0."""
    percent = 100.0 * share
    if not 0.0 < percent < 9.95:
        return f"{percent:.0f}"
    return f"{percent:.1f}" if percent >= 0.05 else "<.1"
