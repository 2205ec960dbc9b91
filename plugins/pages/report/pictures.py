"""Results as figures, each with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from trigemu.menus import Menu, unit_of_observable
from trigemu.output.figures.groups import draw_rates
from trigemu.output.figures.overlap import draw_combinations, draw_overlap
from trigemu.output.figures.style import shown
from trigemu.output.figures.threshold_scan import draw_scan
from trigemu.output.figures.turnon import draw_efficiency
from trigemu.output.numbers import threshold_label
from trigemu.output.report.section import Picture, slug
from trigemu.output.report.tables import hz
from trigemu.rates import MenuRates, TriggerRates
from trigemu.studies import ExclusiveRates, Observable, Scan, Turnon
from trigemu.support import FloatArray


def overlap(variant: MenuRates) -> Picture:
    """Draw the map of pairwise overlaps of a menu."""
    names = [trigger.name for trigger in variant.triggers]
    total = np.diag(variant.overlap)[:, None]
    share = np.divide(variant.overlap, total, out=np.full_like(variant.overlap, np.nan), where=total > 0)
    rows, columns = np.indices(share.shape).reshape(2, -1)
    return Picture(
        f"overlap_{slug(variant.menu.name)}",
        f"{variant.menu.name}: fraction of the rate of each trigger (row) that another (column) accepts too.",
        draw_overlap(list(shown(names).values()), share),
        {
            "trigger": [names[i] for i in rows],
            "other": [names[i] for i in columns],
            "overlap_hz": variant.overlap.ravel(),
            "error_hz": variant.overlap_error.ravel(),
            "share_of_trigger": share.ravel(),
        },
    )


def combinations(variant: MenuRates, found: ExclusiveRates) -> Picture:
    """Draw the combinations of triggers with the highest exclusive rates."""
    names = [trigger.name for trigger in variant.triggers]
    members = np.array([[name in c.triggers for name in names] for c in found.largest], np.bool_)
    rates, errors = (np.array([getattr(c, key) for c in found.largest]) for key in ("hz", "error_hz"))
    rest = ""
    if found.others:
        rest = f" {found.others} further combinations have {hz(found.others_hz, 0.0)} together."
    return Picture(
        f"combinations_{slug(variant.menu.name)}",
        f"{variant.menu.name}: rates in Hz of events that exactly the marked triggers accept.{rest}",
        draw_combinations(list(shown(names).values()), members.reshape(-1, len(names)), rates, errors),
        {
            "triggers": [" & ".join(c.triggers) for c in found.largest],
            "exclusive_hz": rates,
            "error_hz": errors,
        },
    )


def of_groups(variants: Sequence[MenuRates]) -> Picture | None:
    """Draw the rates of groups; None where no menu has any."""
    listed = {v.menu.name: v.groups for v in variants}
    caption = "Rates by group: total (full) and unique (open)."
    return by_name("groups", caption, listed) if any(listed.values()) else None


def of_triggers(variants: Sequence[MenuRates]) -> Picture:
    """Draw the rates of triggers."""
    caption = "Rates by trigger: total (full) and unique (open)."
    return by_name("triggers", caption, {v.menu.name: v.triggers for v in variants})


def by_name(name: str, caption: str, listed: Mapping[str, Sequence[TriggerRates]]) -> Picture:
    """Draw the rates of triggers or groups, listed by what they are drawn beside each other for."""
    names = list(dict.fromkeys(entry.name for entries in listed.values() for entry in entries))
    known = {menu: {entry.name: entry for entry in entries} for menu, entries in listed.items()}

    def of(menu: str, quantity: str) -> tuple[FloatArray, FloatArray]:
        rates = [getattr(known[menu].get(entry), quantity, None) for entry in names]
        pairs = [(rate.hz, rate.error_hz) if rate else (np.nan, np.nan) for rate in rates]
        values, errors = np.array(pairs, np.float64).reshape(-1, 2).T
        return values, errors

    total, unique = ({menu: of(menu, quantity) for menu in listed} for quantity in ("total", "unique"))
    numbers: dict[str, Sequence[object] | FloatArray] = {name.removesuffix("s"): names}
    for menu in listed:
        for quantity, rates in (("total", total), ("unique", unique)):
            numbers[f"{menu}_{quantity}_hz"], numbers[f"{menu}_{quantity}_error_hz"] = rates[menu]
    labels, menus = shown(names), shown(listed)
    drawn = [{menus[menu]: pair for menu, pair in rates.items()} for rates in (total, unique)]
    return Picture(name, caption, draw_rates(list(labels.values()), *drawn), numbers)


def scan(menu: Menu, found: Scan) -> Picture:
    """Draw the total and unique rate of a trigger, and the rate of the menu, against its threshold."""
    (steps,) = found.steps
    values = np.array(steps.values)
    trigger = menu.trigger(steps.trigger)
    label = shown([steps.trigger])[steps.trigger]
    rates: dict[str, list[tuple[float, float]]] = {f"{label}, total": [], f"{label}, unique": [], "menu": []}
    for point in found.points:
        (row,) = (row for row in point.triggers if row.name == steps.trigger)
        for told, rate in zip(rates.values(), (row.total, row.unique, point.rate), strict=True):
            told.append((rate.hz, rate.error_hz))
    columns = {name: np.array(pairs).T for name, pairs in rates.items()}
    budgets = [trigger.budget.hz] if trigger.budget else []
    made = draw_scan(
        threshold_label(menu, steps.trigger, label),
        values,
        {name: pair[0] for name, pair in columns.items()},
        {name: pair[1] for name, pair in columns.items()},
        budgets,
    )
    made.set_size_inches(5.8, 4.6)
    axes = made.axes[0]
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    axes.xaxis.label.set_fontsize(14)
    axes.yaxis.label.set_fontsize(14)
    cut = getattr(trigger.description, "cut", None)
    if cut is not None and values[0] <= cut <= values[-1]:
        axes.axvline(cut, color="black", linestyle="--", linewidth=1.0)
    numbers = {"threshold": values}
    for key, pair in zip(("total", "unique", "menu"), columns.values(), strict=True):
        numbers[f"{key}_hz"], numbers[f"{key}_error_hz"] = pair
    line = " Dashed: its threshold; dotted: the budget." if budgets else " Dashed: its threshold."
    return Picture(
        f"scan_{slug(menu.name)}_{slug(steps.trigger)}",
        f"{menu.name}: rates against the threshold of {steps.trigger}.{line}",
        made,
        numbers,
    )


def turnon(observable: Observable, found: Turnon, label: str, menus: Sequence[Menu]) -> Picture:
    """Draw the efficiencies against an observable in a category, with its label."""
    labels = shown(curve.name for curve in found.curves)
    curves = {labels[curve.name]: (curve.value, curve.low, curve.high) for curve in found.curves}
    gains = {
        labels[curve.name]: (curve.gain, curve.gain - curve.gain_error, curve.gain + curve.gain_error)
        for curve in found.curves
        if curve.trigger is None and curve.menu != menus[0].name
    }
    edges = np.array(found.profile.edges)
    unit = observable.unit or unit_of_observable(menus[0], observable.expression)
    events = f"{int(found.events.sum())} events in the bins"
    return Picture(
        f"turnon_{slug(observable.expression)}_{slug(found.category)}",
        f"{observable.name}, {label}: {events}." if label else f"{observable.name}: {events}.",
        draw_efficiency(observable.name, unit, edges, curves, gains),
        {"low": edges[:-1], "high": edges[1:], "events": found.events} | dict(_columns(found)),
    )


def _columns(found: Turnon) -> Iterator[tuple[str, FloatArray]]:
    for curve in found.curves:
        for key in ("value", "low", "high", "gain", "gain_error"):
            yield f"{curve.name} {'efficiency' if key == 'value' else key}", getattr(curve, key)
