"""A comparison of menus: what `trigemu compare` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, groupby
from typing import Any

from trigemu.counting.quantities import COMPARED
from trigemu.rates.results import MenuRates, Rate
from trigemu.results.notes import legend, notes, notes_of_several
from trigemu.results.numbers import count, signed
from trigemu.results.rates import MenuRatesView, columns, pictures_of
from trigemu.results.table import RATE_PARTS, Column, Page, RowStyle, Table
from trigemu.results.view import Figures, Pictures, View
from trigemu.studies.comparison import Comparison

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
#: Differences from the first variant, in data frames.
LESS = tuple(
    Column(f"{key}_less_first", "difference", None, f"The {key} rate minus that of the first variant.")
    for key in COMPARED
)
_RATES = (
    *(Column("name", "key", "trigger"), _VARIANT),
    *(
        column
        for key in COMPARED
        for column in (Column(key, "rate", key), Column(f"{key} less", "difference", "less the first"))
    ),
)
_GAINS = (
    *(Column("a", "key", "from"), Column("b", "key", "to")),
    *(Column("gained", "rate", "gained"), Column("lost", "rate", "lost")),
)
#: What changed.
_CHANGES = (
    *(Column(key, "key", heading) for key, heading in (("what", "changed"), ("a", "from"), ("b", "to"))),
    Column("how", "note", "how"),
    *(Column(key, "difference", f"Δ {key}") for key in COMPARED),
    Column("percent", "number", "%", text="{:+.3g}".format),
    Column("sigma", "number", "σ", text="{:+.3g}".format),
)


def _percent(share: float) -> str:
    return f"{100 * share:.3g}"


_COMMON = (
    Column("of_a", "key", "in both"),
    Column("a", "key", "of"),
    Column("of_b", "key", "and"),
    Column("b", "key", "of"),
    Column("rate", "rate", "rate", of=lambda c: (c.hz, c.error_hz)),
    Column("first", "number", "% of the first", text=_percent, of=lambda c: c.shares[0]),
    Column("second", "number", "% of the second", text=_percent, of=lambda c: c.shares[1]),
)


@dataclass(frozen=True)
class ComparisonView(View[Comparison]):
    every: bool = False  #: Whether also the rates of triggers that do not differ are printed

    def page(self, result: Comparison) -> Page:
        """What changed, then the rates of what differs."""
        names = dict.fromkeys(trigger.name for variant in result.variants for trigger in variant.triggers)
        differing = {d.what for d in result.differences if d.b_minus_a_hz or d.error_hz}
        differing |= {change.what for change in result.changes}
        shown = [name for name in names if self.every or name in differing]
        last = {variant.levels[-1].name if variant.levels else "menu" for variant in result.variants}
        rate = Column("rate", "difference", f"{last.pop() if len(last) == 1 else 'menu'} rate")
        gained, known = Table((*_GAINS, rate)), {(g.a, g.b): (g.hz, g.error_hz) for g in result.gained}
        for d in result.differences:
            if d.what == "menu":
                gained.add(d.a, d.b, known[d.a, d.b], known[d.b, d.a], (d.b_minus_a_hz, d.error_hz))
        # The overlaps of triggers that changed: those of one name, then the largest of different ones.
        changed = {(change.a, change.b, change.what) for change in result.changes}
        both = [c for c in result.common if (c.a, c.b, c.of_a) in changed and (c.a, c.b, c.of_b) in changed]
        different = sorted((c for c in both if c.of_a != c.of_b and c.hz), key=lambda c: -c.hz)
        same = [c for c in both if c.of_a == c.of_b]
        common = Table.of(_COMMON, [*same, *different[:_PAIRS_SHOWN]])
        tables = changes_table(result), gained, _rates(result, shown), common
        triggers = [t for variant in result.variants for t in variant.triggers if t.name in shown]
        marks = [*legend(triggers, result.variants, COMPARED)]
        listed = {v.menu.name: [n for n in notes(v, marks) if n.about != "events"] for v in result.variants}
        equal = len(names) - len(shown)
        below = [f"{count(equal, 'trigger')} with the same rates not shown: --all."] if equal else []
        below += [
            "Differences use the same events; their errors include the correlation. Gained: what the second "
            "accepts beyond the first; a prescaled event counts with the increase of its accepted fraction.",
            *filter(None, notes_of_several(listed)),
        ]
        return Page([table for table in tables if table.rows], below)

    def table(self, result: Comparison) -> Table:
        """The rates of a trigger in a variant, and the differences from the first variant."""
        first, differences = result.variants[0].menu.name, _differences(result)
        listed = columns(any(variant.levels for variant in result.variants))
        table = Table((_VARIANT, *listed, *LESS))
        for variant in result.variants:
            name = variant.menu.name
            for row in Table.of(listed, variant.triggers).rows:
                key = first, name, row.values["name"]
                changes = {f"{q}_less_first": differences.get((*key, f"{q}_hz")) for q in COMPARED}
                table.add_record({"variant": name, **row.values, **changes})
        return table

    def csv_table(self, result: Comparison) -> Table:
        """A line for each number."""
        table = Table(NUMBER)
        for variant in result.variants:
            for (what, quantity), rate in _rates_of(variant).items():
                numbers = rate.hz, rate.error_hz, list(rate.unseen)
                table.add("rate", variant.menu.name, "", what, "", quantity, *numbers)
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
        common = []
        for (a, b), of_pair in groupby(result.common, key=lambda c: (c.a, c.b)):
            rows = {of_a: [*row] for of_a, row in groupby(of_pair, key=lambda c: c.of_a)}
            names = {"a": a, "b": b, "triggers_a": [*rows]}
            names["triggers_b"] = [c.of_b for c in next(iter(rows.values()))]
            keys = ("hz", "error_hz")
            common.append(names | {k: [[getattr(c, k) for c in row] for row in rows.values()] for k in keys})
        return {
            "variants": [*map(MenuRatesView().document, result.variants)],
            "differences": [asdict(difference) for difference in result.differences],
            "gained": [asdict(gain) for gain in result.gained],
            "common": common,
            "changes": [asdict(change) for change in result.changes],
        }

    def figures(self, result: Comparison) -> Figures:
        from trigemu.results.figures.draw import of_triggers

        yield of_triggers(result.variants).figure

    def pictures(self, result: Comparison) -> Pictures:
        return pictures_of({variant.menu.name: variant for variant in result.variants})


def _rates_of(variant: MenuRates) -> dict[tuple[str, str], Rate]:
    """Return the compared rates of a variant, by the names of its differences: menu, levels, triggers."""
    rates = {("menu", "rate_hz"): variant.rate}
    rates |= {(f"level {level.name}", "rate_hz"): level.rate for level in variant.levels}
    return rates | {(t.name, f"{key}_hz"): t.rates[key] for t in variant.triggers for key in COMPARED}


def _differences(result: Comparison) -> dict[tuple[str, str, str, str], tuple[float, float]]:
    """Return the differences of two variants, by their names, the trigger and the quantity."""
    return {(d.a, d.b, d.what, d.quantity): (d.b_minus_a_hz, d.error_hz) for d in result.differences}


def _wholes(result: Comparison) -> list[list[str]]:
    """Return for each variant the names of its levels, and the menu if a variant has no levels: the rate of a
    menu is that of its last level."""
    menu = [] if all(variant.levels for variant in result.variants) else ["menu"]
    return [[*(f"level {level.name}" for level in variant.levels), *menu] for variant in result.variants]


def changes_table(result: Comparison) -> Table:
    """Return what is defined differently, and how the rates change: of levels, those that change first."""
    table, known = Table(_CHANGES), _differences(result)
    rates = {variant.menu.name: _rates_of(variant) for variant in result.variants}
    for change in result.changes:
        a, b, what = change.a, change.b, change.what
        before = rates[a][what, "total_hz"].hz if (what, "total_hz") in rates[a] else 0.0
        changes = {key: known.get((a, b, what, f"{key}_hz")) for key in COMPARED}
        shown = {key: found and signed(*found, before) for key, found in changes.items()}
        table.add_record(asdict(change) | shown | _relative(changes["total"], before))
    for (a, names), (b, _) in combinations(zip(rates, _wholes(result), strict=True), 2):
        totals = [(what, known.get((a, b, what, "rate_hz"))) for what in names]
        for what, total in sorted(totals, key=lambda item: not any(item[1] or ())):
            if total and (result.changes or any(total)):
                values = {"what": what, "a": a, "b": b, "total": total}
                table.add_record(values | _relative(total, rates[a][what, "rate_hz"].hz), "summary")
    return table


def _relative(change: tuple[float, float] | None, before: float) -> dict[str, Any]:
    """Return a change in percent, and over its error."""
    hz, error = change or (0.0, 0.0)
    percent = 100 * hz / before if before else None
    return {"percent": percent, "sigma": hz / error if error else None}


def _rates(result: Comparison, triggers: Sequence[str]) -> Table:
    """Return the rates of triggers, a line per variant, with the difference from the first beside; then those
    of the levels or the menu."""
    table, differences = Table(_RATES), _differences(result)
    rates = {variant.menu.name: _rates_of(variant) for variant in result.variants}
    first, wholes = next(iter(rates)), dict.fromkeys(what for names in _wholes(result) for what in names)
    lines: list[tuple[str, RowStyle]] = [(trigger, "plain") for trigger in triggers]
    for what, style in [*lines, *((whole, "summary") for whole in wholes)]:
        quantities = {"total": "rate_hz"} if style == "summary" else {key: f"{key}_hz" for key in COMPARED}
        if style == "summary":
            table.add_gap()
        for variant, known in rates.items():
            values: dict[str, Any] = {"name": what if variant == first else "", "variant": variant}
            for column, quantity in quantities.items():
                rate, change = known.get((what, quantity)), differences.get((first, variant, what, quantity))
                values[column] = rate or "– "
                values[f"{column} less"] = change and signed(*change, rate.hz if rate else 0.0)
            table.add_record(values, style)
    return table
