"""Results as figures, each with its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import file_stem
from trigemu.base.shown import view_of
from trigemu.menus.menu import Menu
from trigemu.rates.results import MenuRates
from trigemu.results import numbers
from trigemu.results.figures import style
from trigemu.results.figures.draw import draw_scan, without_ticks
from trigemu.results.section import Picture
from trigemu.studies.efficiency import Turnon
from trigemu.studies.exclusive import ExclusiveRates
from trigemu.studies.scan import Scan


def overlap(variant: MenuRates) -> Picture:
    """Draw the map of pairwise overlaps of a menu."""
    names = [trigger.name for trigger in variant.triggers]
    total = variant.overlap_alone
    share = np.divide(variant.overlap, total, out=np.full_like(variant.overlap, np.nan), where=total > 0)
    rows, columns = np.indices(share.shape).reshape(2, -1)
    return Picture(
        f"overlap_{file_stem(variant.menu.name)}",
        f"{variant.menu.name}: fraction of the rate of each trigger (row) that another (column) accepts too.",
        draw_overlap(list(style.shown(names).values()), share),
        {
            "trigger": [names[i] for i in rows],
            "other": [names[i] for i in columns],
            "overlap_hz": variant.overlap.ravel(),
            "error_hz": variant.overlap_error.ravel(),
            "share_of_trigger": share.ravel(),
        },
    )


#: Largest number of triggers for which numbers are written into the cells.
MAX_WRITTEN = 12


def draw_overlap(names: Sequence[str], share: FloatArray) -> Figure:
    """Draw how much of the rate of each trigger the others accept too. share: float64[t, t]."""
    t = len(names)
    size = 4.0 + 0.26 * t if t > 6 else 5.4
    with style.figure(size, size * 0.9) as (made, axes):
        image = axes.imshow(share, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
        axes.set_facecolor("lightgrey")
        without_ticks(axes.xaxis, axes.yaxis)
        small = 12 if t <= MAX_WRITTEN else 10
        names = [style.literal(name) for name in names]
        axes.set_xticks(range(t), names, rotation=90 if t > 4 else 0, fontsize=small)
        axes.set_yticks(range(t), names, fontsize=small)
        axes.set_xlabel("trigger of the column", fontsize=12)
        axes.set_ylabel("trigger of the row", fontsize=12)
        for row, column in np.ndindex(t, t) if t <= MAX_WRITTEN else ():
            value = float(share[row, column])
            if not np.isnan(value):
                colour = "white" if value > 0.6 else "black"
                axes.text(column, row, _percent(value), color=colour, ha="center", va="center", fontsize=11)
        bar = made.colorbar(image, ax=axes, shrink=0.8)
        bar.set_label("fraction of the row's rate that the column accepts too", fontsize=11, loc="center")
        bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        bar.ax.yaxis.set_tick_params(labelsize=11)
    return made


def _percent(value: float) -> str:
    if value in (0.0, 1.0):
        return f"{100 * value:.0f} %"
    return f"{100 * value:.1f} %" if 0.0005 <= value < 0.9995 else "<0.1 %" if value < 0.5 else ">99.9 %"


def combinations(variant: MenuRates, exclusive: ExclusiveRates) -> Picture:
    """Draw the combinations of triggers with the highest exclusive rates."""
    rates, errors = (np.array([getattr(c, key) for c in exclusive.largest]) for key in ("hz", "error_hz"))
    rest = ""
    if exclusive.others:
        others = numbers.in_unit(exclusive.others_hz, 0.0)
        rest = f" {exclusive.others} further combinations have {others} together."
    return Picture(
        f"combinations_{file_stem(variant.menu.name)}",
        f"{variant.menu.name}: rates in Hz of events that exactly the marked triggers accept.{rest}",
        next(view_of(exclusive).figures(exclusive)),
        {
            "triggers": [" & ".join(c.triggers) for c in exclusive.largest],
            "exclusive_hz": rates,
            "error_hz": errors,
        },
    )


def scan(menu: Menu, result: Scan) -> Picture:
    """Draw the total and unique rate of a trigger, and the rate of the menu, against its threshold."""
    (steps,) = result.steps
    trigger, values = menu.trigger(steps.trigger), np.array(steps.values)
    label = style.shown([steps.trigger])[steps.trigger]
    curves, columns = dict[str, FloatArray](), {"threshold": values}
    for key, name in (("total", f"{label}, total"), ("unique", f"{label}, unique"), ("menu", "menu")):
        rates = [p.rate if key == "menu" else p[steps.trigger].rates[key] for p in result.points]
        curves[name] = np.array([(rate.hz, rate.error_hz) for rate in rates]).T
        columns[f"{key}_hz"], columns[f"{key}_error_hz"] = curves[name]
    budgets = [trigger.budget.hz] if trigger.budget else []
    figure = draw_scan(numbers.threshold_label(menu, steps.trigger, label), values, curves, budgets)
    figure.set_size_inches(5.8, 4.6)
    (axes,) = figure.axes
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    axes.xaxis.label.set_fontsize(14)
    axes.yaxis.label.set_fontsize(14)
    cut = getattr(trigger.description, "threshold", None)
    if cut is not None and values[0] <= cut <= values[-1]:
        axes.axvline(cut, color="black", linestyle="--", linewidth=1.0)
    line = " Dashed: its threshold; dotted: the budget." if budgets else " Dashed: its threshold."
    return Picture(
        f"scan_{file_stem(menu.name)}_{file_stem(steps.trigger)}",
        f"{menu.name}: rates against the threshold of {steps.trigger}.{line}",
        figure,
        columns,
    )


def turnon(result: Turnon) -> Picture:
    """Draw the efficiencies against an observable in a category."""
    edges = np.array(result.profile.edges)
    columns: dict[str, FloatArray | IntArray] = {
        "low": edges[:-1],
        "high": edges[1:],
        "events": result.events,
    }
    for curve in result.curves:
        for key in ("value", "low", "high", "gain", "gain_error"):
            columns[f"{curve.name} {'efficiency' if key == 'value' else key}"] = getattr(curve, key)
    return Picture(
        f"turnon_{file_stem(result.profile.observable)}_{file_stem(result.category)}",
        f"{result.profile.name}; {result.heading}: {int(result.events.sum())} events in the bins.",
        next(view_of(result).figures(result)),
        columns,
    )
