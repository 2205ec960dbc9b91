"""A comparison of menus: what `trigemu compare` shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from trigemu.base.errors import few_of
from trigemu.counting.quantities import COMPARED
from trigemu.rates.results import Rate
from trigemu.results.notes import legend, notes, notes_of_several, wholes
from trigemu.results.numbers import count, signed
from trigemu.results.rates import MenuRatesView, columns, row
from trigemu.results.table import RATE_PARTS, Column, Page, Table, stacked
from trigemu.results.view import Figures, View, name
from trigemu.studies.comparison import Common, Comparison

#: Variants that a line names.
_NAMED = 4
#: How many overlaps of different triggers a table lists, the largest first.
_PAIRS_SHOWN = 12
_VARIANT = Column("variant", "key", "variant", "The name of the menu.")
#: A number of CSV.
NUMBER = (
    Column("kind", "label", None, "`rate` (of variant a), `b_minus_a`, `gained` (by b over a) or `common`."),
    Column("a", "label", None, "The first variant."),
    Column("b", "label", None, "The second variant; empty for a rate."),
    Column("what", "label", None, "The trigger of a, `level NAME` or `menu`."),
    Column("with", "label", None, "The trigger of b, for what both accept; else empty."),
    Column("quantity", "label", None, "`total_hz` or `unique_hz`; `rate_hz` of a level or menu."),
    Column("hz", "number", None, "The rate or the difference in Hz."),
    Column("error_hz", "number", None, "Its statistical uncertainty in Hz."),
    Column("unseen", "note", None, RATE_PARTS["unseen"]),
)
#: What changed.
_CHANGES = (
    *(Column(key, "key", heading) for key, heading in (("what", "changed"), ("a", "from"), ("b", "to"))),
    Column("how", "note", "how"),
    *(Column(quantity, "difference", f"Δ {quantity}") for quantity in COMPARED),
    Column("percent", "number", "%", text="{:+.3g}".format),
    Column("sigma", "number", "σ", text="{:+.3g}".format),
)
#: Differences from the first variant, in data frames.
LESS = tuple(
    Column(
        f"{quantity}_less_first", "difference", None, f"The {quantity} rate minus that of the first variant."
    )
    for quantity in COMPARED
)


@dataclass(frozen=True)
class ComparisonView(View[Comparison]):
    every: bool = False  #: Whether also the rates of triggers that do not differ are printed

    def line(self, result: Comparison) -> str:
        variants = [name(variant.menu.name) for variant in result.variants]
        return f"of {few_of(variants, _NAMED)}"

    def page(self, result: Comparison) -> Page:
        """What changed, then the rates of what differs."""
        names = dict.fromkeys(trigger.name for variant in result.variants for trigger in variant.triggers)
        differing = {d.what for d in result.differences if d.b_minus_a_hz or d.error_hz}
        differing |= {change.what for change in result.changes}
        shown = [name for name in names if self.every or name in differing]
        tables = [changes_table(result), _gains(result), _rates(result, shown), _common_table(result)]
        equal = len(names) - len(shown)
        left_out = [f"{count(equal, 'trigger')} with the same rates not shown: --all."] if equal else []
        return Page(stacked(table for table in tables if table.rows), [*left_out, *_notes(result, shown)])

    def table(self, result: Comparison) -> Table:
        """The rates of a trigger in a variant, and the differences from the first variant."""
        first, differences = result.variants[0].menu.name, _differences(result)
        with_levels = any(variant.levels for variant in result.variants)
        table = Table((_VARIANT, *columns(with_levels), *LESS))
        for variant in result.variants:
            for trigger in variant.triggers:
                key = first, variant.menu.name, trigger.name
                changes = {f"{q}_less_first": differences.get((*key, f"{q}_hz")) for q in COMPARED}
                table.add_record({"variant": variant.menu.name} | row(trigger) | changes)
        return table

    def csv_table(self, result: Comparison) -> Table:
        """A line for each number."""
        table = Table(NUMBER)
        for variant in result.variants:
            rates = {("menu", "rate"): variant.rate}
            rates |= {(f"level {level.name}", "rate"): level.rate for level in variant.levels}
            rates |= {
                (t.name, quantity): t.rates[quantity] for t in variant.triggers for quantity in COMPARED
            }
            for (what, quantity), rate in rates.items():
                numbers = rate.hz, rate.error_hz, list(rate.unseen)
                table.add("rate", variant.menu.name, "", what, "", f"{quantity}_hz", *numbers)
        for d in result.differences:
            table.add("b_minus_a", d.a, d.b, d.what, "", d.quantity, d.b_minus_a_hz, d.error_hz)
        for gain in result.gained:
            table.add("gained", gain.a, gain.b, "menu", "", "rate_hz", gain.hz, gain.error_hz)
        for c in result.common:
            table.add("common", c.a, c.b, c.of_a, c.of_b, "total_hz", c.hz, c.error_hz)
        return table

    def document(self, result: Comparison) -> dict[str, Any]:
        """`common` has a matrix for each pair of variants, with a row for each trigger of a and a column for
        each trigger of b."""
        return {
            "variants": [*map(MenuRatesView().document, result.variants)],
            "differences": [asdict(difference) for difference in result.differences],
            "gained": [asdict(gain) for gain in result.gained],
            "common": list(_matrices(result)),
            "changes": [asdict(change) for change in result.changes],
        }

    def figures(self, result: Comparison) -> Figures:
        from trigemu.results.figures.rates import of_triggers

        yield of_triggers(result.variants).figure


def _differences(result: Comparison) -> dict[tuple[str, str, str, str], tuple[float, float]]:
    """Return the differences of two variants, by their names, the trigger and the quantity."""
    return {(d.a, d.b, d.what, d.quantity): (d.b_minus_a_hz, d.error_hz) for d in result.differences}


def _matrices(result: Comparison) -> Iterator[dict[str, Any]]:
    pairs: dict[tuple[str, str], dict[str, list[Common]]] = {}
    for common in result.common:
        pairs.setdefault((common.a, common.b), {}).setdefault(common.of_a, []).append(common)
    for (a, b), rows in pairs.items():
        of_b = [common.of_b for common in next(iter(rows.values()))]
        hz, errors = ([[getattr(c, key) for c in row] for row in rows.values()] for key in ("hz", "error_hz"))
        yield {"a": a, "b": b, "triggers_a": [*rows], "triggers_b": of_b, "hz": hz, "error_hz": errors}


def _wholes(result: Comparison) -> list[dict[str, Rate]]:
    """Return for each variant the rates of its levels, and of the menu if a variant has no levels: the rate
    of a menu is that of its last level."""
    with_menu = not all(variant.levels for variant in result.variants)
    levels = ({f"level {level.name}": level.rate for level in v.levels} for v in result.variants)
    menus = ({"menu": v.rate} if with_menu else {} for v in result.variants)
    return [of_levels | of_menu for of_levels, of_menu in zip(levels, menus, strict=True)]


def _rates(result: Comparison, triggers: Iterable[str]) -> Table:
    """Return the rates of triggers, a line per variant, with the difference from the first beside; then those
    of the levels or the menu."""
    head = [Column("name", "key", "trigger"), _VARIANT]
    for quantity in COMPARED:
        head.append(Column(quantity, "rate", quantity))
        head.append(Column(f"{quantity} less", "difference", "less the first"))
    table, first, differences = Table(head), result.variants[0].menu.name, _differences(result)
    of_variants: list[dict[tuple[str, bool], Mapping[str, Rate]]] = [
        {(trigger.name, False): trigger.rates for trigger in variant.triggers}
        | {(what, True): {"total": rate} for what, rate in wholes.items()}
        for variant, wholes in zip(result.variants, _wholes(result), strict=True)
    ]
    wholes = dict.fromkeys(key for rates in of_variants for key in rates if key[1])
    for what, is_whole in (*((trigger, False) for trigger in triggers), *wholes):
        if is_whole:
            table.add_gap()
        for number, (variant, rates) in enumerate(zip(result.variants, of_variants, strict=True)):
            values: dict[str, Any] = {"name": "" if number else what, "variant": variant.menu.name}
            for quantity in ("total",) if is_whole else COMPARED:
                rate = rates.get((what, is_whole), {}).get(quantity)
                key = first, variant.menu.name, what, "rate_hz" if is_whole else f"{quantity}_hz"
                change = differences.get(key)
                values[quantity] = rate or "– "
                values[f"{quantity} less"] = change and signed(*change, rate.hz if rate else 0.0)
            table.add_record(values, "summary" if is_whole else "plain")
    return table


def _gains(result: Comparison) -> Table:
    names = Column("a", "key", "from"), Column("b", "key", "to")
    rates = Column("gained", "rate", "gained"), Column("lost", "rate", "lost")
    last = {variant.levels[-1].name if variant.levels else "menu" for variant in result.variants}
    what = last.pop() if len(last) == 1 else "menu"
    table = Table((*names, *rates, Column("rate", "difference", f"{what} rate")))
    gains = {(gain.a, gain.b): (gain.hz, gain.error_hz) for gain in result.gained}
    for d in result.differences:
        if d.what == "menu":
            table.add(d.a, d.b, gains[d.a, d.b], gains[d.b, d.a], (d.b_minus_a_hz, d.error_hz))
    return table


def changes_table(result: Comparison) -> Table:
    """Return what is defined differently, and how the rates change: of levels, those that change first."""
    known, wholes = _differences(result), _wholes(result)
    rates = {(v.menu.name, t.name): t.total.hz for v in result.variants for t in v.triggers}
    table = Table(_CHANGES)
    for change in result.changes:
        before = rates.get((change.a, change.what), 0.0)
        changes = {q: known.get((change.a, change.b, change.what, f"{q}_hz")) for q in COMPARED}
        shown = {q: change and signed(*change, before) for q, change in changes.items()}
        table.add_record(asdict(change) | shown | _relative(changes["total"], before))
    for (i, a), (_, b) in combinations(enumerate(variant.menu.name for variant in result.variants), 2):
        of_pair = {what: (known.get((a, b, what, "rate_hz")), rate.hz) for what, rate in wholes[i].items()}
        for what, (total, before) in sorted(of_pair.items(), key=lambda item: not any(item[1][0] or ())):
            if total and (result.changes or any(total)):
                values = {"what": what, "a": a, "b": b, "total": total} | _relative(total, before)
                table.add_record(values, "summary")
    return table


def _relative(change: tuple[float, float] | None, before: float) -> dict[str, Any]:
    """Return a change in percent, and over its error."""
    hz, error = change or (0.0, 0.0)
    percent = 100 * hz / before if before else None
    return {"percent": percent, "sigma": hz / error if error else None}


def _common_table(result: Comparison) -> Table:
    """Return the overlaps of triggers that changed: those of one name, then the largest of different ones."""
    changed = {(change.a, change.b, change.what) for change in result.changes}
    both = [
        c
        for c in result.common
        if (c.a, c.b, c.of_a) in changed and (c.a, c.b, c.of_b) in changed and (c.hz or c.of_a == c.of_b)
    ]
    different = sorted((c for c in both if c.of_a != c.of_b), key=lambda c: -c.hz)
    keys = (("of_a", "in both"), ("a", "of"), ("of_b", "and"), ("b", "of"))
    shares = [
        Column(key, "number", f"% of the {key}", text=lambda share: f"{100 * share:.3g}")
        for key in ("first", "second")
    ]
    table = Table(
        (*(Column(key, "key", heading) for key, heading in keys), Column("rate", "rate", "rate"), *shares)
    )
    for c in (*(c for c in both if c.of_a == c.of_b), *different[:_PAIRS_SHOWN]):
        table.add(c.of_a, c.a, c.of_b, c.b, (c.hz, c.error_hz), *c.shares)
    return table


def _notes(result: Comparison, shown: Collection[str]) -> Iterator[str]:
    """Yield the notes below the rates of some triggers: what all variants have in common once, other notes
    about a menu with its name."""
    yield (
        "Differences use the same events; their errors include the correlation. Gained: what the second "
        "accepts beyond the first; a prescaled event counts with the increase of its accepted fraction."
    )
    triggers = [trigger for v in result.variants for trigger in v.triggers if trigger.name in shown]
    marks = [*legend(triggers, [rate for v in result.variants for rate in wholes(v)], COMPARED)]
    listed = {v.menu.name: [n for n in notes(v, marks) if n.about != "events"] for v in result.variants}
    yield from filter(None, notes_of_several(listed))
