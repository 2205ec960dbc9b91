"""Numbers of the menus of a report beside published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trigemu.api import Column, Contents, MenuRates, Rate, Reference, Section, Table, numbers

from .tables import NONE

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
    """Yield a section with the references to menus of this report, if any, beside the numbers found here.

    made: the other sections, which may have measured further quantities.
    """
    names = (Column(name, "key", name) for name in ("menu", "quantity"))
    head = (Column(name, "number", name) for name in ("here", "published", "here / published"))
    table = Table((*names, *head))
    sources: dict[str, None] = {}
    by_construction = 0
    for variant in contents.variants:
        values = _values(variant, made)
        for reference in (r for profiles in contents.profiles for r in profiles.of(variant.menu.name)):
            what = f"{reference.trigger} " if reference.trigger else ""
            name = NAMES.get(reference.quantity, reference.quantity)
            value = values.get((reference.trigger, reference.quantity))
            here, published, ratio = _compared(reference, value)
            if value is not None and _agrees_by_construction(reference, variant):
                by_construction, ratio = by_construction + 1, f"= {ratio}"
            table.add(variant.menu.name, what + name, here, published, ratio)
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
    values: dict[tuple[str | None, str], Value] = {}
    values[None, "rate_hz"] = variant.rate.hz, variant.rate.error_hz
    for trigger in variant.triggers:
        values[trigger.name, "total_hz"] = trigger.total.hz, trigger.total.error_hz
        values[trigger.name, "unique_hz"] = trigger.unique.hz, trigger.unique.error_hz
        fraction = trigger.unique_fraction
        if fraction:
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
