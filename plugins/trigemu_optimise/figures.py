"""Figures of an optimisation, drawn from its numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trigemu.results.figures import style
from trigemu.results.section import Picture

from .results import BEST, SCALED, WRITTEN, Summary, VariableResult

#: Height of a row in inches.
_ROW = 0.34


def pictures(summary: Summary) -> Iterator[Picture]:
    """Yield the figures of an optimisation, each with its numbers."""
    yield Picture(
        "optimise_channels",
        "Efficiency of each channel over its efficiency with all of the rate to itself, on the unseen half.",
        draw_channels(summary),
        _channel_numbers(summary),
    )
    thresholds = [variable for variable in summary.variables if variable.what == "above"]
    if thresholds:
        yield Picture(
            "optimise_thresholds",
            "Each threshold over the one as written: the best one (point), and the interval of 68 % over "
            "replicas of the events (line).",
            draw_thresholds(thresholds),
            {
                "name": [variable.name for variable in thresholds],
                **{
                    key: [_number(getattr(variable, key)) for variable in thresholds]
                    for key in ("written", "value", "low", "high")
                },
            },
        )
    priced = [variable for variable in summary.variables if variable.loss_per_khz is not None]
    if priced:
        yield Picture(
            "optimise_prices",
            "What another kHz for each variable gives each channel at the margin, in percent of its events.",
            draw_prices([channel.name for channel in summary.channels], priced),
            {"name": [variable.name for variable in priced]}
            | {
                channel.name: [variable.channels_per_khz[number] for variable in priced]
                for number, channel in enumerate(summary.channels)
            },
        )
    sloped = [variable for variable in thresholds if variable.hz_per_unit < 0]
    if sloped:
        yield Picture(
            "optimise_slopes",
            "−∂rate/∂threshold of the menu at the best point.",
            draw_slopes(sloped),
            {
                "name": [variable.name for variable in sloped],
                "hz_per_unit": [variable.hz_per_unit for variable in sloped],
            },
        )
    if summary.front:
        yield from _of_front(summary)


def _of_front(summary: Summary) -> Iterator[Picture]:
    """Yield the figures of the front."""
    yield Picture(
        "optimise_front",
        "The least loss at each cap.",
        draw_front(summary),
        {
            key: [getattr(entry, key) for entry in summary.front]
            for key in ("cap_hz", "rate_hz", "loss", "unseen_loss", "one_way_loss")
        },
    )
    if any(variable.what == "above" for variable in summary.variables):
        yield Picture(
            "optimise_front_values",
            "The thresholds along the front, free (points) and if they move one way only (lines).",
            draw_values(summary),
            {"cap_hz": [entry.cap_hz for entry in summary.front]}
            | {
                variable.name: [entry.values[number] for entry in summary.front]
                for number, variable in enumerate(summary.variables)
            },
        )


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _channel_numbers(summary: Summary) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {"channel": [channel.name for channel in summary.channels]}
    columns["alone"] = [channel.ceiling for channel in summary.channels]
    for contender in summary.contenders:
        columns[contender.name] = list(contender.unseen.efficiencies)
        columns[f"{contender.name} error"] = list(contender.unseen.errors)
    return columns


def draw_channels(summary: Summary) -> Figure:
    """Draw the efficiency of each channel over its ceiling, for three menus."""
    shown = [contender for contender in summary.contenders if contender.name in (WRITTEN, SCALED, BEST)]
    with style.figure(6.5, 1.6 + 1.2 * _ROW * len(summary.channels)) as (figure, axes):
        rows = np.arange(len(summary.channels))
        ceilings = np.array([channel.ceiling for channel in summary.channels])
        for number, contender in enumerate(shown):
            values = np.array(contender.unseen.efficiencies) / ceilings
            errors = np.array(contender.unseen.errors) / ceilings
            axes.errorbar(
                values,
                rows + 0.22 * (number - 1),
                xerr=errors,
                fmt="o",
                color=style.COLOURS[number],
                label=contender.name,
                markersize=5,
            )
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


def draw_prices(channels: Sequence[str], variables: Sequence[VariableResult]) -> Figure:
    """Draw what another kHz of each variable gives each channel, as a map."""
    percent = 100 * np.array([variable.channels_per_khz for variable in variables])
    width, height = 3.2 + 0.75 * len(channels), 1.8 + _ROW * len(variables)
    with style.figure(width, height) as (figure, axes):
        shown = axes.imshow(percent, cmap="viridis", aspect="auto", vmin=0.0)
        for (row, column), value in np.ndenumerate(percent):
            dark = value < 0.6 * percent.max()
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", fontsize=9, color="w" if dark else "k"
            )
        _name_rows(axes, [variable.name for variable in variables])
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
        labels = [f"{variable.name}{f', {variable.unit}' if variable.unit else ''}" for variable in variables]
        _name_rows(axes, labels)
        axes.set_xlabel("−∂rate/∂threshold in Hz per unit", fontsize=13)
    return figure


def draw_front(summary: Summary) -> Figure:
    """Draw the loss against the cap."""
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
        for contender in summary.contenders:
            if contender.name in (WRITTEN, SCALED):
                place = contender.unseen.rate_hz / 1e3, contender.unseen.loss
                axes.plot(*place, "*", color="black", markersize=9)
                axes.annotate(contender.name, place, xytext=(5, 5), textcoords="offset points", fontsize=10)
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
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
        for place, panel in enumerate(grid.flat):
            if place >= len(shown):
                panel.remove()
                continue
            variable = summary.variables[shown[place]]
            values = [entry.values[shown[place]] for entry in summary.front]
            one_way = [entry.one_way_values[shown[place]] for entry in summary.front]
            turns = variable.name in summary.turning
            panel.plot(caps, one_way, color=style.COLOURS[0], linewidth=1.5)
            panel.plot(caps, values, "o", color=style.COLOURS[2] if turns else "black", markersize=3)
            panel.axhline(variable.written, color="grey", linewidth=0.8, linestyle=":")
            (label,) = style.shown([variable.name]).values()
            panel.set_title(style.literal(label), fontsize=10)
            panel.tick_params(labelsize=8)
        figure.supxlabel("cap in kHz; red: not one way; dotted: as written", fontsize=11)
    return figure


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of rows beside them, the first one at the top."""
    labels = [style.literal(name) for name in style.shown(names).values()]
    axes.set_yticks(range(len(names)), labels, fontsize=11)
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0, which="both")
    axes.set_ylim(len(names) - 0.5, -0.5)
