"""Tables of a report that no command prints, such as numbers of its menus beside published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trigemu.base.toml import TomlTable
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu, Trigger
from trigemu.rates.results import MenuRates, Rate
from trigemu.results import numbers
from trigemu.results.section import Contents, Section
from trigemu.results.table import Column, Table
from trigemu.studies.comparison import Comparison, Difference
from trigemu.studies.efficiency_profiles import Reference

#: Quantity of a reference → its label.
NAMES = {
    "rate_hz": "rate",
    "total_hz": "total rate",
    "unique_hz": "unique rate",
    "unique_fraction": "unique / total",
    "unique_ceiling": "ceiling of unique / total",
}

Value = tuple[float, float | None]


def beside_references(contents: Contents, made: Sequence[Section]) -> Iterator[Section]:
    """Yield a section with the references to menus of this report, if any, beside the numbers found here and
    those that the other sections measured."""
    names = (Column(name, "key", name) for name in ("menu", "quantity"))
    head = (Column(name, "number", name) for name in ("here", "published", "here / published"))
    table = Table((*names, *head))
    sources: dict[str, None] = {}
    by_construction = 0
    for variant in contents.variants:
        values = _values(variant, made)
        for reference in (
            r for profiles in contents.profiles for r in profiles.references if r.menu == variant.menu.name
        ):
            what = f"{reference.trigger or ''} {NAMES.get(reference.quantity, reference.quantity)}".lstrip()
            value = values.get((reference.trigger, reference.quantity))
            here, published, ratio = _compared(reference, value)
            if value is not None and _agrees_by_construction(reference, variant):
                by_construction, ratio = by_construction + 1, f"= {ratio}"
            table.add(variant.menu.name, what, here, published, ratio)
            sources[reference.source] = None
    if not table.rows:
        return
    text = [f"Published: {'; '.join(sources)}. Errors are those of the numbers here."]
    if by_construction:
        text.append(
            f"=: agrees by construction, in {by_construction} of {len(table.rows)} rows, which test nothing: "
            f"a rate budget of the menu, or a number that the sample was tuned to."
        )
    yield Section("Comparison with published numbers", (*text,), (table,))


def _agrees_by_construction(reference: Reference, variant: MenuRates) -> bool:
    if reference.tuned == variant.catalogue.table.name:
        return True
    rates = variant[reference.trigger].rates if reference.trigger else {}
    rate = rates.get(reference.quantity.removesuffix("_hz"))
    return rate is not None and rate.budgeted


def _values(variant: MenuRates, made: Sequence[Section]) -> Mapping[tuple[str | None, str], Value]:
    values: dict[tuple[str | None, str], Value] = {
        (None, "rate_hz"): (variant.rate.hz, variant.rate.error_hz)
    }
    for trigger in variant.triggers:
        for key, rate in (("total_hz", trigger.total), ("unique_hz", trigger.unique)):
            values[trigger.name, key] = rate.hz, rate.error_hz
        if fraction := trigger.unique_fraction:
            values[trigger.name, "unique_fraction"] = fraction
    for section in (part for whole in made for part in (whole, *whole.parts)):
        if section.menu == variant.menu.name and section.measured:
            values |= section.measured
    return values


def _compared(reference: Reference, value: Value | None) -> tuple[str, str, str]:
    is_rate = reference.quantity.endswith("_hz")
    published = _hz(reference.value, 0.0) if is_rate else f"{100 * reference.value:g} %"
    if value is None:
        return NONE, published, NONE
    here, error = value
    text = _hz(here, error or 0.0) if is_rate else numbers.percent(here, error)
    return text, published, numbers.with_error(here / reference.value, (error or 0.0) / reference.value)


def _hz(hz: float, error_hz: float) -> str:
    return numbers.format_rate(Rate(hz, error_hz, 1, 1.0, None))


#: Cell without a value.
NONE = "–"
#: Fields of a description that have a column of their own, or do not help a reader.
_LEFT_OUT = ("above", "sha256")


def menus(contents: Contents) -> Table:
    """Return a line per menu: its rate, and the difference from the first menu."""
    columns = [
        Column("menu", "key", "menu"),
        Column("triggers", "count", "triggers"),
        Column("rate", "rate", "rate"),
        Column("events", "number", numbers.EVENTS, text=numbers.events_text),
    ]
    first = contents.variants[0].menu.name
    changes = changes_of_menu(contents.comparison, first) if contents.comparison else {}
    if changes:
        columns.append(Column("less the first", "difference", f"less {first}"))
    table = Table(columns)
    for variant in contents.variants:
        change = changes.get(variant.menu.name)
        less = (change.b_minus_a_hz, change.error_hz) if change else NONE
        table.add(variant.menu.name, len(variant.menu.enabled), variant.rate, variant.rate, less)
    return table


def changes_of_menu(comparison: Comparison, first: str) -> dict[str, Difference]:
    """Return the differences of the rates of menus from that of the first, by the names of the menus."""
    return {d.b: d for d in comparison.differences if (d.what, d.a) == ("menu", first)}


def definitions(variants: Sequence[MenuRates]) -> Table:
    """Return a line per definition of a trigger, with its threshold in each menu that has it; those of one
    name follow each other."""
    by_definition: dict[tuple[str, ...], dict[str, str]] = {}
    for variant in variants:
        for trigger in variant.menu.used:
            in_menu = by_definition.setdefault(_definition(trigger), {})
            use = "yes" if trigger.enabled else "read only"
            in_menu[variant.menu.name] = _threshold(variant.menu, trigger) or use
    names = [variant.menu.name for variant in variants]
    columns = (
        Column("trigger", "key", "trigger"),
        Column("kind", "label", "kind"),
        Column("definition", "note", "definition"),
        Column("group", "label", "group"),
        Column("prescale", "number", "prescale"),
        *(Column(f"in {name}", "number", f"in {name}") for name in names),
    )
    table = Table(columns, title="Triggers and their thresholds.")
    order = {name: number for number, (name, *_) in reversed([*enumerate(by_definition)])}
    for definition, thresholds in sorted(by_definition.items(), key=lambda item: order[item[0][0]]):
        table.add(*definition, *(thresholds.get(name, NONE) for name in names))
    return table


def _definition(trigger: Trigger) -> tuple[str, ...]:
    keys = _keys(trigger.description)
    described = {key: value for key, value in keys.items() if key not in _LEFT_OUT}
    if trigger.budget:
        described[trigger.budget.key] = trigger.budget.hz
    if trigger.seed:
        described["seed"] = trigger.seed.text
    if trigger.coherent:
        described["coherent"] = trigger.coherent
    parts = [f"{key} = {text}" for key, value in described.items() if (text := _formatted(value))]
    prescale = numbers.prescale_text(trigger.prescale)
    return trigger.name, trigger.kind, "; ".join(parts), trigger.group or "", prescale


def _keys(table: Any) -> dict[str, Any]:
    """Return the keys of a table that do not have their defaults."""
    fields = msgspec.structs.fields(table)
    keys: dict[str, Any] = {f.name: v for f in fields if (v := getattr(table, f.name)) != f.default}
    further: dict[str, Any] = keys.pop(table.further, {})
    return keys | further


def _formatted(value: Any) -> str:
    """Format a value as in a menu, without quotation marks and empty tables."""
    if isinstance(value, TomlTable):
        value = _keys(value)
    elif not isinstance(value, Mapping | list | tuple):
        value = msgspec.to_builtins(value, enc_hook=str)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {text}" for key, entry in value.items() if (text := _formatted(entry)))
        return f"{{ {inner} }}" if inner else ""
    if isinstance(value, list | tuple):
        inner = ", ".join(filter(None, map(_formatted, value)))
        return f"[{inner}]" if inner else ""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _threshold(menu: Menu, trigger: Trigger) -> str:
    """Return the threshold of a trigger with its unit; empty if it has none."""
    threshold = getattr(trigger.description, "threshold", None)
    if threshold is None:
        return ""
    value = numbers.with_error(threshold, trigger.solution.error if trigger.solution else 0.0)
    return f"{value} {unit_of_threshold(menu, trigger)}".rstrip()
