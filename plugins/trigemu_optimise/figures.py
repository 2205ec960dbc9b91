"""Figures of an optimisation, drawn from its numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trigemu.results.figures import style
from trigemu.results.section import Picture

from .goals import loss_of
from .results import BEST, SCALED, WRITTEN, Summary, VariableResult

#: Height of a row in inches.
_ROW = 0.34


def pictures(summary: Summary) -> Iterator[Picture]:
    """Yield the figures of an optimisation, each with its numbers."""
    efficiencies: dict[str, list[object]] = {"channel": [channel.name for channel in summary.channels]}
    efficiencies["alone"] = [channel.ceiling for channel in summary.channels]
    for contender in summary.contenders:
        efficiencies[contender.name] = list(contender.unseen.efficiencies)
        efficiencies[f"{contender.name} error"] = list(contender.unseen.errors)
    yield Picture(
        "optimise_channels",
        "Efficiency of each channel over its efficiency with all of the rate to itself, on the unseen half.",
        draw_channels(summary),
        efficiencies,
    )
    thresholds = [variable for variable in summary.variables if variable.what == "above"]
    if thresholds:
        yield Picture(
            "optimise_thresholds",
            "Each threshold over the one as written: the best one (point), and the interval of 68 % over "
            "replicas of the events (line).",
            draw_thresholds(thresholds),
            _columns(thresholds, "name", "written", "value", "low", "high"),
        )
    if priced := [variable for variable in summary.variables if variable.loss_per_khz is not None]:
        names = [channel.name for channel in summary.channels]
        prices = np.array([variable.channels_per_khz for variable in priced])
        yield Picture(
            "optimise_prices",
            "What another kHz for each variable gives each channel at the margin, in percent of its events.",
            draw_prices(names, [variable.name for variable in priced], 100 * prices),
            _columns(priced, "name") | dict(zip(names, prices.T.tolist(), strict=True)),
        )
    if sloped := [variable for variable in thresholds if variable.hz_per_unit < 0]:
        yield Picture(
            "optimise_slopes",
            "−∂rate/∂threshold of the menu at the best point.",
            draw_slopes(sloped),
            _columns(sloped, "name", "hz_per_unit"),
        )
    if summary.front:
        yield Picture(
            "optimise_front",
            "The least loss at each cap, with the ε_max of the highest one.",
            draw_front(summary),
            _columns(summary.front, "cap_hz", "rate_hz", "loss", "unseen_loss", "one_way_loss"),
        )
    if summary.front and thresholds:
        values = zip(*(entry.values for entry in summary.front), strict=True)
        yield Picture(
            "optimise_front_values",
            "The thresholds along the front, free (points) and if they move one way only (lines).",
            draw_values(summary),
            _columns(summary.front, "cap_hz")
            | {variable.name: of_caps for variable, of_caps in zip(summary.variables, values, strict=True)},
        )


def _columns(rows: Sequence[object], *names: str) -> dict[str, Sequence[object]]:
    """Return fields of rows as columns, with NaN for missing numbers."""
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    return {name: [np.nan if v is None else v for v in column] for name, column in columns.items()}


def draw_channels(summary: Summary) -> Figure:
    """Draw the efficiency of each channel over its ceiling, for three menus."""
    with style.figure(6.5, 1.6 + 1.2 * _ROW * len(summary.channels)) as (figure, axes):
        rows = np.arange(len(summary.channels))
        ceilings = np.array([channel.ceiling for channel in summary.channels])
        for number, name in enumerate((WRITTEN, SCALED, BEST)):
            of_menu, place = summary.contender(name).unseen, rows + 0.22 * (number - 1)
            values, errors = np.array(of_menu.efficiencies) / ceilings, np.array(of_menu.errors) / ceilings
            points: dict[str, Any] = {"fmt": "o", "color": style.COLOURS[number], "markersize": 5}
            axes.errorbar(values, place, xerr=errors, label=name, **points)
        axes.axvline(1.0, color="grey", linewidth=1.0)
        _name_rows(axes, [channel.name for channel in summary.channels])
        axes.set_xlabel("efficiency over that of the channel alone", fontsize=13)
        figure.legend(loc="outside upper right", ncols=3, fontsize=11, frameon=False)
    return figure


def draw_thresholds(variables: Sequence[VariableResult]) -> Figure:
    """Draw each threshold over the one as written, with its interval."""
    with style.figure(6.5, 1.4 + _ROW * len(variables)) as (figure, axes):
        for row, variable in enumerate(variables):
            scale = abs(variable.written) or 1.0
            if variable.low is not None and variable.high is not None:
                ends = [variable.low / scale, variable.high / scale]
                axes.plot(ends, [row, row], color=style.COLOURS[0], linewidth=3, alpha=0.6)
            axes.plot([variable.value / scale], [row], "o", color="black", markersize=5)
        axes.axvline(1.0, color="grey", linewidth=1.0)
        _name_rows(axes, [variable.name for variable in variables])
        axes.set_xlabel("threshold over the one as written", fontsize=13)
    return figure


def draw_prices(channels: Sequence[str], variables: Sequence[str], percent: np.ndarray) -> Figure:
    """Draw a map of what another kHz of each variable gives each channel, float64[variables, channels]."""
    width, height = 3.2 + 0.75 * len(channels), 1.8 + _ROW * len(variables)
    with style.figure(width, height) as (figure, axes):
        shown = axes.imshow(percent, cmap="viridis", aspect="auto", vmin=0.0)
        for (row, column), value in np.ndenumerate(percent):
            colour = "w" if value < 0.6 * percent.max() else "k"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=9, color=colour)
        _name_rows(axes, variables)
        labels = [style.literal(name) for name in style.shown(channels).values()]
        axes.set_xticks(range(len(channels)), labels, rotation=35, ha="right", fontsize=11)
        axes.tick_params(length=0, which="both")
        bar = figure.colorbar(shown, ax=axes)
        bar.set_label("% of events per kHz", fontsize=11)
        bar.ax.tick_params(labelsize=9)
    return figure


def draw_slopes(variables: Sequence[VariableResult]) -> Figure:
    """Draw −∂rate/∂threshold of each threshold."""
    with style.figure(6.5, 1.4 + _ROW * len(variables)) as (figure, axes):
        rows = np.arange(len(variables))
        axes.barh(rows, [-variable.hz_per_unit for variable in variables], color=style.COLOURS[0], height=0.6)
        axes.set_xscale("log")
        _name_rows(axes, [f"{v.name}{f', {v.unit}' if v.unit else ''}" for v in variables])
        axes.set_xlabel("−∂rate/∂threshold in Hz per unit", fontsize=13)
    return figure


def draw_front(summary: Summary) -> Figure:
    """Draw the loss against the cap, all with the ε_max of the highest cap."""
    with style.figure(6.5, 4.6) as (figure, axes):
        caps = np.array([entry.cap_hz for entry in summary.front]) / 1e3
        lines = (
            ("loss", "fitted half", "-o", 0),
            ("one_way_loss", "fitted half, one way", "--", 2),
            ("unseen_loss", "unseen half", "-s", 1),
        )
        for key, label, form, colour in lines:
            values = [getattr(entry, key) for entry in summary.front]
            axes.plot(caps, values, form, color=style.COLOURS[colour], label=label, markersize=5)
        axes.axvline(summary.cap_hz / 1e3, color="grey", linewidth=1.0)
        positive = [entry.loss for entry in summary.front if entry.loss > 0]
        if positive:
            axes.set_yscale("log")
            axes.set_ylim(0.5 * max(min(positive), 1e-6), None)
        weights, ceilings = np.array([(c.weight, c.front_ceiling) for c in summary.channels]).T
        for name in (WRITTEN, SCALED) if ceilings.all() else ():
            menu = summary.contender(name).unseen
            loss = float(loss_of(summary.merit, weights, ceilings, np.array(menu.efficiencies)))
            axes.plot(menu.rate_hz / 1e3, loss, "*", color="black", markersize=9)
            place = (menu.rate_hz / 1e3, loss)
            axes.annotate(name, place, xytext=(5, 5), textcoords="offset points", fontsize=10)
        axes.set_xlabel("cap in kHz", fontsize=13)
        axes.set_ylabel("loss", fontsize=13)
        axes.legend(fontsize=11, frameon=False)
    return figure


def draw_values(summary: Summary) -> Figure:
    """Draw the thresholds along the front, over those as written: a small plot for each."""
    shown = [number for number, varied in enumerate(summary.variables) if varied.what == "above"]
    columns = min(4, len(shown)) or 1
    rows = -(-len(shown) // columns)
    caps = [entry.cap_hz / 1e3 for entry in summary.front]
    with style.figure(2.5 * columns + 0.6, 1.7 * rows + 0.6) as (figure, axes):
        axes.remove()
        for place, number in enumerate(shown):
            panel = figure.add_subplot(rows, columns, place + 1)
            variable = summary.variables[number]
            colour = style.COLOURS[2] if variable.name in summary.turning else "black"
            one_way = [entry.one_way_values[number] for entry in summary.front]
            panel.plot(caps, one_way, color=style.COLOURS[0], linewidth=1.5)
            free = [entry.values[number] for entry in summary.front]
            panel.plot(caps, free, "o", color=colour, markersize=3)
            panel.axhline(variable.written, color="grey", linewidth=0.8, linestyle=":")
            (label,) = style.shown([variable.name]).values()
            panel.set_title(style.literal(label), fontsize=10)
            panel.tick_params(labelsize=8, labelbottom=place + columns >= len(shown))
        figure.supxlabel("cap in kHz; red: not one way; dotted: as written", fontsize=11)
    return figure


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of rows beside them, the first one at the top."""
    labels = [style.literal(name) for name in style.shown(names).values()]
    axes.set_yticks(range(len(names)), labels, fontsize=11)
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0, which="both")
    axes.set_ylim(len(names) - 0.5, -0.5)
