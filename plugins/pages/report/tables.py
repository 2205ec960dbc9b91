"""Results as tables of text, for a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trigemu.api import (
    COMPARED,
    LISTED,
    Comparison,
    Contents,
    Curve,
    Efficiencies,
    MenuRates,
    Rate,
    ReportTable,
    Trigger,
    TriggerRates,
    Turnon,
    numbers,
)

#: Cell without a value.
NONE = "–"
#: Fields of a description that have a column of their own, or do not help a reader.
_NOT_TOLD = ("above", "sha256")
#: Quantity → further columns after its own.
_FRACTIONS = {"unique": ("unique / total",)}


def hz(value: float, error: float) -> str:
    """Format a rate as `18.7 ± 1.4 kHz`; it may be negative."""
    return numbers.format_rate(Rate(value, error, 1, 1.0, None)).replace("-", "−")


def menus(contents: Contents) -> ReportTable:
    """Return a line per menu: its rate, and the difference from the first menu."""
    comparison = contents.comparison
    head = ["menu", "triggers", "rate", numbers.EVENTS]
    if comparison:
        head += [f"less {contents.variants[0].menu.name}", "gained", "lost"]
    rows = []
    for variant in contents.variants:
        row = [
            variant.menu.name,
            str(len(variant.menu.enabled)),
            _rate(variant.rate),
            numbers.events_text(variant.rate),
        ]
        rows.append((*row, *(_against_first(comparison, variant.menu.name) if comparison else ())))
    return ReportTable(tuple(head), tuple(rows), "l" + "r" * (len(head) - 1))


def _against_first(comparison: Comparison, name: str) -> tuple[str, ...]:
    first = comparison.variants[0].menu.name
    if name == first:
        return (NONE,) * 3
    (difference,) = (d for d in comparison.differences if (d.what, d.a, d.b) == ("menu", first, name))
    gains = {(gain.a, gain.b): hz(gain.hz, gain.error_hz) for gain in comparison.gained}
    return hz(difference.b_minus_a_hz, difference.error_hz), gains[first, name], gains[name, first]


def definitions(variants: Sequence[MenuRates]) -> ReportTable:
    """Return a line per definition of a trigger, with its threshold in each menu that has it."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for variant in variants:
        for trigger in variant.menu.used:
            in_menu = found.setdefault(_definition(trigger), {})
            in_menu[variant.menu.name] = _threshold(trigger) or ("yes" if trigger.enabled else "read only")
    names = [variant.menu.name for variant in variants]
    rows = tuple((*key, *(of.get(name, NONE) for name in names)) for key, of in found.items())
    head = ("trigger", "kind", "definition", "group", "prescale", *(f"in {name}" for name in names))
    return ReportTable(head, rows, "llllr" + "r" * len(names), "Triggers and their thresholds.").trimmed()


def _definition(trigger: Trigger) -> tuple[str, ...]:
    described = {
        key: value
        for key, value in msgspec.to_builtins(trigger.description, enc_hook=str).items()
        if key not in _NOT_TOLD
    }
    if trigger.budget:
        described[trigger.budget.key] = trigger.budget.hz
    if trigger.seed:
        described["seed"] = trigger.seed.text
    if trigger.coherent:
        described["coherent"] = trigger.coherent
    parts = [f"{key} = {told}" for key, value in described.items() if (told := _told(value))]
    return trigger.name, trigger.kind, "; ".join(parts), trigger.group or "", prescale(trigger.prescale)


def _told(value: Any) -> str:
    """Format a value of a description, without fields that are not set."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {told}" for key, entry in value.items() if (told := _told(entry)))
        return f"{{ {inner} }}" if inner else ""
    if isinstance(value, list | tuple):
        inner = ", ".join(filter(None, map(_told, value)))
        return f"[{inner}]" if inner else ""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _threshold(trigger: Trigger) -> str:
    cut = getattr(trigger.description, "cut", None)
    if cut is None:
        return ""
    return numbers.with_error(cut, trigger.solution.error if trigger.solution else 0.0).replace("-", "−")


def prescale(value: float | None) -> str:
    """Format a prescale; empty for 1."""
    return "" if value in (None, 1.0) else f"{value:.8g}"


def rates(variant: MenuRates) -> ReportTable:
    """Return the rates of triggers, groups and levels, then of the menu."""
    quantities = (name for quantity in LISTED for name in (quantity, *_FRACTIONS.get(quantity, ())))
    head = ("trigger", "group", "prescale", "threshold", *quantities, numbers.EVENTS)
    rows, strong = [], set()
    for level in variant.levels or (None,):
        name = level.name if level else None
        rows += [_row(trigger) for trigger in variant.triggers if trigger.level == name]
        first = len(rows)
        rows += [_row(group) for group in variant.groups if group.level == name]
        if level:
            rows.append(_whole(f"level {level.name}", level.rate))
        strong |= set(range(first, len(rows)))
    rows.append(_whole(f"menu {variant.menu.name}", variant.rate))
    strong.add(len(rows) - 1)
    lost = f"{variant.levels[-1].name} loses" if variant.levels else ""
    return ReportTable(
        (*head, lost), tuple(rows), "ll" + "r" * (len(head) - 1), strong=frozenset(strong)
    ).trimmed()


def _whole(name: str, rate: Rate) -> tuple[str, ...]:
    others = [""] * (len(LISTED) + len(_FRACTIONS) - 1)
    return name, "", "", "", _rate(rate), *others, numbers.events_text(rate), ""


def _row(rates: TriggerRates) -> tuple[str, ...]:
    group = rates.kind == "group"
    threshold = ""
    if rates.threshold is not None:
        threshold = numbers.with_error(rates.threshold, rates.threshold_error or 0.0).replace("-", "−")
    fraction = rates.unique_fraction
    cells = {quantity: [_rate(rates.rates[quantity])] for quantity in LISTED}
    cells["unique"].append(NONE if fraction is None or rates.unique.upper_limit_hz else percent(*fraction))
    return (
        f"group {rates.name}" if group else rates.name,
        "" if group else rates.group or "",
        prescale(rates.prescale),
        threshold,
        *(cell for quantity in LISTED for cell in cells[quantity]),
        numbers.events_text(rates.total),
        _rate(rates.lost) if rates.lost else "",
    )


def percent(value: float, error: float | None) -> str:
    """Format a fraction and its error in percent."""
    return f"{numbers.with_error(100 * value, 100 * (error or 0.0))} %"


def _rate(rate: Rate) -> str:
    """Format a rate with its mark, or a space of its width, so that numbers are aligned."""
    found = numbers.mark(rate)
    return numbers.format_rate(rate) + (f" {found}" if found else "\u2002")


def changes(comparison: Comparison) -> ReportTable | None:
    """Return what is defined differently; None where nothing is."""
    rows = tuple((f"{change.a} → {change.b}", change.what, change.how) for change in comparison.changes)
    return (
        ReportTable(("menus", "what", "how it differs"), rows, "lll", "What is defined differently.")
        if rows
        else None
    )


def differences(comparison: Comparison) -> ReportTable:
    """Return a line per pair of menus and trigger (or menu) whose rates differ, a column per quantity."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for d in comparison.differences:
        if d.b_minus_a_hz or d.error_hz:
            found.setdefault((d.a, d.b, d.what), {})[d.quantity] = hz(d.b_minus_a_hz, d.error_hz)
    gains = {(gain.a, gain.b): gain for gain in comparison.gained}
    others, rows = [""] * (len(COMPARED) - 1), []
    for (a, b, what), of in found.items():
        if what == "menu":
            up, down = gains[a, b], gains[b, a]
            more = hz(up.hz, up.error_hz), hz(down.hz, down.error_hz)
            rows.append((f"{b} − {a}", "menu", of["rate_hz"], *others, *more))
        else:
            own = [of.get(f"{quantity}_hz", "0 Hz") for quantity in COMPARED]
            whole = [of["rate_hz"], *others] if "rate_hz" in of else own
            rows.append((f"{b} − {a}", what, *whole, "", ""))
    strong = frozenset(i for i, row in enumerate(rows) if row[1] == "menu")
    return ReportTable(
        ("difference", "of", *(f"{quantity} rate" for quantity in COMPARED), "gained", "lost"),
        tuple(rows),
        "ll" + "r" * (len(COMPARED) + 2),
        "Differences of rates, with paired errors: events that both menus accept cancel.",
        strong,
    )


def common(comparison: Comparison) -> ReportTable | None:
    """Return the overlaps of triggers of one name that two menus define differently."""
    changed = {(change.a, change.b, change.what) for change in comparison.changes}
    rates = {v.menu.name: {t.name: t.total for t in v.triggers} for v in comparison.variants}
    rows = tuple(
        (c.of_a, c.a, c.b, hz(c.hz, c.error_hz), *_shares(c.hz, rates[c.a][c.of_a], rates[c.b][c.of_b]))
        for c in comparison.common
        if c.of_a == c.of_b and (c.a, c.b, c.of_a) in changed
    )
    head = ("trigger", "menu A", "menu B", "both accept", "of A", "of B")
    return ReportTable(head, rows, "lllrrr", "What both variants of a trigger accept.") if rows else None


def _shares(value: float, *totals: Rate) -> Iterator[str]:
    for total in totals:
        yield f"{value / total.hz:.1%}".replace("%", " %") if total.hz > 0 else NONE


def efficiencies_by_sample(result: Efficiencies, labels: Mapping[str, str]) -> Iterator[ReportTable]:
    """Yield a table for each category: the efficiency of each menu for the samples, measured apart."""
    names = [menu.name for menu in result.menus]
    head = (
        "sample",
        "events",
        *(text for name in names for text in (name, "gain")[: 1 + (name != names[0])]),
    )
    first = result.turnons[0].profile
    for category in dict.fromkeys(turnon.category for turnon in result.turnons):
        rows = tuple(
            (str(turnon.sample), str(turnon.selected), *_of_menus(turnon, names))
            for turnon in result.turnons
            if (turnon.profile, turnon.category) == (first, category)
        )
        text = f"{labels.get(category, category)}; gain: over {names[0]}, on the same events."
        yield ReportTable(head, rows, "l" + "r" * (len(head) - 1), text[0].upper() + text[1:])


def _of_menus(turnon: Turnon, names: Sequence[str]) -> Iterator[str]:
    of: dict[str, Curve] = {curve.menu: curve for curve in turnon.curves if curve.trigger is None}
    for name in names:
        overall = of[name].overall
        yield f"{overall.value:.3f} ± {(overall.high - overall.low) / 2:.3f}"
        if name != names[0]:
            yield f"{overall.gain:+.3f} ± {overall.gain_error:.3f}"
