"""Figures of an optimisation, drawn from its numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trigemu.results.figures import style
from trigemu.results.section import Picture

from .results import BEST, SCALED, WRITTEN, Summary, VariableResult


def pictures(summary: Summary) -> Iterator[Picture]:
    """Yield the figures of an optimisation, each with its numbers."""
    channels = [channel.name for channel in summary.channels]
    thresholds = [variable for variable in summary.variables if variable.what == "above"]
    efficiencies: dict[str, list[object]] = {"channel": [*channels]}
    efficiencies["alone"] = [channel.ceiling for channel in summary.channels]
    for contender in summary.contenders:
        efficiencies[contender.name] = list(contender.unseen.efficiencies)
        efficiencies[f"{contender.name} error"] = list(contender.unseen.errors)
    yield Picture(
        "optimise_channels",
        "Efficiency of each channel over its efficiency with all of the rate to itself, on the unseen half.",
        _draw_channels(summary, channels),
        efficiencies,
    )
    if thresholds:
        yield Picture(
            "optimise_thresholds",
            "Each threshold over the one as written: the best one (point), and the interval of 68 % over "
            "replicas of the events (line).",
            _draw_thresholds(thresholds),
            _columns(thresholds, "name", "written", "value", "low", "high"),
        )
    if summary.front:
        yield Picture(
            "optimise_front",
            "The least loss at each cap, with the ε_max of the highest one.",
            _draw_front(summary),
            _columns(summary.front, "cap_hz", "rate_hz", "loss", "unseen_loss"),
        )


def _columns(rows: Sequence[object], *names: str) -> dict[str, Sequence[object]]:
    """Return fields of rows as columns, with NaN for missing numbers."""
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    return {name: [np.nan if v is None else v for v in column] for name, column in columns.items()}


@contextmanager
def _rows(
    names: Sequence[str], label: str = "", width: float = 6.5, above: float = 1.4, row: float = 0.34
) -> Iterator[tuple[Figure, Axes]]:
    """Make a figure with a row for each name, the first one at the top; sizes in inches."""
    with style.figure(width, above + row * len(names)) as (figure, axes):
        yield figure, axes
        labels = [style.literal(name) for name in style.shown(names).values()]
        axes.set_yticks(range(len(names)), labels, fontsize=11)
        axes.minorticks_off()
        axes.tick_params(axis="y", length=0, which="both")
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel(label, fontsize=13)


def _draw_channels(summary: Summary, names: Sequence[str]) -> Figure:
    """Draw the efficiency of each channel over its ceiling, for three menus."""
    label = "efficiency over that of the channel alone"
    with _rows(names, label, above=1.6, row=0.41) as (figure, axes):
        ceilings = np.array([channel.ceiling for channel in summary.channels])
        for number, name in enumerate((WRITTEN, SCALED, BEST)):
            menu, colour = summary.contender(name).unseen, style.COLOURS[number]
            values, errors = np.array(menu.efficiencies) / ceilings, np.array(menu.errors) / ceilings
            place = np.arange(len(names)) + 0.22 * (number - 1)
            axes.errorbar(values, place, xerr=errors, label=name, fmt="o", color=colour, markersize=5)
        axes.axvline(1.0, color="grey", linewidth=1.0)
        figure.legend(loc="outside upper right", ncols=3, fontsize=11, frameon=False)
    return figure


def _draw_thresholds(variables: Sequence[VariableResult]) -> Figure:
    """Draw each threshold over the one as written, with its interval."""
    with _rows([v.name for v in variables], "threshold over the one as written") as (figure, axes):
        for row, variable in enumerate(variables):
            scale = abs(variable.written) or 1.0
            if variable.low is not None and variable.high is not None:
                ends = [variable.low / scale, variable.high / scale]
                axes.plot(ends, [row, row], color=style.COLOURS[0], linewidth=3, alpha=0.6)
            axes.plot([variable.value / scale], [row], "o", color="black", markersize=5)
        axes.axvline(1.0, color="grey", linewidth=1.0)
    return figure


def _draw_front(summary: Summary) -> Figure:
    """Draw the loss against the cap, all with the ε_max of the highest cap."""
    with style.figure(6.5, 4.6) as (figure, axes):
        caps = np.array([entry.cap_hz for entry in summary.front]) / 1e3
        lines = ("loss", "fitted half", "-o"), ("unseen_loss", "unseen half", "-s")
        for (key, label, form), colour in zip(lines, style.COLOURS, strict=False):
            values = [getattr(entry, key) for entry in summary.front]
            axes.plot(caps, values, form, color=colour, label=label, markersize=5)
        axes.axvline(summary.cap_hz / 1e3, color="grey", linewidth=1.0)
        positive = [entry.loss for entry in summary.front if entry.loss > 0]
        if positive:
            axes.set_yscale("log")
            axes.set_ylim(0.5 * max(min(positive), 1e-6), None)
        axes.set_xlabel("cap in kHz", fontsize=13)
        axes.set_ylabel("loss", fontsize=13)
        axes.legend(fontsize=11, frameon=False)
    return figure
