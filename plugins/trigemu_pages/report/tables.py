"""Tables of a report that no command prints, such as numbers of its menus beside published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trigemu.base.toml import TomlTable
from trigemu.counting.quantities import COMPARED
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu, Trigger
from trigemu.rates.results import MenuRates, Rate
from trigemu.results import numbers
from trigemu.results.section import Contents, Section
from trigemu.results.table import Column, RowStyle, Table
from trigemu.studies.comparison import Comparison, Difference
from trigemu.studies.efficiency import Efficiencies, Turnon
from trigemu.studies.efficiency_profiles import Reference
from trigemu.studies.intervals import Curve

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
_GAINS = Column("gained", "rate", "gained"), Column("lost", "rate", "lost")
#: What both variants of a trigger accept.
_BOTH = (
    Column("trigger", "key", "trigger"),
    *(Column(key, "label", key) for key in ("menu A", "menu B")),
    Column("both", "rate", "both accept"),
    *(Column(key, "number", key) for key in ("of A", "of B")),
)


def menus(contents: Contents) -> Table:
    """Return a line per menu: its rate, and the difference from the first menu."""
    comparison = contents.comparison
    columns = [
        Column("menu", "key", "menu"),
        Column("triggers", "count", "triggers"),
        Column("rate", "rate", "rate"),
        Column("events", "number", numbers.EVENTS, text=numbers.events_text),
    ]
    first = contents.variants[0].menu.name
    if comparison:
        columns += [Column("less the first", "difference", f"less {first}"), *_GAINS]
    table = Table(columns)
    for variant in contents.variants:
        against: tuple[Any, ...] = (NONE,) * 3
        if comparison and (name := variant.menu.name) != first:
            gains = gains_of(comparison)
            change = change_of_menu(comparison, first, name)
            against = (change.b_minus_a_hz, change.error_hz), gains[first, name], gains[name, first]
        table.add(variant.menu.name, len(variant.menu.enabled), variant.rate, variant.rate, *against)
    return table


def change_of_menu(comparison: Comparison, first: str, name: str) -> Difference:
    """Return the difference of the rates of two menus."""
    return next(d for d in comparison.differences if (d.what, d.a, d.b) == ("menu", first, name))


def gains_of(comparison: Comparison) -> dict[tuple[str, str], tuple[float, float]]:
    return {(gain.a, gain.b): (gain.hz, gain.error_hz) for gain in comparison.gained}


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


def differences(comparison: Comparison) -> Table:
    """Return a line per pair of menus and trigger (or menu) whose rates differ, a column per quantity."""
    by_pair: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    for d in comparison.differences:
        if d.b_minus_a_hz or d.error_hz:
            by_pair.setdefault((d.a, d.b, d.what), {})[d.quantity] = (d.b_minus_a_hz, d.error_hz)
    quantities = (Column(f"{quantity}_hz", "difference", f"{quantity} rate") for quantity in COMPARED)
    names = Column("pair", "key", "difference"), Column("of", "key", "of")
    title = "Differences of rates, with paired errors: events that both menus accept cancel."
    table, gains = Table((*names, *quantities, *_GAINS), title=title), gains_of(comparison)
    for (a, b, what), rows in by_pair.items():
        values: dict[str, Any] = {"pair": f"{b} − {a}", "of": what}
        style: RowStyle = "summary" if what == "menu" else "plain"
        if "rate_hz" in rows:  # of a menu or level, beside the total rates of triggers
            values["total_hz"] = rows["rate_hz"]
        else:
            values |= {f"{quantity}_hz": rows.get(f"{quantity}_hz", "0 Hz") for quantity in COMPARED}
        if what == "menu":
            values |= {"gained": gains[a, b], "lost": gains[b, a]}
        table.add_record(values, style)
    return table


def common(comparison: Comparison) -> Table:
    """Return the overlaps of triggers of one name that two menus define differently."""
    changed = {(change.a, change.b, change.what) for change in comparison.changes}
    table = Table(_BOTH, title="What both variants of a trigger accept.")
    for c in comparison.common:
        if c.of_a == c.of_b and (c.a, c.b, c.of_a) in changed:
            shares = (NONE if share is None else f"{100 * share:.1f} %" for share in c.shares)
            table.add(c.of_a, c.a, c.b, (c.hz, c.error_hz), *shares)
    return table


def efficiencies_by_sample(result: Efficiencies, labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield a table for each category: the efficiency of each menu for the samples, measured apart."""
    names = [menu.name for menu in result.menus]
    columns = [Column("sample", "key", "sample"), Column("events", "count", "events")]
    for name in names:
        columns.append(Column(name, "number", name))
        columns += [Column(f"gain of {name}", "number", "gain")] if name != names[0] else []
    first = result.turnons[0].profile
    for category in dict.fromkeys(turnon.category for turnon in result.turnons):
        text = f"{labels.get(category, category)}; gain: over {names[0]}, on the same events."
        table = Table(columns, title=text[0].upper() + text[1:])
        for turnon in result.turnons:
            if (turnon.profile, turnon.category) == (first, category):
                table.add(str(turnon.sample), turnon.selected, *_of_menus(turnon, names))
        yield table


def _of_menus(turnon: Turnon, names: Sequence[str]) -> Iterator[str]:
    curves: dict[str, Curve] = {curve.menu: curve for curve in turnon.curves if curve.trigger is None}
    for name in names:
        overall = curves[name].overall
        yield f"{overall.value:.3f} ± {(overall.high - overall.low) / 2:.3f}"
        if name != names[0]:
            yield f"{overall.gain:+.3f} ± {overall.gain_error:.3f}"
